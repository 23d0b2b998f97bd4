"""Records that a client sends again, which the broker cannot know: exchanges made by hand."""

from types import SimpleNamespace

import pytest

from kdissect.causes.access.session_expired import SessionExpired
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.resends import Attempt, Resend, Resends
from kdissect.causes.explain import explain
from kdissect.history.producing.produce_parts import produce_parts
from kdissect.history.topics.topic_names import TopicNames
from kdissect.session.exchange import Exchange
from kdissect.session.info import Close, CloseKind
from kdissect.stats.by_producer.written_offsets import WrittenOffsets
from tests.causes.diagnosing import gathered_from
from tests.causes.test_cases import CASES
from tests.history.talk import MS, START_NS, Talk
from tests.support.messages.batches import batch_bytes, record_bytes

PRODUCE = 0
LATE, AT_ONCE = 900, 3
"""Milliseconds that the broker takes."""


def written(*values: str, at: int = 0, producer: tuple[int, int, int] = (-1, -1, -1)) -> bytes:
    """Return a batch with records of these values, made at a time in milliseconds."""
    held = b"".join(record_bytes(offset_delta=n, value=value.encode()) for n, value in enumerate(values))
    number, epoch, sequence = producer
    return batch_bytes(
        held,
        len(values),
        base_timestamp=at,
        max_timestamp=at,
        producer_id=number,
        epoch=epoch,
        sequence=sequence,
    )


def produce(
    talk: Talk,
    records: bytes,
    took: int | None = AT_ONCE,
    error: int = 0,
    acks: int = -1,
    partition: int = 0,
    base: int = 0,
) -> Exchange:
    """`took` None: no answer, and the client closes after a second."""
    data = [{"index": partition, "records": records}]
    asked = {"acks": acks, "timeout_ms": 1, "topic_data": [{"name": "t", "partition_data": data}]}
    row = {"index": partition, "error_code": error, "base_offset": base}
    answer = {"responses": [{"name": "t", "partition_responses": [row]}]}
    exchange = talk.ask(PRODUCE, 3, asked, None if took is None else answer, took=took or 0)
    if took is None:
        exchange.close = Close("client", CloseKind.FIN, START_NS + (talk.now + 1000) * MS)
    return exchange


def found(*exchanges: Exchange) -> list[Resend]:
    offsets = WrittenOffsets()
    resends = Resends(TopicNames(), offsets)
    for each in exchanges:
        latency_ns = each.latency_ns
        offsets.take(each, produce_parts(each))
        if resends.waits or latency_ns is None or latency_ns >= 100 * MS:  # as of `Gathering`
            resends.add(each)
    return resends.retries


@pytest.mark.parametrize(("took", "is_written"), [(LATE, True), (None, False)])
def test_a_retry_that_is_answered_at_once(took: int | None, is_written: bool) -> None:
    before, after = Talk(), Talk()  # the client connects anew
    (one,) = found(produce(before, written("a", "b"), took), produce(after, written("a", "b")))
    assert (one.topic, one.records, one.has_id, one.is_written) == ("t", 2, False, is_written)
    assert one.first.exchange == one.again.exchange == 0


def test_a_retry_in_another_batch_with_others_before_it() -> None:
    talk = Talk()
    steps = [produce(talk, written("a"), LATE), *(produce(talk, written(str(n), at=5)) for n in range(9))]
    (one,) = found(*steps, produce(talk, written("a", "b", "c")))
    assert one.records == 1


@pytest.mark.parametrize(
    "again",
    [
        lambda talk: produce(talk, written("a", at=7)),  # made anew
        lambda talk: produce(talk, written("b")),
        lambda talk: produce(talk, written("a"), partition=1),
        lambda talk: produce(talk, written("a"), error=6),  # and not written
        lambda talk: produce(Talk("10.0.0.9"), written("a")),  # by somebody else
    ],
    ids=["later", "other", "elsewhere", "refused", "another host"],
)
def test_what_is_no_retry(again) -> None:  # type: ignore[no-untyped-def]
    talk = Talk()
    assert found(produce(talk, written("a"), LATE), again(talk)) == []


def test_what_nobody_gave_up_is_not_looked_for() -> None:
    talk = Talk()
    assert found(produce(talk, written("a"), 400), produce(talk, written("a"))) == []
    steps = [produce(talk, written("a"), LATE), *(produce(talk, written(str(n), at=5)) for n in range(20))]
    assert found(*steps, produce(talk, written("a"))) == []
    assert found(produce(talk, written("a"), None, acks=0), produce(talk, written("a"))) == []


def test_of_idempotent_producers_the_broker_knows_a_batch_by_its_sequence() -> None:
    first, same, other = (7, 0, 4), (7, 0, 4), (7, 0, 9)
    talk = Talk()
    late = produce(talk, written("a", producer=first), LATE)
    assert found(late, produce(talk, written("a", producer=same), LATE)) == []
    (one,) = found(late, produce(talk, written("a", producer=other), LATE))
    assert (one.has_id, one.is_written) == (True, True)


@pytest.mark.parametrize(("first", "other"), [((7, 0, 4), (7, 0, 9)), ((-1, -1, -1), (-1, -1, -1))])
def test_a_program_that_writes_the_same_after_the_response_means_it(
    first: tuple[int, int, int], other: tuple[int, int, int]
) -> None:
    talk = Talk()
    late = produce(talk, written("a", producer=first), LATE)
    talk.now += LATE  # the response came
    assert found(late, produce(talk, written("a", producer=other), LATE)) == []


def test_what_was_given_up_is_a_danger() -> None:
    resends = Resends(TopicNames(), WrittenOffsets())
    resends.add(produce(Talk(), written("a", "b"), None))
    (one,) = resends.unsafe
    assert (one.records, one.has_id) == (2, False)
    resends.add(produce(Talk(), written("a", producer=(7, 0, 0)), None))
    assert len(resends.unsafe) == 1


def produce_to(
    talk: Talk, partitions: dict[int, bytes], took: int | None = AT_ONCE, after: int = 1000
) -> Exchange:
    """To several partitions; `after`: when the client closes if no answer comes."""
    rows = [{"index": at, "records": records} for at, records in partitions.items()]
    asked = {"acks": -1, "timeout_ms": 1, "topic_data": [{"name": "t", "partition_data": rows}]}
    answers = [{"index": at, "error_code": 0, "base_offset": 0} for at in partitions]
    answer = {"responses": [{"name": "t", "partition_responses": answers}]}
    exchange = talk.ask(PRODUCE, 3, asked, None if took is None else answer, took=took or 0)
    if took is None:
        exchange.close = Close("client", CloseKind.FIN, START_NS + (talk.now + after) * MS)
    return exchange


def test_each_partition_is_looked_at() -> None:
    talk, numbered = Talk(), written("n", producer=(7, 0, 4))
    late = produce_to(talk, {0: numbered, 1: written("a"), 2: written("b")}, LATE)
    again = produce_to(Talk(), {0: written("x"), 1: written("y"), 2: written("b"), 3: written("a")})
    then = produce_to(Talk(), {1: written("a"), 2: written("b")})
    other = produce_to(Talk(), {1: written("z"), 0: written("n", producer=(7, 0, 9))}, LATE)
    told = found(late, again, then, other)
    assert [(one.records, one.has_id) for one in told] == [(1, False), (1, False), (1, True)]


@pytest.mark.parametrize(("others", "count"), [(19, 1), (20, 0)])
def test_of_the_next_requests_twenty_are_looked_at(others: int, count: int) -> None:
    talk = Talk()
    steps = [produce(talk, written("a"), LATE), *(produce(talk, written(f"o{n}")) for n in range(others))]
    assert len(found(*steps, produce(Talk(), written("a")))) == count


@pytest.mark.parametrize(("took", "count"), [(500, 1), (499, 0)])
def test_a_client_may_give_up_after_half_a_second(took: int, count: int) -> None:
    assert len(found(produce(Talk(), written("a"), took), produce(Talk(), written("a")))) == count


@pytest.mark.parametrize(("after", "count"), [(500, 1), (499, 0)])
def test_a_request_that_is_given_up_early_is_no_danger(after: int, count: int) -> None:
    resends = Resends(TopicNames(), WrittenOffsets())
    resends.add(produce_to(Talk(), {0: written("a"), 1: written("b", "c")}, None, after))
    assert [one.records for one in resends.unsafe] == [1, 2] * count
    assert resends.waits
    resends.add(produce_to(Talk(), {0: written("a"), 1: written("b", "c")}))
    assert not resends.waits
    (first, second) = resends.retries
    assert (first.first.exchange, first.attempt.is_written, second.records) == (0, False, 2)


def test_when_the_client_knew_the_response() -> None:
    one = Attempt(produce(Talk(), written("a")).connection, 50)
    assert [one.is_known_at(at) for at in (49, 50, 51)] == [False, True, True]
    for by, at, is_known in (("client", 49, False), ("client", 50, True), ("broker", 49, True)):
        one.connection.close = Close(by, CloseKind.FIN, at)
        assert one.is_known_at(60) is is_known
    assert not one._replace(answered_ns=None).is_known_at(60)
    assert one.is_written
    assert not one._replace(answered_ns=None).is_written


@pytest.mark.parametrize(
    ("first", "second", "is_told", "is_written"),
    [
        (LATE, LATE, True, True),
        (None, LATE, True, False),
        (LATE, None, True, False),
        (None, None, False, False),
    ],
)
def test_of_two_producers_one_was_written(
    first: int | None, second: int | None, is_told: bool, is_written: bool
) -> None:
    talks = Talk(), Talk()
    resends = Resends(TopicNames(), WrittenOffsets())
    for talk, took, sequence in zip(talks, (first, second), (4, 9), strict=True):
        resends.add(produce(talk, written("a", producer=(7, 0, sequence)), took))
    assert [(one.is_written, one.has_id) for one in resends.retries] == [(is_written, True)] * is_told


def test_other_records_at_the_same_time_are_others() -> None:
    steps = [produce(Talk(), written(value, producer=(7, 0, n)), LATE) for n, value in enumerate("ab")]
    assert found(*steps) == []


@pytest.mark.parametrize(
    ("base", "then", "has_no_room"),
    [
        (7, 8, True),
        (8, 9, False),  # the first attempt may be what has offset 7
        (7, 9, False),  # a broker that was stopped may take the retry first
        (7, None, False),
    ],
)
def test_offsets_that_go_on_leave_no_room(base: int, then: int | None, has_no_room: bool) -> None:
    before, after = Talk(), Talk()
    last = produce(before, written("z", "y"), base=5)
    before.now += 10
    lost = produce(before, written("a"), took=None)
    again = [produce(after, written("a"), base=base)]
    again += [] if then is None else [produce(after, written("c"), base=then)]
    (one,) = found(last, lost, *again)
    assert one.has_no_room is has_no_room


def test_what_others_wrote_meanwhile_may_stand_behind_the_first_attempt() -> None:
    before, after = Talk(), Talk()
    last = produce(before, written("z"), base=6)
    before.now += 10
    lost, between = produce(before, written("a"), took=None), produce(before, written("x"), base=8)
    again = produce(after, written("a"), base=9), produce(after, written("c"), base=10)
    (one,) = found(last, between, lost, *again)
    assert not one.has_no_room


@pytest.mark.parametrize(
    ("bases", "has_no_room"),
    [
        ((7, 8), True),  # all offsets from 7 to the retry belong to other producers
        ((8, 7), True),
        ((7,), False),
        ((8,), False),
        ((7, 8, 10), True),  # and the offset between the retry and the next batch
        ((7, 8, 11), False),
    ],
)
def test_offsets_that_other_producers_fill_leave_no_room(bases: tuple[int, ...], has_no_room: bool) -> None:
    before, after = Talk(), Talk()
    last = produce(before, written("z", "y"), base=5)
    before.now += 10
    lost = produce(before, written("a"), took=None)
    others = [produce(Talk(f"10.0.0.{at}"), written("b", producer=(at, 0, 0)), base=at) for at in bases]
    then = 11 if len(bases) > 2 else 10
    again = produce(after, written("a"), base=9), produce(after, written("c"), base=then)
    (one,) = found(last, lost, *others, *again)
    assert one.has_no_room is has_no_room


def test_offsets_that_other_partitions_fill_are_no_evidence() -> None:
    before, after = Talk(), Talk()
    last = produce(before, written("z", "y"), base=5)
    before.now += 10
    lost = produce(before, written("a"), took=None)
    others = produce(Talk("10.0.0.7"), written("b"), partition=1, base=7)
    again = produce(after, written("a"), base=8), produce(after, written("c"), base=9)
    (one,) = found(last, lost, others, *again)
    assert not one.has_no_room


def test_of_recorded_retries_offsets_exclude_some_and_the_end_of_the_session_all() -> None:
    gathering = gathered_from(CASES / "resent_not_doubled_real.pcap.gz")
    retries = gathering.resends.retries
    assert [one.has_no_room for one in retries] == [True, True, False, False, False]
    assert all(map(Evidence(gathering).is_too_late, retries))


def test_what_excludes_recorded_retries_is_explained() -> None:
    gathering = gathered_from(CASES / "resent_not_doubled_real.pcap.gz")
    (one,) = explain(gathering, [], "duplicate-writes").refuted
    assert one.against == (
        "the broker closed the connection at the first attempt (5 times) because the SASL session had ended,"
        " and does not process such a request"
    )


@pytest.mark.parametrize(
    ("base", "then", "fits"),
    [
        (7, 9, False),
        (9, 11, True),  # two records, as in the first attempt
        (7, 11, True),
        (8, 10, False),
        (10, 12, False),  # others wrote there, too
    ],
)
def test_a_gap_that_fits_the_first_attempt(base: int, then: int, fits: bool) -> None:
    before, after = Talk(), Talk()
    last = produce(before, written("z", "y"), base=5)
    before.now += 10
    lost = produce(before, written("a", "b"), took=None)
    again = produce(after, written("a", "b"), base=base), produce(after, written("c"), base=then)
    (one,) = found(last, lost, *again)
    assert one.has_fitting_gap is fits


@pytest.mark.parametrize(("is_inferred", "fits"), [(True, True), (True, False), (False, True)])
def test_an_inferred_lifetime_excludes_no_retry_if_a_gap_fits(is_inferred: bool, fits: bool) -> None:
    gathering = gathered_from(CASES / "resent_not_doubled_real.pcap.gz")
    all_, evidence = gathering.resends.found, Evidence(gathering)
    all_[-1] = all_[-1]._replace(has_fitting_gap=fits)
    if not is_inferred:
        ended = [one.packets for lifetime in evidence.inferred_lifetimes for one in lifetime.ends]
        asked = [SimpleNamespace(connection=one.connection, ordinal=one.exchange) for one in ended]
        vars(evidence)["expired_sessions"] = [
            SimpleNamespace(fact=SimpleNamespace(evidence=one)) for one in asked
        ]
    is_excluded = not (is_inferred and fits)
    assert [evidence.is_too_late(one) for one in gathering.resends.retries] == [is_excluded] * 5
    if is_inferred:
        assert bool(explain(gathering, [], "duplicate-writes").refuted) is is_excluded
        (cause,) = SessionExpired().find(evidence)
        assert ("does not process" in cause.sentence) is is_excluded
