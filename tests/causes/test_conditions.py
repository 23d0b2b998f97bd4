"""What the corpus does not show: conditions of causes, on a capture's evidence with one thing put into it."""

from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey, Held, HeldKey, LateKey, UnansweredKey
from kdissect.causes.evidence.gathering import Gathering
from kdissect.causes.evidence.links import Link, LinkKey
from kdissect.causes.evidence.resends import Resend
from kdissect.causes.evidence.rewinds import Rewind
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.registry import ALL_CAUSES
from kdissect.model.cause import Packets
from kdissect.stats.client import Client
from tests.causes.diagnosing import capture, ids
from tests.causes.test_corpus import FAULTS

HEALTHY = "kafka44_rdkafka_groups"
WHO = Client(None, "orders", None, "10.0.0.5")
BROKER = "10.0.0.1:9092"
SECOND = 1_000_000_000


@pytest.fixture
def gathering() -> Gathering:
    """The evidence of a capture in which nothing is wrong."""
    dissection = Dissection(capture(HEALTHY))
    found = Gathering(dissection.topics)

    def note(error: Exception, _: object) -> None:
        raise error

    for events in dissection.batches():
        found.take(events, note)
    found.finish()
    assert ids(diagnose(found, ())) == []
    return found


def seen(times: int = 1, every_ns: int = SECOND, took_ns: int = 0) -> Seen:
    found = Seen()
    for number in range(times):
        found.add(Packets(f"{number:016x}", number, "Produce v9", (number + 1) * every_ns), took_ns)
    return found


def error(code: int, api: int = 0, **about: str) -> ErrorKey:
    return ErrorKey("a", api, code, WHO, BROKER, about.get("topic"), about.get("group"), about.get("txn"))


ERRORS = {
    "topic-denied": (error(29, topic="t"), 1), "group-denied": (error(30, 11, group="g"), 1),
    "cluster-denied": (error(31, 19), 1), "login-refused": (error(58, 36), 1),
    "mechanism-refused": (error(33, 17), 1), "message-too-large": (error(10, topic="t"), 1),
    "not-enough-replicas": (error(19, topic="t"), 1), "invalid-records": (error(87, topic="t"), 1),
    "sequence-gap": (error(45, topic="t"), 1), "fenced-producer": (error(90, 26, txn="x"), 1),
    "duplicate-static-member": (error(82, 12, group="g"), 1),
    "protocols-differ": (error(23, 11, group="g"), 1),
    "offset-reset": (error(1, 1, topic="t"), 1), "version-refused": (error(35, 1), 1),
    "unknown-topic": (error(3, 3, topic="t"), 5), "leader-moved": (error(6, topic="t"), 3),
    "coordinator-unavailable": (error(15, 10), 12), "storage-error": (error(56, topic="t"), 1),
}  # fmt: skip


@pytest.mark.parametrize("cause", ERRORS)
def test_errors_are_their_cause(cause: str, gathering: Gathering) -> None:
    key, times = ERRORS[cause]
    gathering.log.errors.put(key, seen(times))
    (found,) = diagnose(gathering, ()).causes
    assert (found.id, found.times, found.evidence[0].exchange) == (cause, times, 0)
    assert "'orders'" in found.who


@pytest.mark.parametrize("cause", ["unknown-topic", "leader-moved"])
def test_what_is_over_at_once_is_none(cause: str, gathering: Gathering) -> None:
    key, times = ERRORS[cause]
    gathering.log.errors.put(key, seen(times - 1))
    assert ids(diagnose(gathering, ())) == []


def test_a_broker_that_is_slow_again_and_again(gathering: Gathering) -> None:
    gathering.log.late.put(LateKey("a", 0, WHO, BROKER), seen(6, took_ns=SECOND))
    (found,) = diagnose(gathering, ()).causes
    assert (found.id, found.cost.time_ns) == ("slow-broker", 6 * SECOND)


def test_a_late_answer_is_no_slow_broker(gathering: Gathering) -> None:
    gathering.log.late.put(LateKey("a", 0, WHO, BROKER), seen(2, took_ns=SECOND))
    gathering.log.late.put(LateKey("a", 19, WHO, BROKER), seen(20, took_ns=SECOND))  # CreateTopics
    assert ids(diagnose(gathering, ())) == []


def test_requests_that_were_given_up(gathering: Gathering) -> None:
    gathering.log.unanswered.put(UnansweredKey("a", 0, WHO, BROKER, "client"), seen(2, took_ns=5 * SECOND))
    assert ids(diagnose(gathering, ())) == ["unanswered-requests"]


@pytest.mark.parametrize(("closed_by", "took_ns"), [("client", 1_000_000), (None, 5 * SECOND)])
def test_a_client_that_ends_has_given_up_nothing(
    closed_by: str | None, took_ns: int, gathering: Gathering
) -> None:
    gathering.log.unanswered.put(UnansweredKey("a", 0, WHO, BROKER, closed_by), seen(2, took_ns=took_ns))
    assert ids(diagnose(gathering, ())) == []


def test_a_transaction_that_holds_readers(gathering: Gathering) -> None:
    held = Held()
    held.seen, held.behind = seen(5), 12
    held.readers[WHO] = None
    gathering.log.held.put(HeldKey("a", "t", 0, 7), held)
    (found,) = diagnose(gathering, ()).causes
    assert (found.id, found.cost.records) == ("hanging-transaction", 12)


def test_records_written_twice(gathering: Gathering) -> None:
    first, again = Packets("0" * 16, 1, "Produce v9", SECOND), Packets("1" * 16, 1, "Produce v9", 2 * SECOND)
    gathering.resends.found.append(Resend(WHO, "t", 3, False, first, again))
    (found,) = diagnose(gathering, ()).causes
    assert (found.id, found.cost.records, found.evidence) == ("duplicate-writes", 3, (first, again))


def test_an_offset_that_was_set_back(gathering: Gathering) -> None:
    where = Packets("0" * 16, 1, "OffsetCommit v8", 1)
    gathering.rewinds.found.append(Rewind("g", "t", 0, 100, 40, WHO, where))
    (found,) = diagnose(gathering, ()).causes
    assert (found.id, found.cost.records) == ("offset-rewound", 60)


def link(gathering: Gathering, **numbers: Any) -> None:
    added = Link()
    added.first_id, added.exchanges, added.packets, added.last_ns = "0" * 16, 50, 200, 60 * SECOND
    for name, value in numbers.items():
        setattr(added, name, value)
    gathering.links._links.put(LinkKey("a", WHO.address, WHO.client_id, BROKER), added)


LINKS: dict[str, dict[str, Any]] = {
    "slow-network": {"trips": [(60_000_000, "0" * 16)]},
    "lossy-network": {"retransmissions": 20, "delayed_ns": 4 * SECOND},
    "slow-client": {"zero_windows": 3},
    "connection-churn": {
        "opened": 30, "short": 30,
        "starts": [(number * SECOND // 3, f"{number:016x}") for number in range(30)],
    },
    "tls-handshake-failed": {
        "opened": 4, "broken_off": [(number * SECOND, f"{number:016x}") for number in range(4)],
    },
}  # fmt: skip


@pytest.mark.parametrize("cause", LINKS)
def test_connections_show_their_cause(cause: str, gathering: Gathering) -> None:
    link(gathering, **LINKS[cause])
    (found,) = diagnose(gathering, ()).causes
    assert found.id == cause
    assert found.evidence


def test_a_connection_that_works_is_no_cause(gathering: Gathering) -> None:
    link(gathering, trips=[(1_000_000, "0" * 16)], retransmissions=1, opened=3)
    assert ids(diagnose(gathering, ())) == []


def test_an_effect_stands_with_its_cause(gathering: Gathering) -> None:
    gathering.log.errors.put(error(90, 26, txn="x"), seen())
    gathering.log.errors.put(error(45, topic="t"), seen(4000, every_ns=1000))
    (found,) = diagnose(gathering, ()).causes
    assert found.id == "fenced-producer"
    assert [(effect.id, effect.times) for effect in found.effects] == [("sequence-gap", 4000)]
    assert found.cost.errors == 4001


def test_an_effect_of_somebody_else_is_a_cause(gathering: Gathering) -> None:
    other = error(45, topic="t")._replace(client=Client(None, "billing", None, "10.0.0.6"))
    gathering.log.errors.put(error(90, 26, txn="x"), seen())
    gathering.log.errors.put(other, seen(10))
    assert sorted(ids(diagnose(gathering, ()))) == ["fenced-producer", "sequence-gap"]


def test_who_was_asked_for(gathering: Gathering) -> None:
    gathering.log.errors.put(error(29, topic="t"), seen())
    asked = diagnose(gathering, (), lambda parties: any(party.name == "t" for party in parties))
    assert ids(asked) == ["topic-denied"]
    assert ids(diagnose(gathering, (), lambda parties: False)) == []


def test_most_causes_are_shown_by_a_test() -> None:
    shown = {cause for causes in FAULTS.values() for cause in causes} | ERRORS.keys() | LINKS.keys()
    shown |= {
        "slow-broker",
        "unanswered-requests",
        "hanging-transaction",
        "duplicate-writes",
        "offset-rewound",
    }
    known = {cause.id for cause in ALL_CAUSES}
    assert shown <= known
    assert len(shown) >= 40


def test_evidence_of_nothing_is_nothing() -> None:
    found = Gathering(Dissection(capture(HEALTHY)).topics)
    found.finish()
    assert Evidence(found).span_ns == 0
    page = diagnose(found, ())
    assert page.causes == ()
    assert "no Kafka exchange was found" in page.not_seen
