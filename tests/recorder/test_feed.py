"""The capture that fills the ring: its clock."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kdissect.capture.live.live_settings import STDIN
from kdissect.recorder.feed import Feed

DAY_NS = 86_400_000_000_000
PACKETS_NS = 1_795_000_000_000_000_000


def test_the_clock_of_a_capture_that_is_over_before_anybody_asks_is_that_of_its_packets() -> None:
    file = SimpleNamespace(packets=1, drops=0, last_time_ns=PACKETS_NS)
    captures: Any = SimpleNamespace(
        settings=SimpleNamespace(source=STDIN), lag=SimpleNamespace(), trouble="",
        opened=lambda: iter([file]), close=lambda: None,
    )  # fmt: skip
    feed = Feed(lambda: captures, False, lambda: None, print)
    assert list(feed.opened()) == [file]
    assert 0 <= feed.now_ns - PACKETS_NS < DAY_NS
