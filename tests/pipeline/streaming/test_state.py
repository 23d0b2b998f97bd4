"""What is kept between batches: nothing of connections that are over, the same for those that are silent."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.engine.flows import IDLE_NS, LINGER_NS, SWEEP_EVERY_NS
from kdissect.model.packets.packet import Packet
from kdissect.pipeline.streaming.flows import settled_flows
from kdissect.pipeline.streaming.flows.shard import REORDER_NS
from tests.pipeline.parquet import of_stream
from tests.pipeline.streaming.arriving import arrive, assert_equal
from tests.pipeline.streaming.drive import Stream, settings_of
from tests.support.messages.traffic import BROKER, CLIENT, START_NS, Conversation, request, response

HOUR_NS = 3600 * 10**9
MINUTE_NS = 60 * 10**9


def _versions(start_ns: int, port: int, ends: bool = True) -> Conversation:
    """Return a connection with one ApiVersions exchange."""
    talk = Conversation(ports=(port, 9092), isn=(port << 12, port << 13), start_ns=start_ns).handshake()
    talk.client(request(18, 0, 1)).broker(response(1, b"\0\0\0\0\0\0"))
    return talk.fin(CLIENT).fin(BROKER) if ends else talk


def _at(packets: list[Packet]) -> list[Packet]:
    return sorted(packets, key=lambda packet: packet.time_ns)


@pytest.mark.exhaustive
def test_state_of_connections_that_are_over_goes(tmp_path: Path) -> None:
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    for number in range(6):
        start = START_NS + number * 2 * LINGER_NS
        arrive(
            tmp_path / "in",
            number,
            [p for port in range(5) for p in _versions(start, 41000 + 10 * number + port).packets],
        )
        (done,) = stream.catch_up()
        assert done.flows == 5, "those of the file before are gone"
    assert sum(store.flows for store in stream.stores.values()) == 5
    assert_equal(tmp_path / "tables", [tmp_path / "in"])


@pytest.mark.exhaustive
def test_a_day_of_idle_connections_does_not_grow_the_state(tmp_path: Path) -> None:
    """Ten connections that send a keep-alive each ten minutes, and one short one each hour, for a day."""
    stream = Stream(settings_of(tmp_path, tmp_path / "in", tables=frozenset({"connections", "exchanges"})))
    idle = [_versions(START_NS + port, 42000 + port, ends=False) for port in range(10)]
    sizes = []
    for hour in range(24):
        start = START_NS + hour * HOUR_NS
        for talk in idle:
            for minute in range(0, 60, 10):
                talk.wait(max(0, start + minute * MINUTE_NS - talk.now)).packet(CLIENT)
        packets = [p for talk in idle for p in talk.packets] + _versions(
            start + MINUTE_NS, 50000 + hour
        ).packets
        for talk in idle:
            talk.packets.clear()
        arrive(tmp_path / "in", hour, _at(packets))
        (done,) = stream.catch_up()
        sizes.append(done.state_bytes)
        assert done.flows <= 12
    assert max(sizes[4:]) <= sizes[3] + 2000, sizes


def test_connections_that_fall_silent_are_over_without_a_packet_of_theirs(tmp_path: Path) -> None:
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    arrive(
        tmp_path / "in", 0, _at([p for n in range(4) for p in _versions(START_NS, 43000 + n, False).packets])
    )
    (done,) = stream.catch_up()
    assert done.flows == 4
    arrive(tmp_path / "in", 1, _versions(START_NS + HOUR_NS, 44000).packets)
    (done,) = stream.catch_up()
    assert done.flows == 1
    assert_equal(tmp_path / "tables", [tmp_path / "in"])


def test_silence_that_ends_a_connection_within_the_last_second(tmp_path: Path) -> None:
    """It has nothing new, and is over all the same: what was made of it before holds no more."""
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    silent = _versions(START_NS, 43000, False).packets
    arrive(tmp_path / "in", 0, silent)
    stream.catch_up()
    arrive(tmp_path / "in", 1, _versions(START_NS + MINUTE_NS, 45000, False).packets)
    stream.catch_up()  # nothing of it waits any more
    over_ns = ((silent[-1].time_ns + IDLE_NS) // SWEEP_EVERY_NS + 1) * SWEEP_EVERY_NS
    other = _versions(over_ns - 2 * HOUR_NS, 44000, False).packets
    shift_ns = over_ns + REORDER_NS // 2 - other[-1].time_ns
    arrive(tmp_path / "in", 2, [p._replace(time_ns=p.time_ns + shift_ns) for p in other])
    stream.catch_up()
    (row,) = [row for row in of_stream(tmp_path / "tables", "connections") if "43000" in row["client"]]
    assert row["closed"]["how"] == "idle"
    assert_equal(tmp_path / "tables", [tmp_path / "in"])


@pytest.mark.exhaustive
def test_what_two_hosts_share_is_forgotten_after_two_hours(tmp_path: Path) -> None:
    """Each hour both hosts have the same five connections: as much state after six hours as after four."""
    folders = [tmp_path / host for host in "ab"]
    for folder in folders:
        folder.mkdir()
    tables = frozenset({"connections", "exchanges"})
    stream = Stream(settings_of(tmp_path, *folders, tables=tables))
    entries = []
    for hour in range(6):
        start = START_NS + hour * HOUR_NS
        packets = [p for port in range(5) for p in _versions(start, 41000 + 10 * hour + port).packets]
        for folder in folders:
            arrive(folder, hour, packets, f"{folder.name}_trace")
            packets = [packet._replace(time_ns=packet.time_ns + 1_000_000) for packet in packets]
        stream.catch_up()
        entries.append(sum(len(store.entries) for store in stream.stores.values()))
    assert entries[5] <= entries[4] <= entries[3], entries
    assert len(of_stream(tmp_path / "tables", "connections")) == 60
    assert sum(row["same_as"] is None for row in of_stream(tmp_path / "tables", "connections")) == 30


@pytest.mark.exhaustive
def test_open_connections_that_have_nothing_new_are_not_touched(tmp_path: Path) -> None:
    """State is read and written for flows with packets; the rows of the others are there all the same."""
    stream = Stream(settings_of(tmp_path, tmp_path / "in", shards=1))
    idle = [p for n in range(60) for p in _versions(START_NS + n, 43000 + n, False).packets]
    arrive(tmp_path / "in", 0, _at(idle))
    stream.catch_up()
    arrive(tmp_path / "in", 1, _versions(START_NS + MINUTE_NS, 50000, False).packets)
    stream.catch_up()  # those that waited for their turn
    store = stream.stores[0]
    for number in (2, 3):
        store.reads = store.writes = 0
        arrive(
            tmp_path / "in", number, _versions(START_NS + number * MINUTE_NS, 50000 + number, False).packets
        )
        (done,) = stream.catch_up()
        assert done.flows == 60 + number
        assert store.reads <= 8, "the head, the flow that is new, and those that waited"
        assert store.writes <= 8
    assert_equal(tmp_path / "tables", [tmp_path / "in"])


def _written_for_one(folder: Path, idle: int) -> dict[str, int]:
    """Return what a batch writes in which one of so many open connections speaks after a silence."""
    stream = Stream(settings_of(folder, folder / "in", shards=1))
    talks = [_versions(START_NS + n, 43000 + n, ends=False) for n in range(idle)]
    folder.mkdir()
    arrive(folder / "in", 0, _at([p for talk in talks for p in talk.packets]))
    stream.step()
    for number in (1, 2, 3):  # they settle
        start = START_NS + number * MINUTE_NS
        arrive(folder / "in", number, _versions(start, 50000 + number, ends=False).packets)
        stream.step()
    one = talks[7]
    one.packets.clear()
    one.wait(START_NS + 4 * MINUTE_NS - one.now).client(request(18, 0, 2))
    one.broker(response(2, b"\0\0\0\0\0\0")).wait(2 * REORDER_NS).client(request(18, 0, 3))
    arrive(folder / "in", 4, one.packets)
    store = stream.stores[0]
    store.writes = store.reads = 0
    done = stream.step()
    assert done is not None
    assert_equal(folder / "tables", [folder / "in"])
    sets = folder / "checkpoint" / "kdissect" / "sets"
    ours = [path for path in sets.iterdir() if path.name.startswith(f"{done.batch:010}")]
    parts = {entry.part for entry in stream.directory.entries() if entry.batch == done.batch}
    return {
        "files": len(ours),
        "flow files": sum(path.suffix == ".flows" for path in ours),
        "bytes": sum(path.stat().st_size for path in ours),
        "parts": sum(part is not None and part.startswith("open ") for part in parts),
        "writes": store.writes,
        "reads": store.reads,
    }


@pytest.mark.exhaustive
def test_a_batch_writes_what_the_one_that_spoke_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of 24 or of 96 silent connections speaks: as many files, parts and entries, hardly more bytes."""
    monkeypatch.setattr(settled_flows, "LEAF_FLOWS", 8)
    monkeypatch.setattr(settled_flows, "GROUP_FLOWS", 16)
    few, many = (_written_for_one(tmp_path / str(idle), idle) for idle in (24, 96))
    room = 200 * 72  # of several thousand that each of them takes: names
    assert many.pop("bytes") <= few.pop("bytes") + room
    assert many == few
    assert few["parts"] <= 3, "groups in which one was and to which one comes, and what speaks"


@pytest.mark.exhaustive
def test_silent_connections_that_wait_for_an_answer(tmp_path: Path) -> None:
    """They end unanswered with each batch, though nothing comes of them; then the answer comes."""
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    talks = [_versions(START_NS + n, 43000 + n, ends=False).client(request(18, 0, 2)) for n in range(4)]
    arrive(tmp_path / "in", 0, _at([p for talk in talks for p in talk.packets]))
    stream.step()
    for number in (1, 2, 3):
        start = START_NS + number * MINUTE_NS
        arrive(tmp_path / "in", number, _versions(start, 50000 + number, ends=False).packets)
        stream.step()
    assert sum(group.flows for report in stream.reports for group in report.settled) >= 4
    assert_equal(tmp_path / "tables", [tmp_path / "in"])
    talks[0].packets.clear()
    talks[0].wait(START_NS + 4 * MINUTE_NS - talks[0].now).broker(response(2, b"\0\0\0\0\0\0"))
    arrive(tmp_path / "in", 4, talks[0].packets)
    stream.step()
    assert_equal(tmp_path / "tables", [tmp_path / "in"])
