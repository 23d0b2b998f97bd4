"""What follows from a cause is told with it, once; and who was asked for, and what was not there."""

from pathlib import Path

import pytest

from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from tests.causes.diagnosing import broken, capture, diagnosed, ids
from tests.causes.fixtures.case import BROKER, NOTHING, REPORTED, SECOND, WHO, Made, gathered, several
from tests.causes.test_corpus import FAULTS
from tests.causes.test_healthy import HEALTHY as HEALTHY_NAMES
from tests.support.console import CAPTURES
from tests.support.packets.taps import tap

HEALTHY = "kafka44_kp3_transactions"
_OTHER = WHO._replace(client_id="billing", address="10.0.0.6")


@pytest.fixture
def made() -> Made:
    """Return the evidence of a capture in which nothing is wrong."""
    found = Made(gathered(HEALTHY))
    assert ids(diagnose(found.gathering, ())) == []
    return found


def test_an_effect_stands_with_its_cause(made: Made) -> None:
    made.put_error(90, 26, txn="x")
    made.put_error(45, times=4000, every_ns=1000, topic="t")
    (found,) = diagnose(made.gathering, ()).causes
    assert found.id == "fenced-producer"
    assert [(effect.id, effect.times) for effect in found.effects] == [("sequence-gap", 4000)]
    assert found.cost.errors == 4001


def test_an_effect_of_somebody_else_is_a_cause(made: Made) -> None:
    made.put_error(90, 26, txn="x")
    key = ErrorKey("a", 0, 45, _OTHER, BROKER, "t", None, None)
    made.gathering.log.errors.put(key, several(10))
    assert sorted(ids(diagnose(made.gathering, ()))) == ["fenced-producer", "sequence-gap"]


def test_an_effect_long_before_is_a_cause(made: Made) -> None:
    made.put_error(90, 26, every_ns=60 * SECOND, txn="x")
    made.put_error(45, times=3, topic="t")
    assert sorted(ids(diagnose(made.gathering, ()))) == ["fenced-producer", "sequence-gap"]


def test_a_consumer_stands_still_because_of_responses_that_it_refuses() -> None:
    """librdkafka waits for seconds before it connects again (reconnect.backoff.max.ms)."""
    (found,) = diagnosed(REPORTED / "limit_with_backoff_real.pcap.gz").causes
    assert found.id == "response-too-large"
    assert [effect.id for effect in found.effects] == ["stuck-consumer"]


def test_who_was_asked_for(made: Made) -> None:
    made.put_error(29, topic="t")
    asked = diagnose(made.gathering, (), lambda parties: any(party.name == "t" for party in parties))
    assert ids(asked) == ["topic-denied"]
    assert ids(diagnose(made.gathering, (), lambda parties: False)) == []


def test_evidence_of_nothing_is_nothing() -> None:
    found = gathered(NOTHING)
    assert Evidence(found).span_ns == 0
    page = diagnose(found, ())
    assert page.causes == ()
    assert "no Kafka exchange was found" in page.not_seen


@pytest.mark.exhaustive
def test_what_missing_packets_look_like_is_no_cause(tmp_path: Path) -> None:
    """A capture in which nothing is wrong, with every fifth packet gone, and one whose frames are cut."""
    lossy = tap(Path(capture(HEALTHY)), tmp_path / "lossy.pcap", keeps=lambda number: number % 5 != 1)
    assert [(cause.id, cause.certainty) for cause in diagnosed(lossy).causes] == [
        ("capture-too-poor", "sure")
    ]
    refused = tap(Path(capture("kafka44_java_errors")), tmp_path / "b.pcap", keeps=lambda at: at % 9 != 1)
    told = {cause.id: cause.certainty for cause in diagnosed(refused).causes}
    assert told["topic-denied"] == "sure", "a broker that says what is wrong is believed"


# Those that no other test of this folder looks at by `diagnosed`.
_ELSEWHERE = {Path(capture(name)).name for name in (*HEALTHY_NAMES, *FAULTS)}
EVERY = [
    *sorted(path.name for path in CAPTURES.glob("faults/recorded/*-2.pcapng.gz")),
    *sorted(path.name for path in CAPTURES.glob("*.pcap*") if path.name not in _ELSEWHERE),
]


@pytest.mark.sampled(48)
@pytest.mark.parametrize("name", EVERY)
def test_what_holds_of_every_page(name: str) -> None:
    """No effect is told twice, nothing without packets, nothing outside of the capture: see `broken`."""
    path = CAPTURES / "faults" / "recorded" / name
    diagnosed(path if path.exists() else CAPTURES / name)


def test_what_does_not_hold_is_seen() -> None:
    page = diagnosed(capture("kafka44_java_refused"))
    first, second = page.causes
    assert len(broken(page._replace(causes=(second, first)))) == 1
    for wrong in (
        first._replace(evidence=()), first._replace(times=0), first._replace(since_ns=1),
        first._replace(sentence=""), first._replace(cost=first.cost._replace(errors=-1)),
        first._replace(until_ns=first.since_ns - 1), second,
    ):  # fmt: skip
        assert broken(page._replace(causes=(wrong, second)))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", ["slow-poll-1", "fenced-producer-1", "duplicate-writes-1", "leader-moved-1"])
def test_a_capture_in_rotated_parts_tells_the_same(name: str, tmp_path: Path) -> None:
    whole = CAPTURES / "faults" / "recorded" / f"{name}.pcapng.gz"
    one = tap(whole, tmp_path / "whole.pcap")
    parts = [tmp_path / "part.pcap", tmp_path / "part.pcap1", tmp_path / "part.pcap2"]
    for number, part in enumerate(parts):
        tap(whole, part, keeps=lambda at, number=number: min(at // 300, 2) == number)  # type: ignore[misc]
    told = [
        [
            (cause.id, cause.sentence, cause.cost, cause.since_ns, cause.until_ns, cause.effects)
            for cause in page.causes
        ]
        for page in (diagnosed(one), diagnosed(*parts))
    ]
    assert told[0] == told[1]
    assert told[0]
