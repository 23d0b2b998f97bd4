"""What a capture says of itself, for metrics."""

from collections.abc import Mapping
from typing import NamedTuple

from kdissect.capture.capture_file import CaptureFile


class CaptureCounts(NamedTuple):
    """Packets and bytes that were analysed, packets lost by where they were, how far behind analysis is.

    `lag_ns`: how long the oldest packet that is captured and not analysed has waited; 0 where none waits.
    `last_time_ns`: time of the newest packet that was analysed, None before the first. `unanalysed_bytes`: of
    capture files that a ring removed before analysis came to them.
    """

    packets: int
    bytes: int
    dropped: Mapping[str, int]
    lag_ns: int = 0
    last_time_ns: int | None = None
    unanalysed_bytes: int = 0


def file_counts(files: list[CaptureFile]) -> CaptureCounts:
    """Of captures that were written by others: what they tell of losses (pcapng statistics)."""
    times = [file.last_time_ns for file in files if file.last_time_ns is not None]
    return CaptureCounts(
        sum(file.packets for file in files),
        sum(file.captured_bytes for file in files),
        {"capture": sum(file.drops for file in files)},
        0,
        max(times, default=None),
    )
