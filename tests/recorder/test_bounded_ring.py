"""A ring that is bounded by all its bytes and by time: the oldest files go first."""

import errno
import os
from itertools import count
from pathlib import Path

import pytest

from kdissect.capture.files import open_captures
from kdissect.capture.live import ring as ring_module
from kdissect.capture.live.blocks import BlockCutter
from kdissect.capture.live.live_settings import Ring
from kdissect.capture.live.ring import FileRing, ring_files
from tests.support.console import CAPTURES

DATA = (CAPTURES / "kafka44_java_groups.pcapng").read_bytes()
PIECE = 5_000
BOUND = 60_000


def fed(path: Path, ring: Ring, data: bytes = DATA, clock: list[float] | None = None) -> FileRing:
    """Write a capture to a ring, a piece each second. The bound applies after each write."""
    seconds = count()
    now = clock if clock is not None else [0.0]
    found = FileRing(str(path), ring, lambda _file: None, clock=lambda: now[0])
    cutter = BlockCutter("")
    for at in range(0, len(data), PIECE):
        now[0] = float(next(seconds))
        for blocks in cutter.feed(data[at : at + PIECE]):
            found.write(blocks, cutter.preamble, cutter.drops)
            if ring.total_bytes:
                assert size_of(path) <= ring.total_bytes
    found.close({})
    return found


def size_of(path: Path) -> int:
    return sum(Path(name).stat().st_size for _, name in ring_files(str(path)))


def times_in(path: Path) -> list[int]:
    """Return the times of all packets, each file read as it is."""
    captures = open_captures([name for _, name in ring_files(str(path))])
    found = [packet[1] for batch in captures.batches() for packet in batch]
    assert captures.errors == []
    return found


def all_times() -> list[int]:
    return [
        packet[1]
        for batch in open_captures([CAPTURES / "kafka44_java_groups.pcapng"]).batches()
        for packet in batch
    ]


def test_the_oldest_files_are_removed_before_the_bound(tmp_path: Path) -> None:
    ring = fed(tmp_path / "r.pcapng", Ring(10_000, 0, 0, BOUND))
    found = times_in(tmp_path / "r.pcapng")
    assert found == all_times()[-len(found) :]
    assert size_of(tmp_path / "r.pcapng") > BOUND / 2
    assert ring.unwritten == 0


def test_files_older_than_the_bound_are_removed(tmp_path: Path) -> None:
    fed(tmp_path / "r.pcapng", Ring(10_000, 0, 0, 0, 8.0))
    found = times_in(tmp_path / "r.pcapng")
    assert 0 < len(found) < len(all_times())
    assert found == all_times()[-len(found) :]
    assert size_of(tmp_path / "r.pcapng") < 11 * PIECE + 10_000


def test_a_later_run_goes_on_with_the_files(tmp_path: Path) -> None:
    path = tmp_path / "r.pcapng"
    fed(path, Ring(10_000, 0, 0, BOUND), DATA[:40_000])
    before = [name for _, name in ring_files(str(path))]
    with Path(before[-1]).open("ab") as file:
        file.write(DATA[40_000:40_100])  # killed inside a block
    fed(path, Ring(10_000, 0, 0, BOUND), DATA[:30_000])
    numbers = [number for number, _ in ring_files(str(path))]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert numbers[-1] > len(before)
    times_in(path)  # each file ends with a whole block


def test_a_full_disk_costs_the_oldest_packets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, lines, disk = tmp_path / "r.pcapng", list[str](), 30_000
    real = os.write

    def write(handle: int, data: bytes) -> int:
        left = disk - size_of(path)
        if left <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data[:left])

    monkeypatch.setattr(ring_module.os, "write", write)
    ring = FileRing(str(path), Ring(10_000, 0, 0, 10**9), lambda _file: None)
    ring.note = lines.append
    cutter = BlockCutter("")
    for at in range(0, len(DATA), PIECE):
        for blocks in cutter.feed(DATA[at : at + PIECE]):
            ring.write(blocks, cutter.preamble, cutter.drops)
    ring.close({})
    found = times_in(path)
    assert found == all_times()[-len(found) :]
    assert (ring.unwritten, len(found) > 0) == (0, True)
    assert lines == ["the disk is full: the oldest packets of the ring are removed"]


def test_a_disk_without_any_space_costs_packets_not_the_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lines, is_full = tmp_path / "r.pcapng", list[str](), [True]
    real = os.write

    def write(handle: int, data: bytes) -> int:
        if is_full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data)

    monkeypatch.setattr(ring_module.os, "write", write)
    ring = FileRing(str(path), Ring(10_000, 0, 0, 10**9), lambda _file: None)
    ring.note = lines.append
    cutter = BlockCutter("")
    for at in range(0, len(DATA), PIECE):
        is_full[0] = at < len(DATA) // 2
        for blocks in cutter.feed(DATA[at : at + PIECE]):
            ring.write(blocks, cutter.preamble, cutter.drops)
    ring.close({})
    found = times_in(path)
    assert found == all_times()[-len(found) :]
    assert ring.unwritten == len(all_times()) - len(found) > 0
    captures = open_captures([name for _, name in ring_files(str(path))])
    assert sum(len(batch) for batch in captures.batches()) == len(found)
    assert sum(file.drops for file in captures.files) == ring.unwritten
    assert lines == ["the disk is full: packets are not recorded"]
