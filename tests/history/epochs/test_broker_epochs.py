"""Registrations of brokers and the epochs they name (KIP-631)."""

from typing import Any

import pytest

from kdissect.history.epochs.broker_epochs import BrokerEpochs
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk, brief, feed

REGISTRATION, HEARTBEAT = 62, 63


def register(
    talk: Talk, epoch: int, error: int = 0, cluster: str = "c", directories: tuple[bytes, ...] = ()
) -> Exchange:
    body = {"broker_id": 1, "cluster_id": cluster, "rack": None, "log_dirs": list(directories)}
    return talk.ask(REGISTRATION, 2, body, {"error_code": error, "broker_epoch": epoch})


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


DIRECTORIES = bytes(15) + b"\1", bytes(15) + b"\2"


@pytest.mark.parametrize(
    "again",
    [{"cluster": "d"}, {"directories": DIRECTORIES[1:]}, {"cluster": "d", "directories": DIRECTORIES}],
)
def test_controllers_that_were_formatted_again(again: dict[str, Any]) -> None:
    """Epochs begin again with the metadata log. The broker of the other log goes on."""
    talk, other, machine = Talk(), Talk("10.0.0.9"), BrokerEpochs()
    facts = feed(
        machine, register(talk, 12, directories=DIRECTORIES[:1]), register(other, 5, **again),
        heartbeat(other, 5), heartbeat(talk, 3), heartbeat(other, 4),
    )  # fmt: skip
    assert brief(facts) == [("registered", None, 12), ("registered", None, 5), ("other_epoch", 5, 4)]


def test_one_directory_in_common_is_one_broker() -> None:
    talk, machine = Talk(), BrokerEpochs()
    facts = feed(
        machine, register(talk, 12, directories=DIRECTORIES), register(talk, 5, directories=DIRECTORIES[1:])
    )
    assert brief(facts)[1:] == [("went_back", 12, 5)]
