"""Which records of a ShareFetch answer its member acquired."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.engine.records.acquired import SHARE_FETCH, Acquired, AcquiredRecords
from kdissect.engine.records.record_sets import record_sets
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.frame import Frame
from kdissect.session.exchange import Exchange
from kdissect.stats.by_topic.topic_rows import topic_facts
from kdissect.stats.by_topic.topic_traffic import TopicTraffic
from tests.history.talk import Talk, batch
from tests.stats.truth import capture, shown, told, truth

NAME = "kafka44_java_redelivery"
TOPIC_ID = bytes(15) + b"\7"


def share_fetch(*ranges: tuple[int, int, int], records: int = 4, cut: int = 0) -> Exchange:
    """Return an answer with one batch, of offsets from 0 on; of its frame `cut` bytes were not captured."""
    row = {
        "partition_index": 3,
        "records": batch(-1, -1, -1, records),
        "acquired_records": [
            {"first_offset": first, "last_offset": last, "delivery_count": count}
            for first, last, count in ranges
        ],
    }
    answer = {"responses": [{"topic_id": TOPIC_ID, "partitions": [row]}], "node_endpoints": []}
    exchange = Talk().ask(SHARE_FETCH, 1, {"group_id": "g", "member_id": "m", "topics": []}, answer)
    frame = exchange.response
    if cut and frame is not None:
        kept = frame.data[:-cut]
        exchange.response = Frame(
            kept, frame.size, frame.first_ref, frame.last_ref, frame.time_ns, frame.end_time_ns
        )
    return exchange


def deliveries(exchange: Exchange, offsets: int = 4) -> list[tuple[bool | None, int | None]]:
    (records,) = record_sets(exchange)
    acquired = AcquiredRecords().of(records)
    assert acquired is not None
    return [tuple(acquired.of(offset)) for offset in range(offsets)]


def test_carried_is_not_delivered() -> None:
    assert deliveries(share_fetch((1, 1, 2), (3, 9, 1))) == [
        (False, None),
        (True, 2),
        (False, None),
        (True, 1),
    ]
    assert deliveries(share_fetch()) == [(False, None)] * 4


def test_what_was_not_captured_is_unknown() -> None:
    whole = share_fetch((0, 0, 1), (2, 3, 5))
    assert whole.response is not None
    for cut in range(1, len(whole.response.data)):
        exchange = share_fetch((0, 0, 1), (2, 3, 5), cut=cut)
        for records in record_sets(exchange):
            acquired = AcquiredRecords().of(records)
            assert acquired is not None and not acquired.is_whole
            found = [acquired.of(offset) for offset in range(4)]
            assert {(True, 1), (None, None)} >= {found[0]}
            assert {(True, 5), (None, None)} >= {found[2]}
            assert found[1] == (None, None)
    assert [each[0] for each in deliveries(share_fetch((0, 0, 1), (2, 3, 5), cut=2))] == [
        True,
        None,
        True,
        True,
    ]


def test_ranges_that_no_broker_sends() -> None:
    """Upside down, one over the other, of all there is."""
    assert deliveries(share_fetch((3, 1, 1))) == [(False, None)] * 4
    assert deliveries(share_fetch((0, 2**63 - 1, 7))) == [(True, 7)] * 4
    assert deliveries(share_fetch((2, 3, 1), (0, 1, 9)))[0] == (True, 9)


def test_others_are_meant_for_who_asked(capfd: pytest.CaptureFixture[str]) -> None:
    for exchange in Dissection(capture("kafka44_java_groups")):
        assert all(AcquiredRecords().of(records) is None for records in record_sets(exchange))
    assert main(["records", capture("kafka44_java_groups"), "--format", "jsonl"]) == 0
    assert "acquired" not in capfd.readouterr().out


def counted(exchange: Exchange) -> Any:
    traffic = TopicTraffic(TopicNames())
    traffic.add(exchange)
    (topic,) = topic_facts(traffic)
    return topic["read"]["records"], topic["read"]["acquired"], topic["read"]["acquired_unknown"]


def test_topics_count_what_was_acquired() -> None:
    assert counted(share_fetch((1, 1, 2), (3, 9, 1))) == (4, 2, 0)
    assert counted(share_fetch((0, 2**63 - 1, 1), (0, 2**63 - 1, 1))) == (4, 4, 0)
    assert counted(share_fetch((3, 1, 1))) == (4, 0, 0)


def test_a_batch_with_gaps_has_no_more_than_its_records() -> None:
    (records,) = record_sets(share_fetch(records=4))
    (found,) = records.found.batches
    found.base_offset, found.last_offset_delta = 10, 99
    for last, count in ((200, 4), (12, 3), (9, 0)):
        rows = [SimpleNamespace(first_offset=0, last_offset=last, delivery_count=1)]
        assert Acquired(rows, is_whole=True).count(found) == count


def delivered() -> list[tuple[str, int, int]]:
    """Return the client, offset and delivery of each record, as the members were given them."""
    return [
        (row["client_id"], row["offset"], row["count"])
        for row in truth(NAME)["events"]
        if row["what"] == "delivered"
    ]


def test_records_tell_what_the_members_were_given(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    assert main(["records", capture(NAME), "-Y", "api == ShareFetch", "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    found = [(r["client_id"], r["offset"], r["delivery_count"]) for r in rows if r["acquired"]]
    assert found == delivered()
    assert max(count for _, _, count in found) == 3  # the most that this broker allows
    assert all((row["delivery_count"] is None) != row["acquired"] for row in rows)
    columns = {name: [row.get(name) for row in rows] for name in ("offset", "acquired", "delivery_count")}
    for options in ((), ("--value-format", "text"), ("--topic", "jobs")):
        path = tmp_path / "records.parquet"
        more = ("--format", "parquet", "-o", str(path), *options)
        assert main(["records", capture(NAME), "-Y", "api == ShareFetch", *more]) == 0
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
        assert {name: table.column(name).to_pylist() for name in columns} == columns


def test_topics_tell_what_the_members_were_given(capfd: pytest.CaptureFixture[str]) -> None:
    (topic,) = told(capfd, "topics", NAME)["topics"]
    for user in topic["readers"]:
        mine = [row for row in delivered() if row[0] == user["client_id"]]
        assert (user["role"], user["acquired"]) == ("share", len(mine))
    assert topic["read"]["acquired"] == len(delivered()) < topic["read"]["records"]
    assert topic["written"]["acquired"] is None
    header, row = shown(capfd, "topics", NAME).splitlines()[:2]
    assert row[header.index("acquired") :].split()[0] == str(len(delivered()))
