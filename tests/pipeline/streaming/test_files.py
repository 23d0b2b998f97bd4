"""Which files are taken, when, and as what: half-written, late, twice, renamed, grown, of several hosts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.pipeline.streaming.arrivals.candidates import STALE_S, Patience
from kdissect.pipeline.streaming.flows.shard import TOO_LATE
from tests.pipeline.parquet import of_stream
from tests.pipeline.streaming.arriving import arrive, assert_equal, cut, packets_of
from tests.pipeline.streaming.drive import Stream, settings_of

NAME = "mock_rdk216_txn.pcap"
OTHER = "tansu_kp3_groups.pcap"


def _files(stream: Stream, tmp_path: Path) -> dict[str, Any]:
    return {Path(row["file"]).name: row for row in of_stream(tmp_path / "tables", "files")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "in"


def _now(path: Path) -> float:
    return path.stat().st_mtime


@pytest.mark.exhaustive
def test_a_file_that_is_being_written_waits(tmp_path: Path, folder: Path) -> None:
    stream = Stream(settings_of(tmp_path, folder, patience=Patience(5.0)))
    path = arrive(folder, 0, packets_of(NAME))
    whole, written = path.read_bytes(), _now(path)
    for share in (0.0, 0.3, 0.31, 0.9):
        path.write_bytes(whole[: int(len(whole) * share)])
        assert stream.step(_now(path)) is None
        assert stream.step(_now(path) + 60) is None, "it ends inside a packet"
    path.write_bytes(whole)
    written = _now(path)
    assert stream.step(written + 1) is None, "it may grow yet"
    assert stream.step(written + 6) is not None
    assert_equal(tmp_path / "tables", [folder])


def test_what_follows_shows_that_a_file_is_complete(tmp_path: Path, folder: Path) -> None:
    stream = Stream(settings_of(tmp_path, folder, patience=Patience(1e6)))
    first, second = cut(packets_of(NAME), 2)
    path = arrive(folder, 0, first)
    assert stream.step(_now(path)) is None
    arrive(folder, 1, second)
    assert stream.step(_now(path)) is not None
    assert [entry.path for entry in stream.registry.entries] == [str(path)]


@pytest.mark.exhaustive
def test_a_file_half_copied_holds_back_those_behind_it(tmp_path: Path, folder: Path) -> None:
    stream = Stream(settings_of(tmp_path, folder, patience=Patience(5.0)))
    parts = cut(packets_of(NAME), 3)
    path = arrive(folder, 0, parts[0])
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    for number in (1, 2):
        arrive(folder, number, parts[number])
    assert stream.step(_now(path) + 1) is None
    path.write_bytes(whole)
    assert len(stream.catch_up(_now(path) + 60)) == 1
    assert_equal(tmp_path / "tables", [folder])


@pytest.mark.exhaustive
def test_a_file_whose_writer_died_is_taken_at_last(tmp_path: Path, folder: Path) -> None:
    stream = Stream(settings_of(tmp_path, folder))
    path = arrive(folder, 0, packets_of(NAME))
    path.write_bytes(path.read_bytes()[:-7])
    assert stream.step(_now(path) + STALE_S / 2) is None
    assert stream.step(_now(path) + STALE_S + 1) is not None  # times of files are no whole numbers
    assert _files(stream, tmp_path)["trace.pcap"]["anomalies"][0]["kind"] == "cut_capture"
    assert_equal(tmp_path / "tables", [folder])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["again.pcap", "trace.pcap7", "before/trace.pcap"])
def test_a_file_that_comes_twice_counts_once(name: str, tmp_path: Path, folder: Path) -> None:
    stream = Stream(settings_of(tmp_path, folder, recursive=True))
    first, second = cut(packets_of(NAME), 2)
    path = arrive(folder, 0, first)
    assert len(stream.catch_up()) == 1
    (folder / name).parent.mkdir(exist_ok=True)
    shutil.copy(path, folder / name)
    assert stream.catch_up() == []
    arrive(folder, 1, second)
    stream.catch_up()
    (folder / name).unlink()
    assert_equal(tmp_path / "tables", [folder])


@pytest.mark.exhaustive
def test_a_file_that_is_renamed_or_moved_away_is_not_taken_again(tmp_path: Path, folder: Path) -> None:
    stream = Stream(settings_of(tmp_path, folder))
    parts = cut(packets_of(NAME), 3)
    paths = [arrive(folder, number, parts[number]) for number in (0, 1)]
    stream.catch_up()
    paths[0].rename(folder / "moved.pcap")
    paths[1].unlink()
    assert stream.catch_up() == []
    arrive(folder, 2, parts[2])
    stream.catch_up()
    (folder / "moved.pcap").rename(paths[0])
    arrive(folder, 1, parts[1])
    assert_equal(tmp_path / "tables", [folder])


@pytest.mark.exhaustive
def test_a_file_that_grows_after_it_was_taken(tmp_path: Path, folder: Path) -> None:
    """A slow capture: what is added is what is analysed, and the file stays one."""
    packets = packets_of(NAME)
    stream = Stream(settings_of(tmp_path, folder))
    for until in (3, 100, 101, len(packets) - 50):
        arrive(folder, 0, packets[:until])
        assert len(stream.catch_up()) == 1
        assert_equal(tmp_path / "tables", [folder])
    arrive(folder, 1, packets[-50:])
    stream.catch_up()
    assert_equal(tmp_path / "tables", [folder])
    assert [entry.file for entry in stream.registry.entries] == [0, 0, 0, 0, 1]


@pytest.mark.exhaustive
def test_a_name_of_a_ring_buffer_holds_other_packets_later(tmp_path: Path, folder: Path) -> None:
    stream = Stream(settings_of(tmp_path, folder))
    parts = cut(packets_of(NAME), 4)
    for number in range(4):
        arrive(folder, number % 2, parts[number])
        stream.catch_up()
    for number in range(4):
        arrive(tmp_path / "all", number, parts[number])
    exchanges = of_stream(tmp_path / "tables", "exchanges")
    kept = tmp_path / "kept"
    again = Stream(settings_of(kept, tmp_path / "all"))
    again.catch_up()
    rows = [{**row, "request": None, "response": None} for row in exchanges]
    assert rows == [{**r, "request": None, "response": None} for r in of_stream(kept / "tables", "exchanges")]


@pytest.mark.exhaustive
def test_a_file_that_comes_too_late_is_told_and_left_out(tmp_path: Path, folder: Path) -> None:
    stream = Stream(settings_of(tmp_path, folder))
    parts = cut(packets_of(NAME), 3)
    for number in (0, 2):
        arrive(folder, number, parts[number])
        stream.catch_up()
    late = arrive(folder, 1, parts[1])
    done = stream.catch_up()
    assert done[0].unread == ((str(late), TOO_LATE),)
    assert done[0].segments == 0
    told = _files(stream, tmp_path)
    assert told[late.name]["error"] == TOO_LATE
    assert told[late.name]["packets"] == len(parts[1])
    late.unlink()
    one = {row["file"] for row in of_stream(tmp_path / "tables", "exchanges") if "file" in row}
    assert str(late) not in one
    from tests.pipeline.parquet import of_one_process

    expected = of_one_process([folder])
    for table in ("connections", "exchanges", "findings", "coverage", "groups", "transactions", "latencies"):
        assert of_stream(tmp_path / "tables", table) == expected[table], table


@pytest.mark.exhaustive
def test_files_that_arrive_in_any_order_within_the_time_they_are_held(tmp_path: Path, folder: Path) -> None:
    stream = Stream(settings_of(tmp_path, folder, patience=Patience(0.0, hold_s=60.0)))
    parts = cut(packets_of(NAME), 4)
    start = 2e9
    for second, number in enumerate((2, 0, 3, 1)):
        arrive(folder, number, parts[number])
        assert stream.step(start + 10 * second) is None
    assert len(stream.catch_up(start + 200)) == 1
    assert_equal(tmp_path / "tables", [folder])


@pytest.mark.exhaustive
def test_hosts_whose_clocks_differ_stay_apart(tmp_path: Path) -> None:
    """One host is an hour behind, and its files arrive after those of the other."""
    packets = packets_of(NAME)
    behind = [packet._replace(time_ns=packet.time_ns - 3600 * 10**9) for packet in packets_of(OTHER)]
    folders = [tmp_path / "host_a", tmp_path / "host_b"]
    for folder in folders:
        folder.mkdir()
    arrive(folders[0], 0, [], "trace")
    stream = Stream(settings_of(tmp_path, *folders))
    arrive(folders[1], 0, cut(behind, 2)[0])
    for number, part in enumerate(cut(packets, 3)):
        arrive(folders[0], number, part)
        stream.catch_up()
    arrive(folders[1], 1, cut(behind, 2)[1])
    stream.catch_up()
    assert_equal(tmp_path / "tables", folders)
    sets = {row["capture_set"] for row in of_stream(tmp_path / "tables", "exchanges")}
    assert sets == {"host_a/trace", "host_b/trace"}


def test_what_is_wrong_with_files_is_told(tmp_path: Path, folder: Path) -> None:
    stream = Stream(settings_of(tmp_path, folder))
    packets = packets_of(NAME)
    arrive(folder, 0, packets)
    good = arrive(folder, 0, packets_of(OTHER), "corrupt").rename(folder / "corrupt.pcap").read_bytes()
    (folder / "empty.pcap").write_bytes(good[:24])
    (folder / "corrupt.pcap").write_bytes(good[:5000] + b"\xff" * 64 + good[5064:])
    (folder / "note.txt").write_text("no capture")
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))
    stream.catch_up()
    assert_equal(tmp_path / "tables", [folder])
    told = _files(stream, tmp_path)
    assert told["empty.pcap"]["error"] == "no packets, only a file header"
    assert set(told) == {"empty.pcap", "corrupt.pcap", "trace.pcap"}
