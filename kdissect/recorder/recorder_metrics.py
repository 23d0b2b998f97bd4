"""Metrics of a recorder about itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kdissect.metrics.catalogue import PREFIX, Exposed, Metric, MetricKind, Samples
from kdissect.recorder.feed import Feed
from kdissect.recorder.flight_recorder import FlightRecorder
from kdissect.recorder.folder import Folder
from kdissect.recorder.messages import Messages


class Parts(NamedTuple):
    """Parts of a recorder that have counts."""

    recorder: FlightRecorder
    feed: Feed
    folder: Folder
    messages: Messages


def _ring_bytes(parts: Parts) -> float:
    size = 0
    for path in parts.folder.segments():
        with suppress(OSError):  # removed meanwhile
            size += Path(path).stat().st_size
    return size


def _one(value: Callable[[Parts], float]) -> Callable[[Parts], Samples]:
    """Return the only sample of a metric without labels."""
    return lambda parts: [((), value(parts))]


_C, _G = MetricKind.COUNTER, MetricKind.GAUGE
RECORDER_METRICS = tuple(
    Metric(PREFIX + name, kind, (), text, _one(value))
    for name, kind, text, value in (
        ("record_packets_total", _C, "packets recorded", lambda of: of.feed.packets),
        ("record_dropped_packets_total", _C, "packets lost", lambda of: of.feed.drops),
        ("record_ring_bytes", _G, "bytes of the ring", _ring_bytes),
        ("record_lag_seconds", _G, "age of the oldest packet without analysis",
         lambda of: of.feed.behind().seconds),
        ("record_unanalysed_bytes_total", _C, "bytes recorded that an analysis with a lag left out",
         lambda of: of.feed.unanalysed),
        ("record_incidents_total", _C, "incidents opened", lambda of: of.recorder.incidents.made),
        ("record_open_incidents", _G, "incidents without files", lambda of: len(of.recorder.incidents.open)),
        ("record_skipped_total", _C, "problems without an incident",
         lambda of: of.recorder.incidents.skipped),
        ("record_waiting_messages", _G, "messages that wait for webhooks", lambda of: of.messages.waiting),
    )
)  # fmt: skip


def of_recorder(parts: Parts) -> Exposed:
    """Return all metrics of a recorder."""
    return Exposed(RECORDER_METRICS, lambda: parts)
