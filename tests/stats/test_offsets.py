"""`kdissect offsets` against what the recording scripts knew, and exchanges made by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from kdissect.history.topics.topic_names import TopicNames
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from kdissect.stats.by_offset.offset_rows import offset_facts
from kdissect.stats.by_offset.offset_traffic import OffsetTraffic
from tests.history.talk import MS, START_NS, Talk, batch
from tests.stats.truth import names, told, truth
from tests.support.messages.batches import batch_bytes, record_bytes

Facts = dict[str, Any]
PRODUCE, FETCH, LIST_OFFSETS, OFFSET_COMMIT, OFFSET_FETCH, END_TXN = 0, 1, 2, 8, 9, 26
OUT_OF_RANGE = 1  # org.apache.kafka.common.protocol.Errors
POSITIONS = "kafka44_java_positions"


def told_of(*events: Any) -> Facts:
    traffic = OffsetTraffic(TopicNames())
    for event in events:
        traffic.add(event)
    traffic.finish()
    return offset_facts(traffic)


def moves(facts: Facts) -> list[tuple[int, int, str]]:
    return [(row["before"], row["after"], row["because"]) for row in facts["positions"]]


def stored(base: int, records: int = 1, transactional: bool = False, producer_id: int = -1) -> bytes:
    """Return a batch as a broker keeps it."""
    held = b"".join(record_bytes(offset_delta=index, value=b"v") for index in range(records))
    return batch_bytes(
        held, records, attributes=0x10 if transactional else 0, base_timestamp=0, max_timestamp=0,
        producer_id=producer_id, epoch=0, sequence=0, base_offset=base,
    )  # fmt: skip


def fetch(
    talk: Talk, offset: int, brings: bytes | None = b"", error: int = 0, high: int = 100, stable: int = -1,
    at: int | None = None, isolation: int = 0, client_id: str = "client",
) -> Exchange:  # fmt: skip
    partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1000}
    asked = {
        "replica_id": -1, "max_wait_ms": 1, "min_bytes": 1, "isolation_level": isolation,
        "topics": [{"topic": "t", "partitions": [partition]}],
    }  # fmt: skip
    row = {
        "partition_index": 0, "error_code": error, "high_watermark": high, "last_stable_offset": stable,
        "records": brings,
    }  # fmt: skip
    answer = {"responses": [{"topic": "t", "partitions": [row]}]}
    return talk.ask(FETCH, 4, asked, None if brings is None else answer, at, client_id)


def list_offsets(talk: Talk, timestamp: int, offset: int) -> Exchange:
    asked = {"replica_id": -1, "topics": [_named({"timestamp": timestamp})]}
    return talk.ask(LIST_OFFSETS, 1, asked, {"topics": [_named({"error_code": 0, "offset": offset})]})


def fetch_commit(talk: Talk, offset: int) -> Exchange:
    asked = {"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0]}]}
    return talk.ask(OFFSET_FETCH, 1, asked, {"topics": [_named({"committed_offset": offset})]})


def commit(talk: Talk, offset: int, member: str = "m", error: int = 0) -> Exchange:
    asked = {
        "group_id": "g", "generation_id_or_member_epoch": 1 if member else -1, "member_id": member,
        "topics": [_named({"committed_offset": offset})],
    }  # fmt: skip
    return talk.ask(OFFSET_COMMIT, 3, asked, {"topics": [_named({"error_code": error})]})


def _named(row: Facts) -> Facts:
    return {"name": "t", "partitions": [{"partition_index": 0} | row]}


def produce(
    talk: Talk, records: bytes, offset: int, error: int = 0, transactional_id: str | None = None
) -> Exchange:
    asked = {
        "transactional_id": transactional_id, "acks": -1, "timeout_ms": 1,
        "topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": records}]}],
    }  # fmt: skip
    row = {"index": 0, "error_code": error, "base_offset": offset}
    return talk.ask(PRODUCE, 3, asked, {"responses": [{"name": "t", "partition_responses": [row]}]})


def test_a_transaction_that_hangs_holds_all_behind_it(capfd: pytest.CaptureFixture[str]) -> None:
    """Until an administrator ends it (KIP-664)."""
    name = "kafka44_hanging_raw"
    events = {row["what"]: row for row in truth(name)["events"]}
    (held,) = told(capfd, "offsets", name)["held"]
    hangs, found = events["hangs"], events["found"]
    assert (held["transactional_id"], held["producer_id"], held["epoch"]) == (
        hangs["id"], hangs["producer"], hangs["epoch"],
    )  # fmt: skip
    assert (held["last_stable_offset"], held["client_id"]) == (found["offset"], hangs["client_id"])
    assert held["waiting"] == ["waits"]
    assert held["moved"] is not None
    assert held["held_ns"] > 5_000_000_000  # the scenario looks for so long


def test_the_consumer_moved_as_its_script_says(capfd: pytest.CaptureFixture[str]) -> None:
    told_truth = truth(POSITIONS)
    steps = [
        (row["how"], row["offset"]) for row in told_truth["events"] if row.get("client_id") == "wanderer"
    ]
    assert [how for how, _ in steps] == ["seek", "beginning", "end", "seek", "trim", "seek"]
    rows = [row for row in told(capfd, "offsets", POSITIONS)["positions"] if row["client_id"] == "wanderer"]
    seeks = [row["after"] for row in rows if row["because"] == "nothing on the wire: a seek"]
    assert seeks == [offset for how, offset in steps if how == "seek"]
    (beginning,) = (row for row in rows if row["because"] == "to the earliest offset")
    assert beginning["after"] == 0
    resets = [row for row in rows if row["because"].startswith("its offset was out of range")]
    (trimmed,) = (offset for how, offset in steps if how == "trim")
    assert {row["after"] for row in resets} == {trimmed}
    assert len(rows) == len(seeks) + 1 + len(resets)  # to the end: it was there


def test_commits_are_those_of_the_scripts(capfd: pytest.CaptureFixture[str]) -> None:
    rows = told(capfd, "offsets", POSITIONS)["commits"]
    assert [(row["client_id"], row["before"], row["after"], row["what"]) for row in rows] == [
        ("reader", 8, 6, "back, by a client that is no member"),
        ("reader", 8, 100, "beyond the end"),
        ("resetter-admin", 100, 6, "back, by a client that is no member"),
    ]


def test_who_holds_the_last_stable_offset(capfd: pytest.CaptureFixture[str]) -> None:
    told_truth = truth(POSITIONS)
    (left_open,) = (row for row in told_truth["events"] if row["what"] == "open_transaction")
    (row,) = told(capfd, "offsets", POSITIONS)["held"]
    assert (row["transactional_id"], row["client_id"]) == (left_open["id"], left_open["client_id"])
    assert row["waiting"] == ["waits"]
    assert row["last_stable_offset"] == 1  # one record stood before it
    assert 5_000_000_000 < row["held_ns"] < 12_000_000_000  # transaction.timeout.ms is 8 s
    read = [row["offset"] for row in told_truth["records"]["read"] if row["client_id"] == "waits"]
    assert read[0] < row["last_stable_offset"] < read[1]
    assert row["moved"] is not None


def test_records_of_two_writers_and_who_read_both(capfd: pytest.CaptureFixture[str]) -> None:
    sent = truth(POSITIONS)["records"]["sent"]
    (row,) = told(capfd, "offsets", POSITIONS, "--topic", "twice")["written_twice"]
    for side, writer in (("first", "first-writer"), ("again", "second-writer")):
        offsets = [record["offset"] for record in sent if record["client_id"] == writer]
        assert (row[side]["offset"], row["records"]) == (offsets[0], len(offsets))
        assert row[side]["client_id"] == writer
    assert (row["differs"], row["read_by"]) == ("another producer id", ["twice-reader"])


def test_gaps_are_what_the_cleaner_took(capfd: pytest.CaptureFixture[str]) -> None:
    """Between the first offset that was written and the last one that was read."""
    name = "kafka44_java_gaps"
    records = truth(name)["records"]
    sent, read = ({row["offset"] for row in records[what]} for what in ("sent", "read"))
    gaps = told(capfd, "offsets", name)["gaps"]
    told_ = {offset for gap in gaps for offset in range(gap["from"], gap["to"] + 1)}
    assert told_ == sent - read != set()
    assert sum(gap["offsets"] for gap in gaps) == len(told_)
    assert {gap["client_id"] for gap in gaps} == {"reads"}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", [name for name in names() if "_tls" not in name])
def test_causes_come_before_their_effects(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "offsets", name)
    for row in facts["positions"]:
        assert row["before"] != row["after"]
        assert row["cause_time_ns"] is None or row["cause_time_ns"] <= row["time_ns"]
    for row in facts["held"]:
        assert row["last_stable_offset"] < row["high_watermark"]
        assert row["held_ns"] >= 0
    for row in facts["written_twice"]:
        assert row["first"]["offset"] != row["again"]["offset"]
    assert all(row["from"] <= row["to"] for row in facts["gaps"])


def test_positions_that_go_on_do_not_jump() -> None:
    talk = Talk()
    steps = (
        fetch(talk, 0, stored(0, 5)),
        fetch(talk, 5),
        fetch(talk, 5, error=6),
        fetch(talk, 5, stored(5)),
        fetch(talk, 6),
    )
    assert told_of(*steps)["positions"] == []


def test_what_causes_a_jump() -> None:
    talk = Talk()
    first = fetch(talk, 0, stored(0, 5))
    assert moves(told_of(first, fetch(talk, 2))) == [(5, 2, "nothing on the wire: a seek")]
    talk = Talk()
    steps = fetch(talk, 9, b"", OUT_OF_RANGE), list_offsets(talk, -1, 4), fetch(talk, 4)
    assert moves(told_of(*steps)) == [(9, 4, "its offset was out of range: to the latest offset")]
    talk = Talk()
    steps = fetch(talk, 0, stored(0, 5)), list_offsets(talk, START_NS // MS, 3), fetch(talk, 3)
    assert moves(told_of(*steps)) == [(5, 3, "to the offset of 2023-11-14T22:13:20.000000000Z")]
    talk = Talk()
    back = fetch(talk, 0, stored(0, 5)), fetch_commit(talk, 2), fetch(talk, 2)
    assert moves(told_of(*back)) == [(5, 2, "to what its group committed")]
    talk = Talk()
    ahead = fetch(talk, 0, stored(0, 5)), fetch_commit(talk, 50), fetch(talk, 50)
    assert moves(told_of(*ahead)) == []  # others of the group read what is between


def test_what_was_not_seen_is_no_jump() -> None:
    talk = Talk()
    assert moves(told_of(fetch(talk, 3), fetch(talk, 3, None), fetch(talk, 7))) == []
    talk = Talk()
    listed = list_offsets(talk, -2, 7)
    later = fetch(talk, 7, at=1)  # was sent before that was answered
    assert moves(told_of(fetch(talk, 3, at=0), listed, later)) == [(3, 7, "nothing on the wire: a seek")]


def test_two_consumers_of_one_name_are_no_jumps() -> None:
    one, other = Talk(), Talk(broker="10.0.0.9")
    one.info.id, other.info.id = "one", "other"
    steps = (
        fetch(one, 0, stored(0, 5), at=0),
        fetch(other, 90, at=2),
        fetch(one, 5, at=4),
        fetch(other, 91, at=6),
    )
    assert moves(told_of(*steps)) == []
    one, other = Talk(), Talk(broker="10.0.0.9")
    restarted = fetch(one, 0, stored(0, 5), at=0), ConnectionClosed(one.info), fetch(other, 0, at=9)
    assert moves(told_of(*restarted)) == [(5, 0, "nothing on the wire: a new consumer")]


@pytest.mark.parametrize("closes", [True, False])
def test_every_jump_to_another_connection_is_reported(closes: bool) -> None:
    """A client that opens a connection for each attempt, and closes them all at the end or never."""
    talks = [Talk(broker=f"10.0.0.{number}") for number in range(5)]
    events: list[Any] = []
    for number, talk in enumerate(talks):
        talk.info.id = str(number)
        events.append(fetch(talk, 40, stored(40, 5), at=10 * number))
    if closes:
        events += [ConnectionClosed(talk.info) for talk in talks]
    assert moves(told_of(*events)) == [(45, 40, "nothing on the wire: a new consumer")] * 4
    again = fetch(talks[0], 45, at=100)  # the first one goes on: they are several consumers
    assert moves(told_of(*events[:5], again)) == []


def test_a_commit_by_a_tool_is_reported_without_an_earlier_one() -> None:
    tool, reader = Talk(), Talk()
    (row,) = told_of(commit(tool, 7, member=""))["commits"]
    assert (row["what"], row["before"], row["after"]) == ("set by a client that is no member", None, 7)
    assert told_of(commit(tool, 7, member="", error=25))["commits"] == []
    assert told_of(commit(tool, 7), commit(tool, 7, member=""))["commits"] == []  # nothing new
    (row,) = told_of(commit(tool, 7), commit(tool, 9, member=""))["commits"]
    assert (row["before"], row["after"]) == (7, 9)
    reads = fetch(reader, 0, stored(0, 5)), commit(reader, 5, member="")
    assert told_of(*reads)["commits"] == []  # what a consumer without a subscription has read


def test_odd_commits() -> None:
    talk = Talk()
    read = fetch(talk, 0, stored(0, 5), high=9)
    facts = told_of(
        read, commit(talk, 5), commit(talk, 3), commit(talk, 7), commit(talk, 12), commit(talk, 12)
    )
    assert [(row["what"], row["before"], row["after"]) for row in facts["commits"]] == [
        ("back", 5, 3), ("beyond what it read", 5, 7), ("beyond the end", 9, 12),
    ]  # fmt: skip
    talk = Talk()
    refused = commit(talk, 9), commit(talk, 2, error=22), commit(talk, 9), commit(talk, 4, member="")
    (row,) = told_of(*refused)["commits"]
    assert row["what"] == "back, by a client that is no member"


def offset_delete(talk: Talk, error: int = 0) -> Exchange:
    rows = {"name": "t", "partitions": [{"partition_index": 0}]}
    answer = {"error_code": 0, "throttle_time_ms": 0, "topics": [_named({"error_code": error})]}
    return talk.ask(47, 0, {"group_id": "g", "topics": [rows]}, answer)


def delete_groups(talk: Talk, error: int = 0) -> Exchange:
    results = [{"group_id": "g", "error_code": error}]
    return talk.ask(42, 0, {"groups_names": ["g"]}, {"throttle_time_ms": 0, "results": results})


@pytest.mark.parametrize("delete", [offset_delete, delete_groups])
@pytest.mark.parametrize(("error", "before"), [(0, None), (69, 30)])  # 69: GROUP_ID_NOT_FOUND
def test_a_deleted_offset_is_not_compared_with_a_later_one(
    delete: Callable[[Talk, int], Exchange], error: int, before: int | None
) -> None:
    talk = Talk()
    found = told_of(commit(talk, 30), delete(talk, error), commit(talk, 5, member=""))["commits"]
    assert [(row["before"], row["after"]) for row in found] == [(before, 5)]


def test_a_held_offset_and_its_transaction() -> None:
    talk, reader = Talk(), Talk("10.0.0.7")
    begun = produce(talk, batch(7, 0, 0, 2, transactional=True), 10, transactional_id="tx")
    held = [
        fetch(reader, 9, high=12 + at, stable=10, at=at * 1000, isolation=1, client_id="waits")
        for at in (1, 2, 3)
    ]
    dirty = fetch(reader, 10, stored(10, 2, True, 7), high=12, at=0)  # a batch names no transactional id
    (row,) = told_of(begun, dirty, *held)["held"]
    assert (row["transactional_id"], row["producer_id"], row["held_ns"]) == ("tx", 7, 2000 * MS)
    assert (row["high_watermark"], row["waiting"], row["moved"]) == (15, ["waits"], None)
    over = fetch(reader, 9, high=20, stable=20, at=4000, isolation=1, client_id="waits")
    (row,) = told_of(begun, *held, over)["held"]
    assert (row["held_ns"], row["moved"] is None) == (3000 * MS, False)
    short = [fetch(reader, 9, high=12, stable=10, at=at) for at in (5000, 5900)]
    assert told_of(begun, *short)["held"] == []


@pytest.mark.parametrize(
    ("again", "differs"),
    [((7, 0, 4), "another sequence"), ((7, 1, 0), "another epoch"), ((8, 0, 0), "another producer id"),
     ((-1, -1, -1), "no producer id")],
)  # fmt: skip
def test_records_appended_twice(again: tuple[int, int, int], differs: str) -> None:
    talk, reader = Talk(), Talk("10.0.0.7")
    first = produce(talk, batch(7, 0, 0, 2), 0)
    told_again = produce(talk, batch(7, 0, 0, 2), 0)  # the broker knew it
    refused = produce(talk, batch(*again, 2), -1, error=45)
    twice = produce(talk, batch(*again, 2), 2)
    both = fetch(reader, 0, stored(0, 2) + stored(2, 2), client_id="reads")
    (row,) = told_of(first, told_again, refused, twice, both)["written_twice"]
    assert (row["first"]["offset"], row["again"]["offset"], row["differs"]) == (0, 2, differs)
    assert row["read_by"] == ["reads"]


def test_what_an_aborted_transaction_wrote_is_not_written_twice() -> None:
    talk = Talk()
    steps = []
    for sequence, committed in ((0, False), (2, True)):
        written = batch(7, 0, sequence, 2, transactional=True)
        steps.append(produce(talk, written, sequence, transactional_id="tx"))
        asked = {"transactional_id": "tx", "producer_id": 7, "producer_epoch": 0, "committed": committed}
        steps.append(talk.ask(END_TXN, 1, asked, {"error_code": 0}))
    assert told_of(*steps)["written_twice"] == []
    assert len(told_of(steps[0], steps[2])["written_twice"]) == 1  # nobody knows how they ended


def test_offsets_without_records() -> None:
    talk = Talk()
    facts = told_of(
        fetch(talk, 0, stored(3, 2) + stored(9)), fetch(talk, 10, stored(10)), fetch(talk, 0, stored(3, 2))
    )
    assert [(row["from"], row["to"], row["offsets"]) for row in facts["gaps"]] == [(0, 2, 3), (5, 8, 4)]


def test_a_fetch_that_brings_less_than_one_batch_is_reported_when_it_is_repeated() -> None:
    talk, batch = Talk(), stored(40, 5)
    cut = batch[:-3]
    steps = fetch(talk, 40, cut), fetch(talk, 40, cut), fetch(talk, 40, batch), fetch(talk, 45)
    text = f"no whole batch came: {len(cut)} of {len(batch)} bytes"
    assert moves(told_of(*steps)) == [(40, 40, text)] * 2
    assert moves(told_of(fetch(talk, 40, b"\0" * 9), fetch(talk, 40))) == [
        (40, 40, "no whole batch came: 9 bytes")
    ]
    assert moves(told_of(fetch(talk, 40), fetch(talk, 40))) == []
    assert moves(told_of(fetch(talk, 40, stored(40, 5) + cut), fetch(talk, 45))) == []


def test_a_fetch_of_what_was_received_is_no_mere_seek() -> None:
    talk = Talk()
    steps = fetch(talk, 40, stored(40, 5)), fetch(talk, 40, stored(40, 5)), fetch(talk, 42)
    assert moves(told_of(*steps)) == [
        (45, 40, "nothing on the wire: it asks for the same again"), (45, 42, "nothing on the wire: a seek"),
    ]  # fmt: skip
