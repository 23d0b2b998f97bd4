"""Registrations of brokers and the epochs they name (KIP-631)."""

from kdissect.history.epochs.broker_epochs import BrokerEpochs
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk, brief, feed

REGISTRATION, HEARTBEAT = 62, 63


def register(talk: Talk, epoch: int, error: int = 0) -> Exchange:
    body = {"broker_id": 1, "cluster_id": "c", "rack": None}
    return talk.ask(REGISTRATION, 0, body, {"error_code": error, "broker_epoch": epoch})


def heartbeat(talk: Talk, epoch: int, at: int | None = None) -> Exchange:
    return talk.ask(HEARTBEAT, 0, {"broker_id": 1, "broker_epoch": epoch}, {}, at=at)


def test_epochs_as_given() -> None:
    talk, machine = Talk(), BrokerEpochs()
    facts = feed(
        machine, heartbeat(talk, 3), register(talk, 7), heartbeat(talk, 7), register(talk, 0, error=1),
        register(talk, 12), heartbeat(talk, 7, at=talk.now), heartbeat(talk, 12, at=talk.now + 5),
    )  # fmt: skip
    assert brief(facts) == [("registered", None, 7), ("registered", 7, 12)]


def test_epochs_that_differ() -> None:
    talk, machine = Talk(), BrokerEpochs()
    facts = feed(machine, register(talk, 7), heartbeat(talk, 6), register(talk, 5))
    assert brief(facts)[1:] == [("other_epoch", 7, 6), ("went_back", 7, 5)]


def test_a_registration_that_was_not_captured() -> None:
    talk, machine = Talk(), BrokerEpochs()
    assert len(feed(machine, register(talk, 7), heartbeat(talk, 9), heartbeat(talk, 9))) == 1
