"""All counts at one moment, for one scrape."""

from collections.abc import Mapping
from typing import NamedTuple

from kdissect.capture.capture_file import CaptureFile
from kdissect.metrics.group_metrics import GroupCounts
from kdissect.metrics.label_sets import Labels
from kdissect.metrics.tallies import Count, ExchangeTally, TimeHistogram, TopicTally


class CaptureCounts(NamedTuple):
    """Analysed packets and bytes, packets lost by the place of the loss, and the lag of the analysis.

    `lag_ns`: how long the oldest packet that is captured and not analysed has waited, 0 if no packet waits.
    `last_time_ns`: time of the newest packet that was analysed, None before the first. `unanalysed_bytes`:
    bytes of capture files that a ring removed before they were analysed.
    """

    packets: int
    bytes: int
    dropped: Mapping[str, int]
    lag_ns: int = 0
    last_time_ns: int | None = None
    unanalysed_bytes: int = 0


def file_counts(files: list[CaptureFile]) -> CaptureCounts:
    """Count captures by other programs, with the losses that they report (pcapng statistics)."""
    times = [file.last_time_ns for file in files if file.last_time_ns is not None]
    return CaptureCounts(
        sum(file.packets for file in files),
        sum(file.captured_bytes for file in files),
        {"capture": sum(file.drops for file in files)},
        0,
        max(times, default=None),
    )


class Snapshot(NamedTuple):
    """Copies: analysis goes on while they are written. Labels as in `ExchangeMetrics`."""

    exchanges: Mapping[Labels, ExchangeTally]
    errors: Mapping[Labels, Count]
    brokers: Mapping[Labels, TimeHistogram]
    topics: Mapping[Labels, TopicTally]
    topic_errors: Mapping[Labels, Count]
    groups: GroupCounts
    connections: Mapping[str, int]
    """Recognised so far, by kind."""
    open_connections: Mapping[str, int]
    """Open now, by kind."""
    anomalies: Mapping[str, int]
    """By kind."""
    findings: Mapping[Labels, int] | None
    """By rule and severity, or None if no rules run."""
    capture: CaptureCounts | None
