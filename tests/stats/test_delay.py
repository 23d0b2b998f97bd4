"""Delays of records: from the Produce that writes them to the Fetches that bring them, and to commits."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.api import Dissection
from kdissect.cli.statistics.blind_spots_text import blind_spots_lines
from kdissect.decoders.generated.values import sent
from kdissect.engine.records.compiled_records import BATCH_QUESTIONS
from kdissect.engine.records.record_sets import record_sets
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.native import is_compiled, native
from kdissect.sketches.distribution import Distribution, bin_multiplier
from kdissect.stats.by_delay.delay_rows import BY, delay_facts
from kdissect.stats.by_delay.delay_state import (
    ABORTED,
    CONTROL,
    RUNS_KEPT,
    TRANSACTIONAL,
    DelayState,
    ReadBatch,
    ReaderRow,
    runs_of,
)
from kdissect.stats.by_delay.delay_traffic import DelayTraffic
from tests.causes.talks import Talk
from tests.support.console import CAPTURES, run
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.valued_topics import PRODUCE, capture

S, MS = 10**9, 10**6
START = 1_700_000_000 * S
WRITER, READER, OTHER = 0, 1, 2
ONE = (0, 0)
"""The topic and partition of most tests."""
Facts = dict[str, Any]


def state(batches: int = 100, readers: int = 100) -> DelayState:
    found = DelayState(batches, readers)
    for client in (WRITER, READER, OTHER):
        found.meet(client)
    return found


def write(
    of: DelayState, offset: int, count: int, at: int, answered: int = 0, created: int | None = None,
    is_all: bool = True, is_transactional: bool = False,
) -> None:  # fmt: skip
    """Write records `at` milliseconds, which is when they were created unless `created` says it."""
    time = (START + (at if created is None else created) * MS) // MS
    times = START + at * MS, START + answered * MS if answered else 0
    of.produced(WRITER, ONE, offset, (is_all, is_transactional), times, [(time, count)])


def fetch(
    of: DelayState, offset: int, asked: int, answered: int, batches: Sequence[ReadBatch] = (), high: int = -1,
    stable: int = -1, who: int = READER, is_follower: bool = False, is_committed: bool = False,
    counts: bool = True,
) -> None:  # fmt: skip
    times = START + asked * MS, START + answered * MS, START + answered * MS
    kinds = is_follower, is_committed, counts
    of.fetched(who, kinds, times, [(*ONE, offset)], [(*ONE, high, stable, batches)])


def only(of: DelayState) -> ReaderRow:
    (row,) = of.readers()
    return row


def times(row: Any) -> tuple[int, int, int] | None:
    """Return how many records, the shortest and the longest, in milliseconds."""
    if row is None:
        return None
    found = Distribution()
    found.add_bins(*row)
    return found.count, found.min // MS, found.max // MS


def stages(row: ReaderRow) -> tuple[int, ...]:
    """Return the sums of linger, broker, poll and commit, in milliseconds."""
    return tuple(part[1] // MS for part in (row.linger, row.broker, row.poll, row.commit))


def test_where_records_wait() -> None:
    of = state()
    fetch(of, 0, 0, 90, high=0)
    write(of, 0, 2, at=100, answered=110, created=70)
    fetch(of, 0, 150, 160, [(0, 1, 2, 0)], high=2)
    of.committed(READER, ONE, 2, START + 200 * MS, True)
    row = only(of)
    assert (times(row.delay), times(row.age), times(row.committed)) == (
        (2, 60, 60),
        (2, 90, 90),
        (2, 100, 100),
    )
    assert stages(row) == (2 * 30, 2 * 10, 2 * 50, 2 * 40)
    assert (row.lag, row.lag_ns, row.unmatched) == (0, 0, 0)


def test_a_reader_that_waits_at_the_broker_polls_in_time() -> None:
    of = state()
    write(of, 0, 1, at=100, answered=130, is_all=False)
    fetch(of, 0, 50, 150, [(0, 0, 1, 0)], high=1)
    assert stages(only(of))[1:3] == (50, 0)


def test_without_a_proof_the_time_in_which_the_reader_did_not_ask_counts() -> None:
    of = state()
    fetch(of, 0, 0, 120, high=0)
    write(of, 0, 1, at=100, answered=110, is_all=False)
    fetch(of, 0, 180, 190, [(0, 0, 1, 0)], high=1)
    assert stages(only(of))[1:3] == (90 - 60, 60)


def test_an_earlier_response_to_anyone_proves_that_records_can_be_read() -> None:
    of = state()
    write(of, 0, 1, at=100, answered=110, is_all=False)
    fetch(of, 5, 100, 140, high=1, who=OTHER, is_follower=True)
    fetch(of, 0, 190, 200, [(0, 0, 1, 0)], high=1)
    assert stages(only(of))[1:3] == (40, 60)


@pytest.mark.parametrize(("is_committed", "expected"), [(True, (200, 0)), (False, (10, 190))])
def test_read_committed_waits_for_the_end_of_the_transaction(
    is_committed: bool, expected: tuple[int, int]
) -> None:
    of = state()
    write(of, 0, 1, at=100, answered=110, is_transactional=True)
    fetch(of, 0, 90, 250, high=1, stable=0, is_committed=is_committed)
    fetch(of, 0, 250, 300, [(0, 0, 1, TRANSACTIONAL), (1, 1, 1, CONTROL)], 2, 2, is_committed=is_committed)
    row = only(of)
    assert stages(row)[1:3] == expected
    assert (row.lag, row.again) == (0, 0)


def test_reads_may_come_before_the_response_of_their_produce() -> None:
    of = state()
    fetch(of, 0, 90, 120, [(0, 2, 3, 0)], high=3)
    assert only(of).unmatched == 3
    write(of, 0, 1, at=100, answered=130)
    write(of, 1, 2, at=110, answered=131)
    row = only(of)
    assert (times(row.delay), row.unmatched) == ((3, 10, 20), 0)


def test_a_record_counts_once_for_a_connection() -> None:
    of = state()
    write(of, 0, 4, at=100, answered=110)
    for _ in range(2):
        fetch(of, 0, 120, 130, [(0, 3, 4, 0)], high=4)
    fetch(of, 3, 140, 150, [(0, 3, 4, 0)], high=4)
    row = only(of)
    assert (times(row.delay), row.again) == ((4, 30, 30), 8)


def test_records_before_the_offset_that_was_asked_for_are_not_read() -> None:
    of = state()
    write(of, 0, 4, at=100, answered=110)
    fetch(of, 3, 120, 130, [(0, 3, 4, 0)], high=4)
    assert times(only(of).delay) == (1, 30, 30)


def test_aborted_and_compacted_records() -> None:
    of = state()
    write(of, 0, 3, at=100, answered=110, is_transactional=True)
    write(of, 3, 3, at=100, answered=110)
    fetch(of, 0, 120, 130, [(0, 2, 3, TRANSACTIONAL | ABORTED), (3, 5, 2, 0)], high=6)
    row = only(of)
    assert (row.delay, row.aborted, row.unmatched) == (None, 3, 2)


def test_what_left_the_window_is_counted() -> None:
    of = state(batches=2)
    for number in range(3):
        write(of, number, 1, at=100 + number, answered=110)
    fetch(of, 0, 120, 130, [(0, 2, 3, 0)], high=3)
    row = only(of)
    assert (times(row.delay), row.unmatched, of.left) == ((2, 28, 29), 1, 1)


def test_readers_are_bounded() -> None:
    of = state(readers=1)
    write(of, 0, 1, at=100, answered=110)
    for who in (READER, OTHER):
        fetch(of, 0, 120, 130, [(0, 0, 1, 0)], high=1, who=who)
    assert (only(of).client, of.forgotten) == (READER, 2)


def test_lag_in_records_and_in_time() -> None:
    of = state()
    write(of, 0, 2, at=100, answered=110)
    fetch(of, 0, 120, 130, [(0, 1, 2, 0)], high=2)
    write(of, 2, 1, at=400, answered=410)
    write(of, 3, 1, at=600, answered=650)
    row = only(of)
    assert (row.lag, row.lag_ns) == (2, 250 * MS)
    fetch(of, 2, 700, 700, high=9)
    assert (only(of).lag, only(of).lag_ns) == (7, 300 * MS)


def test_the_produce_of_the_first_missing_record_may_be_unknown() -> None:
    of = state()
    fetch(of, 2, 120, 130, high=9)
    row = only(of)
    assert (row.lag, row.lag_ns) == (7, None)


def test_a_batch_that_is_sent_again_keeps_its_first_produce() -> None:
    of = state()
    for at in (100, 200):
        write(of, 0, 1, at=at, answered=at + 10)
    fetch(of, 0, 220, 230, [(0, 0, 1, 0)], high=1)
    assert times(only(of).delay) == (1, 130, 130)


def test_commits_pass_parts_of_batches() -> None:
    of = state()
    write(of, 0, 4, at=100, answered=110)
    fetch(of, 0, 120, 130, [(0, 3, 4, 0)], high=4)
    for offset, at in ((1, 150), (1, 160), (4, 170)):
        of.committed(READER, ONE, offset, START + at * MS, True)
    row = only(of)
    assert (row.commit[0], stages(row)[3], times(row.committed)) == (4, 20 + 3 * 40, (4, 50, 70))


def test_exchanges_that_do_not_count_move_readers() -> None:
    of = state()
    write(of, 0, 2, at=100, answered=110)
    fetch(of, 0, 120, 130, [(0, 0, 1, 0)], high=2, counts=False)
    fetch(of, 1, 140, 150, [(1, 1, 1, 0)], high=2)
    assert times(only(of).delay) == (1, 50, 50)


def test_clocks_of_producers_are_no_delays() -> None:
    of = state()
    write(of, 0, 1, at=100, answered=110, created=150)
    write(of, 1, 1, at=200, answered=210, created=-200_000)
    write(of, 2, 1, at=300, answered=310, created=280)
    of.produced(WRITER, ONE, 3, (True, False), (START + 400 * MS, START + 410 * MS), [(None, 1)])
    fetch(of, 0, 490, 500, [(0, 3, 4, 0)], high=4)
    row = only(of)
    assert (times(row.delay), times(row.age), row.linger[0]) == ((4, 100, 400), (1, 220, 220), 1)
    assert of.clocks() == [(WRITER, 4, 1, 1, 1, 50 * MS, 20 * MS)]


def test_an_unknown_offset_is_counted() -> None:
    of = state()
    write(of, -1, 3, at=100)
    assert of.unplaced == 3


def test_long_batches_have_few_times() -> None:
    runs = runs_of([*range(1000), 999, None])
    assert len(runs) <= RUNS_KEPT
    assert sum(count for _, count in runs) == 1002
    assert runs[0] == (0, 16)
    assert runs_of([5, 5, None, None, 5]) == [(5, 2), (None, 2), (5, 1)]


_TIMES = st.integers(START, START + 100 * MS)
_PLACES = st.tuples(st.integers(0, 1), st.integers(0, 1))
_READ_BATCHES = st.lists(
    st.builds(
        lambda first, more, records, bits: (first, first + more, more + 1 if records else records, bits),
        st.integers(0, 20), st.integers(0, 4), st.integers(0, 3), st.integers(0, 7),
    ), max_size=3,
)  # fmt: skip
_WRITES = st.tuples(
    st.just("produced"), st.integers(0, 2), _PLACES, st.integers(-1, 20),
    st.tuples(st.booleans(), st.booleans()),
    st.tuples(_TIMES, st.one_of(st.just(0), _TIMES)),
    st.lists(
        st.tuples(st.none() | st.integers(START // MS - 200_000, START // MS + 200), st.integers(1, 3)),
        max_size=3,
    ),
)  # fmt: skip
_FETCHES = st.tuples(
    st.just("fetched"), st.integers(0, 2), st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.tuples(_TIMES, _TIMES, _TIMES),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(-1, 20)), max_size=2),
    st.lists(
        st.tuples(
            st.integers(0, 1), st.integers(0, 1), st.integers(-1, 24), st.integers(-1, 24), _READ_BATCHES
        ),
        max_size=2,
    ),
)  # fmt: skip
_LOGGED = st.tuples(st.just("logged"), _PLACES, st.integers(-1, 24))
_LOST = st.tuples(st.just("lost"), st.integers(0, 2), _PLACES)
_COMMITS = st.tuples(
    st.just("committed"), st.integers(0, 2), _PLACES, st.integers(-1, 22), _TIMES, st.booleans()
)


@pytest.mark.skipif(not is_compiled, reason="the native engine is not built")
@settings(max_examples=400)
@given(st.lists(st.one_of(_WRITES, _FETCHES, _COMMITS, _LOGGED, _LOST), max_size=40))
def test_both_engines_have_the_same_state(steps: list[tuple[Any, ...]]) -> None:
    mine = DelayState(6, 5)
    its = native.Delays(6, 5, bin_multiplier(), tuple(BATCH_QUESTIONS[:5]), lambda _broker, _topic: None, int)
    for client in (0, 1, 1):
        mine.meet(client)
        its.meet(client)
    for name, *arguments in steps:
        getattr(mine, name)(*arguments)
        getattr(its, name)(*arguments)
    found = [
        ReaderRow(*where, *counts, *distributions, *parts, *lag)
        for where, counts, distributions, parts, lag in its.readers()
    ]
    assert found == mine.readers()
    assert sorted(its.clocks()) == sorted(mine.clocks())
    assert [its.take_clock(sender) for sender in (0, 0, 1)] == [
        mine.take_clock(sender) for sender in (0, 0, 1)
    ]
    assert (its.forgotten, its.unplaced, its.left, its.now) == (
        mine.forgotten, mine.unplaced, mine.left, mine.now,
    )  # fmt: skip


RECORDED = (
    "kafka44_java_groups.pcapng", "kafka44_java_transactions.pcapng", "kafka44_rdkafka_groups.pcapng",
    "kafka44_franz_produce.pcapng", "kafka28_java_generations_early.pcapng", "kafka44_java_streams.pcapng",
    "kafka011_twice_raw.pcapng", "kafka44_two_clusters.pcapng", "mock_rdk216_txn.pcap",
)  # fmt: skip


def facts_of(name: str, by: Sequence[str] = BY) -> Facts:
    dissection = Dissection(str(CAPTURES / name))
    traffic = DelayTraffic(dissection.topics)
    for event in dissection.events():
        traffic.add(event)
    return delay_facts(traffic, by, None, None)


@pytest.mark.parametrize("name", RECORDED)
def test_the_command_prints_the_same_for_blocks(name: str) -> None:
    ran = run("delay", CAPTURES / name, "--format", "json")
    assert ran.code == 0, ran.err
    found, expected = json.loads(ran.out), facts_of(name)
    for part in ("delays", "clocks", "unplaced", "forgotten"):
        assert found[part] == expected[part], part


def naive(name: str) -> dict[tuple[str, int, str | None], list[int]]:
    """Return delays by topic, partition and client id, with all writes in memory and each read counted."""
    dissection = Dissection(str(CAPTURES / name))
    names: TopicNames = dissection.topics
    written: dict[tuple[str, int, int], int] = {}
    reads: list[tuple[tuple[str, int, str | None], int, int]] = []
    seen: set[tuple[str, str, int, int]] = set()
    for exchange in dissection:
        if exchange.api_key not in (0, 1) or exchange.response is None or exchange.request is None:
            continue
        for where, batch, base in _data(exchange, names):
            for number in range(batch.last_offset - batch.base_offset + 1):
                offset = base + number
                if exchange.api_key == 0:
                    written.setdefault((*where, offset), exchange.request.time_ns)
                elif (exchange.connection.id, *where, offset) not in seen:
                    seen.add((exchange.connection.id, *where, offset))
                    reads.append(((*where, exchange.client_id), offset, exchange.response.end_time_ns))
    found: dict[tuple[str, int, str | None], list[int]] = defaultdict(list)
    for key, offset, time in reads:
        if (*key[:2], offset) in written:
            found[key].append(time - written[*key[:2], offset])
    return found


def _data(exchange: Any, names: TopicNames) -> Iterator[tuple[tuple[str, int], Any, int]]:
    """Yield the partition of each batch, the batch, and its first offset."""
    bases = {}
    if exchange.api_key == 0:
        response = exchange.bodies()[1]
        for topic in response.value.responses:
            name = sent(topic, "name", None) or names.name(exchange.connection, topic.topic_id)
            for row in topic.partition_responses:
                bases[name, row.index] = row.base_offset if not row.error_code else -1
    for records in record_sets(exchange):
        field = records.records_field
        name = field.topic or names.name(exchange.connection, field.topic_id)
        for batch in records.found.batches:
            base = bases.get((name, field.partition), -1) if exchange.api_key == 0 else batch.base_offset
            if base >= 0 and not batch.is_control:
                yield (str(name), field.partition), batch, base


@pytest.mark.parametrize("name", ["kafka44_java_groups.pcapng", "kafka44_rdkafka_groups.pcapng"])
def test_delays_are_those_of_the_packets(name: str) -> None:
    by = ("topic", "partition", "client_id")
    rows = {tuple(row[part] for part in by): row for row in facts_of(name, by)["delays"] if row["records"]}
    expected = naive(name)
    assert {key: (row["records"], row["delay_ns"]["sum"]) for key, row in rows.items()} == {
        key: (len(delays), sum(delays)) for key, delays in expected.items()
    }
    for key, row in rows.items():
        delays = sorted(expected[key])
        assert (row["delay_ns"]["min"], row["delay_ns"]["max"]) == (delays[0], delays[-1])
        parts = row["broker_ns"]["mean"] + row["poll_ns"]["mean"]
        assert row["delay_ns"]["sum"] // row["records"] - parts in (0, 1)


def test_groups_and_dimensions() -> None:
    capture = CAPTURES / "kafka44_java_groups.pcapng"
    ran = run(
        "delay", capture, "--by", "group", "--group", "eag*", "-e", "group,records,lag", "--format", "csv"
    )
    assert ran.out.splitlines() == ["group,records,lag", "eager,12,0"]
    ran = run("delay", capture, "--by", "group,pid")
    assert ran.code == 2
    assert "no dimension 'pid': choose of topic, partition, group, client_id" in ran.err
    ran = run("delay", capture, "--topic", "shard*")
    assert "--topic shard* occurs nowhere" in ran.err


def test_a_filter_chooses_reads() -> None:
    capture = CAPTURES / "kafka44_java_groups.pcapng"
    client = facts_of(capture.name, ("client_id",))["delays"][0]["client_id"]
    ran = run("delay", capture, "-Y", f"client_id == '{client}'", "--by", "client_id", "--format", "json")
    rows = json.loads(ran.out)["delays"]
    assert {row["client_id"] for row in rows if row["records"]} == {client}


def test_a_request_log_has_lag_and_no_delays() -> None:
    folder = CAPTURES / "logged" / "recorded"
    logged, captured = (
        json.loads(run("delay", folder / f"kafka44.{kind}.gz", "--format", "json").out)
        for kind in ("requests.log", "pcapng")
    )
    assert logged["not_seen"]["records_of_request_logs"]
    assert not any(row["records"] for row in logged["delays"])
    lags = [{(row["topic"], row["partition"], row["group"]): row["lag"] for row in part["delays"]}
            for part in (logged, captured)]  # fmt: skip
    known = {key: lag for key, lag in lags[0].items() if lag is not None}
    assert known
    assert known.items() <= lags[1].items()
    assert "it has no records" in run("delay", folder / "kafka44.requests.log.gz", "--format", "table").out


ENGINES = pytest.mark.parametrize("compiled", ["0", pytest.param("1", marks=pytest.mark.skipif(
    not is_compiled, reason="the native engine is not built"
))])  # fmt: skip
IDENTITY = ("principal", "client_id", "software")


@ENGINES
@pytest.mark.parametrize(
    "name", ["kafka44_franz_sasl.pcapng", "kafka44_java_refused.pcapng", "kafka39_franz_raw.pcapng"]
)
def test_producers_are_named_as_their_connections_are_at_the_end(name: str, compiled: str) -> None:
    writes = [exchange for exchange in Dissection(str(CAPTURES / name)) if exchange.api_key == PRODUCE]
    expected = {
        (exchange.connection.principal, exchange.client_id, exchange.connection.software)
        for exchange in writes
        if any(not batch.is_control for found in record_sets(exchange) for batch in found.found.batches)
    }
    assert any(principal or software for principal, _, software in expected)
    ran = run("delay", CAPTURES / name, "--format", "json", KDISSECT_NATIVE=compiled)
    rows = [tuple(row[part] for part in IDENTITY) for row in json.loads(ran.out)["clocks"]]
    assert len(rows) == len(expected)
    assert set(rows) == expected


def wrote(
    talk: Talk, *records: bytes, offset: int = 0, count: int | None = None, attributes: int = 0
) -> Talk:
    """Have a client write a batch, which the broker stores at an offset."""
    batch = batch_bytes(b"".join(records), count or len(records), attributes=attributes)
    data = [{"index": 0, "records": batch}]
    asked = {"acks": -1, "timeout_ms": 1, "topic_data": [{"name": "orders", "partition_data": data}]}
    talk.ask(PRODUCE, 3, {"transactional_id": None, **asked})
    row = {"index": 0, "error_code": 0, "base_offset": offset, "log_append_time_ms": -1}
    responses = [{"name": "orders", "partition_responses": [row]}]
    return talk.answer(PRODUCE, 3, {"responses": responses, "throttle_time_ms": 0}).wait(0.1)


@ENGINES
def test_one_client_id_of_several_releases_has_a_clock_for_each(tmp_path: Path, compiled: str) -> None:
    talks = []
    for number, version in enumerate(("1.0", "2.0", "1.0")):
        talk = Talk("shop", 40000 + number, begins=number)
        talk.ask(18, 3, {"client_software_name": "maker", "client_software_version": version})
        talk.answer(18, 3, {"error_code": 0, "api_keys": [], "throttle_time_ms": 0})
        talks.append(wrote(talk, *[record_bytes(delta) for delta in range(number + 1)]))
    ran = run("delay", capture(tmp_path / "a.pcap", *talks), "--format", "json", KDISSECT_NATIVE=compiled)
    found = [(row["software"], row["records"]) for row in json.loads(ran.out)["clocks"]]
    assert found == [("maker 1.0", 4), ("maker 2.0", 2)]


@ENGINES
def test_no_record_of_a_damaged_batch_has_a_time(tmp_path: Path, compiled: str) -> None:
    whole = [record_bytes(delta, 0, b"key", b"value") for delta in range(3)]
    damaged = whole[1].replace(b"\x06key", b"\x03key")  # the length of the key is -2
    talk = wrote(wrote(Talk("shop"), *whole), whole[0], damaged, whole[2], offset=3)
    wrote(talk, *whole[:2], offset=6, count=4)
    ran = run("delay", capture(tmp_path / "a.pcap", talk), "--format", "json", KDISSECT_NATIVE=compiled)
    (clock,) = json.loads(ran.out)["clocks"]
    assert (clock["records"], clock["without_time"]) == (3 + 3 + 4, 3 + 4)


@ENGINES
def test_markers_that_a_client_writes_are_no_records(tmp_path: Path, compiled: str) -> None:
    talk = wrote(wrote(Talk("shop"), record_bytes()), record_bytes(), offset=1, attributes=1 << 5)
    ran = run("delay", capture(tmp_path / "a.pcap", talk), "--format", "json", KDISSECT_NATIVE=compiled)
    (clock,) = json.loads(ran.out)["clocks"]
    assert clock["records"] == 1


def test_parts_of_distributions_without_a_value_are_empty() -> None:
    capture = CAPTURES / "kafka44_franz_sasl.pcapng"
    topics = ("--topic", "nowhere*"), ()
    for chosen in topics:
        ran = run("delay", capture, *chosen, "-e", "delay_ns.p50", "--format", "csv")
        assert ran.code == 0, ran.err
    logged = CAPTURES / "logged" / "recorded" / "kafka44.requests.log.gz"
    ran = run("delay", logged, "-e", "topic,delay_ns.p50", "--format", "csv")
    assert ran.code == 0, ran.err
    rows = ran.out.splitlines()
    assert len(rows) > 1
    assert all(row.endswith(",") for row in rows[1:])
    ran = run("delay", logged, "-e", "topic.p50", "--format", "csv")
    assert ran.code == 2


@pytest.mark.parametrize(("number", "expected"), [(1, "  1 connection that"), (2, "  2 connections that")])
def test_blind_spots_are_counted_in_words(number: int, expected: str) -> None:
    facts = dict.fromkeys(
        ("connections_in_one_direction", "bytes_not_captured", "bytes_cut_off", "cut_frames",
         "exchanges_of_unknown_version"), 0,
    )  # fmt: skip
    found = blind_spots_lines({"opaque_connections": {}, "connections_begun_before": number, **facts})
    assert list(found) == [expected + " began before the capture"]


def test_clocks_of_recorded_producers() -> None:
    rows = facts_of("kafka44_java_groups.pcapng")["clocks"]
    assert [(row["client_id"], row["records"], row["too_old"]) for row in rows] == [("producer", 12, 12)]
