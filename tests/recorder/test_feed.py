"""The capture that fills the ring: its clock."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.capture.capture_file import CaptureFile
from kdissect.capture.files import open_captures
from kdissect.capture.live.captures import LiveCaptures
from kdissect.capture.live.lag import Lag
from kdissect.capture.live.live_settings import STDIN, LiveSettings, Ring
from kdissect.capture.live.tapes import FollowedFile
from kdissect.recorder.feed import Feed
from kdissect.recorder.stretch import Stretch
from tests.capture.live.fake_source import FakeSource, pieces_of
from tests.support.console import CAPTURES

DATA = (CAPTURES / "kafka44_java_groups.pcapng").read_bytes()
DAY_NS = 86_400_000_000_000
PACKETS_NS = 1_795_000_000_000_000_000


def test_the_clock_of_a_capture_that_is_over_before_anybody_asks_is_that_of_its_packets() -> None:
    file = SimpleNamespace(packets=1, drops=0, clock_ns=PACKETS_NS)
    captures: Any = SimpleNamespace(
        settings=SimpleNamespace(source=STDIN), lag=SimpleNamespace(), trouble="",
        unanalysed=0, has_left_out=False, opened=lambda: iter([file]), close=lambda: None,
    )  # fmt: skip
    feed = Feed(lambda: captures, False, lambda: None, print)
    assert list(feed.opened()) == [file]
    assert 0 <= feed.now_ns - PACKETS_NS < DAY_NS


@pytest.mark.parametrize(("longest_lag_s", "files"), [(0.0, 5), (1e-9, 1)])
def test_an_analysis_that_lags_goes_on_with_the_newest_file(
    tmp_path: Path, longest_lag_s: float, files: int
) -> None:
    settings = LiveSettings(path=str(tmp_path / "r.pcapng"), ring=Ring(len(DATA) // 4))

    def begin() -> LiveCaptures:
        captures = LiveCaptures(settings, FakeSource(pieces_of(DATA)))
        captures.start()
        return captures

    said: list[str] = []
    feed = Feed(begin, False, lambda: None, said.append, longest_lag_s)
    feed.captures._backend.join()  # all files are there before the analysis looks at the first
    assert feed.captures.captured == sum(map(len, open_captures([str(tmp_path)]).batches()))
    read = [file if file is None else sum(map(len, file.batches())) for file in feed.opened()]
    is_late = longest_lag_s > 0
    assert read.count(None) == is_late
    assert len(read) - is_late == files
    assert bool(feed.unanalysed) == bool(said) == is_late
    assert feed.packets == sum(filter(None, read))


def in_pieces(feed: Feed) -> Iterator[CaptureFile | None]:
    for file in feed.opened():
        if file is not None:
            file.source.chunk_size = 4096
        yield file


def test_an_analysis_that_lags_leaves_the_file_that_it_reads(tmp_path: Path) -> None:
    captures = LiveCaptures(LiveSettings(path=str(tmp_path / "r.pcapng")), FakeSource(pieces_of(DATA)))
    captures.start()
    captures._backend.join()
    feed = Feed(lambda: captures, False, lambda: None, print, 1.0)
    stretch = Stretch([], in_pieces(feed), lambda: False, lambda: None, lambda: True)
    assert 0 < sum(map(len, stretch.batches())) < captures.captured
    assert 0 < feed.unanalysed < len(DATA)
    assert captures.lag.analysed == captures.lag.written


def test_an_analysis_leaves_a_file_that_the_ring_removed(tmp_path: Path) -> None:
    """The lag alone is not too large."""
    settings = LiveSettings(path=str(tmp_path / "r.pcapng"), ring=Ring(len(DATA) // 4))
    captures = LiveCaptures(settings, FakeSource(pieces_of(DATA)))
    captures.longest_lag_s = 3600
    captures.start()
    captures._backend.join()
    opened = captures.opened()
    file = next(opened)
    assert not captures.is_late()
    file.source.is_removed = True  # type: ignore[attr-defined]
    assert captures.is_late()
    next(opened)
    assert not captures.is_late()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_file_that_the_ring_removed_takes_no_space(tmp_path: Path) -> None:
    """A file without a name keeps its space while a process has it open."""
    path = tmp_path / "f"
    path.write_bytes(b"x" * 10)
    waiting, being_read = FollowedFile(str(path), Lag()), FollowedFile(str(path), Lag())
    waiting.measure()
    chunks = being_read.chunks()
    assert next(chunks)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    being_read.remove()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    waiting.remove()
    assert len(os.listdir("/proc/self/fd")) == before - 1  # noqa: PTH208
    assert waiting.skip() == 10
    being_read.close()
    assert list(chunks) == []
    with pytest.raises(FileNotFoundError):
        next(waiting.chunks())
