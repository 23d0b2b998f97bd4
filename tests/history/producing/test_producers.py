"""Sequences of idempotent producers."""

from typing import Any

import pytest

from kdissect.history.producing.producer import next_sequence
from kdissect.history.producing.producers import ProducerFact, Producers
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.session.exchange import Exchange
from tests.history.talk import MS, Talk, batch, brief, feed, kinds
from tests.support.messages.frames import with_data

PRODUCE, INIT = 0, 22


def init(talk: Talk, producer_id: int = 5, epoch: int = 0, tid: str | None = None) -> Exchange:
    answer = {"error_code": 0, "producer_id": producer_id, "producer_epoch": epoch}
    return talk.ask(INIT, 4, {"transactional_id": tid, "transaction_timeout_ms": 1}, answer)


def produce(
    talk: Talk, sequence: int, records: int = 1, epoch: int = 0, error: int | None = 0, partition: int = 0,
    acks: int = -1, producer_id: int = 5, took: int = 1, given: int = -1, topic_id: bytes = b"",
) -> Exchange:  # fmt: skip
    """Without `topic_id` in a version that names topics."""
    data = batch(producer_id, epoch, sequence, records)
    topic: dict[str, Any] = {"topic_id": topic_id} if topic_id else {"name": "t"}
    body = {
        "acks": acks, "transactional_id": None,
        "topic_data": [topic | {"partition_data": [{"index": partition, "records": data}]}],
    }  # fmt: skip
    rows = [{"index": partition, "error_code": error, "base_offset": given}]
    answer = {"responses": [topic | {"partition_responses": rows}]}
    return talk.ask(PRODUCE, 13 if topic_id else 9, body, None if error is None else answer, took=took)


def odd(facts: list[Any]) -> list[tuple[str, Any, Any]]:
    return [fact for fact in brief(facts) if fact[0] not in ("initialised", "epoch_raised")]


def test_a_batch_of_wrong_checksum_is_no_basis() -> None:
    talk, machine = Talk(), Producers()
    whole = produce(talk, 0, 3)
    damaged = produce(talk, 3, 1)
    assert damaged.request is not None
    data = damaged.request.data
    damaged.request = with_data(damaged.request, data[:-6] + b"x" + data[-5:])
    assert odd(feed(machine, init(talk), whole, damaged, produce(talk, 4), produce(talk, 6))) == [
        ("sequence_gap", 5, 6)
    ]


def test_a_request_that_was_cut_explains_a_gap() -> None:
    talk, machine = Talk(), Producers()
    whole, cut = produce(talk, 0, 3), produce(talk, 3, 1)
    assert cut.request is not None
    cut.request = with_data(cut.request, cut.request.data[:-20])
    assert odd(feed(machine, init(talk), whole, cut, produce(talk, 4), produce(talk, 6))) == [
        ("sequence_gap", 5, 6)
    ]


def test_an_id_that_was_never_given() -> None:
    talk, machine = Talk(), Producers()
    facts = odd(feed(machine, init(talk), produce(talk, 0), produce(talk, 0, producer_id=6)))
    assert facts == [("first_seen", None, 6), ("never_given", 5, 6)]
    other = Talk("10.0.0.3")  # its own InitProducerId may have gone anywhere
    assert odd(feed(machine, produce(other, 0, producer_id=7))) == [("first_seen", None, 7)]


def test_sequences_in_order() -> None:
    talk, machine = Talk(), Producers()
    facts = feed(
        machine, init(talk), produce(talk, 0, 3), produce(talk, 3, 2), produce(talk, 0, partition=1),
        produce(talk, 5),
    )  # fmt: skip
    assert kinds(facts) == ["initialised"]
    (known,) = machine.producers
    assert (known.batches, known.records, known.retries, known.jumps) == (4, 7, 0, 0)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([(0, 3), (4, 1), (5, 1)], [("sequence_gap", 3, 4)]),  # one wrong number is one fact
        ([(0, 3), (0, 3), (3, 1)], [("retried", 3, 0)]),
        ([(0, 3), (3, 2), (3, 2), (5, 1)], [("retried", 5, 3)]),
        ([(0, 4), (2, 2), (4, 1)], [("retried", 4, 2)]),  # a batch that was split
        ([(n, 1) for n in range(7)] + [(0, 1)], [("sequence_back", 7, 0)]),  # older than a broker remembers
        ([(3, 1)], []),  # a log that knows no epoch takes any sequence
    ],
)
def test_sequences_out_of_order(steps: list[tuple[int, int]], expected: list[tuple[str, Any, Any]]) -> None:
    talk = Talk()
    assert odd(feed(Producers(), init(talk), *[produce(talk, *step) for step in steps])) == expected


def test_sequences_wrap() -> None:
    assert next_sequence(0x7FFFFFFF, 0) == 0
    assert next_sequence(0x7FFFFFFE, 4) == 3
    talk, machine = Talk(), Producers()
    assert odd(feed(machine, produce(talk, 0x7FFFFFFE, 2), produce(talk, 0))) == [("first_seen", None, 5)]


def test_a_retry_says_what_became_of_the_first() -> None:
    for error, fate in ((None, "no answer"), (0, "accepted"), (45, "error 45")):
        talk = Talk()
        facts = feed(Producers(), init(talk), produce(talk, 0, error=error), produce(talk, 0))
        assert [fact.detail for fact in facts if fact.kind is ProducerFact.RETRIED] == [fate]


def test_a_new_epoch_starts_from_zero_and_an_old_one_is_behind() -> None:
    talk, machine = Talk(), Producers()
    facts = feed(
        machine, init(talk), produce(talk, 0), init(talk, epoch=1), produce(talk, 0, epoch=1),
        produce(talk, 1, epoch=0), produce(talk, 1, epoch=1), init(talk, epoch=2),
        produce(talk, 4, epoch=2, error=45),
    )  # fmt: skip
    assert odd(facts) == [("old_epoch_taken", 1, 0), ("epoch_not_from_zero", 0, 4), ("refused", 0, 45)]


def test_a_new_log_takes_any_sequence() -> None:
    """ProducerAppendInfo#checkSequence asks for 0 where the log has an older epoch; an id names one log."""
    old, new = bytes(range(16)), bytes(range(1, 17))
    for topic_id, expected in ((old, [("epoch_not_from_zero", 0, 4)]), (new, []), (b"", [])):
        talk, machine = Talk(), Producers()
        before = [init(talk), produce(talk, 0, topic_id=old if topic_id else b""), init(talk, epoch=1)]
        assert odd(feed(machine, *before, produce(talk, 4, epoch=1, topic_id=topic_id))) == expected


def test_what_brokers_and_fields_say() -> None:
    talk, machine = Talk(), Producers()
    facts = feed(
        machine, init(talk), produce(talk, 0, error=45), produce(talk, 0, error=46),
        produce(talk, 1, error=1), produce(talk, 2, acks=1), produce(talk, -1),
    )  # fmt: skip
    assert odd(facts) == [
        ("refused", 0, 45), ("retried", 1, 0), ("duplicate", 0, 46), ("refused", 0, 1), ("weak_acks", -1, 1),
        ("mixed_fields", None, (0, -1)),
    ]  # fmt: skip


def test_unknown_starts_and_losses_expect_nothing() -> None:
    talk, machine = Talk(), Producers()
    assert odd(feed(machine, produce(talk, 40), produce(talk, 41))) == [("first_seen", None, 5)]
    talk.info.note(Anomaly(AnomalyKind.RESYNCHRONISED))
    assert not feed(machine, produce(talk, 90), produce(talk, 91))


def test_an_id_given_twice_is_two_clusters() -> None:
    talk, other, machine = Talk(), Talk(broker="10.0.0.9"), Producers()
    facts = feed(machine, init(talk), produce(talk, 0), produce(talk, 1), init(other), produce(other, 0))
    assert odd(facts) == []


def test_batches_without_idempotence_are_nobodys() -> None:
    talk, machine = Talk(), Producers()
    assert not feed(machine, produce(talk, -1, epoch=-1, producer_id=-1, acks=1))
    assert not len(machine.producers)


def test_more_in_flight_than_a_broker_remembers() -> None:
    talk, machine = Talk(), Producers()
    facts = feed(machine, init(talk), *[produce(talk, sequence, took=50) for sequence in range(6)])
    assert odd(facts) == [("too_many_in_flight", 5, 6)]
    assert not odd(feed(machine, produce(talk, 6, took=50), produce(talk, 0, partition=1))[2:])


def test_what_the_broker_refused_is_not_sent() -> None:
    """MESSAGE_TOO_LARGE (10): the batch is not in the log, and the broker waits for its sequence."""
    talk, machine = Talk(), Producers()
    feed(machine, init(talk), produce(talk, 0, error=10))
    (known,) = machine.producers
    (here,) = known.partitions
    assert (known.batches, known.records, known.refusals, here.brokers_next) == (0, 0, 1, 0)
    feed(machine, produce(talk, 0))
    assert (known.batches, known.refusals, here.brokers_next) == (1, 1, here.expected)
    feed(machine, produce(talk, here.expected or 0, error=10))
    assert here.brokers_next == (here.expected or 0) - 1


def test_a_new_batch_is_given_a_new_offset() -> None:
    talk, machine = Talk(), Producers()
    facts = feed(machine, init(talk), produce(talk, 0, 2, given=500), produce(talk, 2, given=501))
    assert odd(facts) == [("offset_back", 502, 501)]
    assert facts[-1].earlier is not None
    assert facts[-1].earlier.ordinal == 1


def test_a_batch_that_is_sent_again_is_given_the_offset_it_has() -> None:
    talk, machine = Talk(), Producers()
    facts = feed(machine, init(talk), *(produce(talk, n, given=500 + n) for n in (0, 1, 0)))
    assert odd(facts) == [("retried", 2, 0)]


def test_an_offset_may_be_lost_with_acks_of_one() -> None:
    talk, machine = Talk(), Producers()
    facts = feed(machine, init(talk), produce(talk, 0, given=9, acks=1), produce(talk, 1, given=9, acks=1))
    assert "offset_back" not in kinds(facts)


def test_an_id_that_is_given_twice() -> None:
    """By one broker it is a fault, by another one it is a second cluster, and a raised epoch is neither."""
    machine = Producers()
    feed(machine, init(Talk("10.0.0.1")))
    assert "given_twice" not in kinds(feed(machine, init(Talk("10.0.0.1"), epoch=1)))
    assert "given_twice" not in kinds(feed(machine, init(Talk("10.0.0.1", "10.0.0.9"))))
    assert "given_twice" not in kinds(feed(machine, init(Talk("10.0.0.3", "10.0.0.9"))))  # behind a NAT
    feed(machine, init(Talk("10.0.0.3", "10.0.0.9"), epoch=1))
    far = init(Talk("10.0.0.5", "10.0.0.9"))
    assert "given_twice" not in kinds(feed(machine, far))  # another tap, whose clock is far behind
    other = Talk("10.0.0.4", "10.0.0.9")
    init(other)
    assert "given_twice" in kinds(feed(machine, init(other)))


def test_the_order_of_packets_counts_and_not_the_clock() -> None:
    """A clock that is set back amid makes no requests wait, and one that is set forward answers none."""
    for step, expected in ((-3_600_000, []), (3_600_000, [])):
        talk, machine = Talk(), Producers()
        made = [init(talk), *[produce(talk, n) for n in range(5)]]
        later = [produce(talk, n) for n in range(5, 8)]
        for frame in [frame for one in later for frame in (one.request, one.response) if frame is not None]:
            frame.time_ns, frame.end_time_ns = frame.time_ns + step * MS, frame.end_time_ns + step * MS
        assert odd(feed(machine, *made, *later)) == expected
