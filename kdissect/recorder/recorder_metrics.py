"""Metrics of a recorder about itself, for Prometheus. Needs the optional package prometheus_client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from kdissect.metrics.collector import PREFIX
from kdissect.recorder.feed import Feed
from kdissect.recorder.flight_recorder import FlightRecorder
from kdissect.recorder.folder import Folder
from kdissect.recorder.messages import Messages

_Family = CounterMetricFamily | GaugeMetricFamily


class Parts(NamedTuple):
    """Parts of a recorder that have counts."""

    recorder: FlightRecorder
    feed: Feed
    folder: Folder
    messages: Messages


class RecorderMetric(NamedTuple):
    """One metric: its name, whether it only rises, its meaning and its value."""

    name: str
    is_counter: bool
    help: str
    value: Callable[[Parts], float]


def _ring_bytes(parts: Parts) -> float:
    size = 0
    for path in parts.folder.segments():
        with suppress(OSError):  # removed meanwhile
            size += Path(path).stat().st_size
    return size


RECORDER_METRICS = (
    RecorderMetric("record_packets_total", True, "packets recorded", lambda of: of.feed.packets),
    RecorderMetric("record_dropped_packets_total", True, "packets lost", lambda of: of.feed.drops),
    RecorderMetric("record_ring_bytes", False, "bytes of the ring", _ring_bytes),
    RecorderMetric(
        "record_lag_seconds", False, "age of the oldest packet without analysis",
        lambda of: of.feed.behind().seconds,
    ),
    RecorderMetric(
        "record_unanalysed_bytes_total", True, "bytes recorded that an analysis with a lag left out",
        lambda of: of.feed.unanalysed,
    ),
    RecorderMetric(
        "record_incidents_total", True, "incidents opened", lambda of: of.recorder.incidents.made
    ),
    RecorderMetric(
        "record_open_incidents", False, "incidents without files", lambda of: len(of.recorder.incidents.open)
    ),
    RecorderMetric(
        "record_skipped_total", True, "problems without an incident", lambda of: of.recorder.incidents.skipped
    ),
    RecorderMetric(
        "record_waiting_messages", False, "messages that wait for webhooks", lambda of: of.messages.waiting
    ),
)  # fmt: skip


class RecorderCollector(Collector):
    """Collector of `RECORDER_METRICS`, at each scrape."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def collect(self) -> Iterator[_Family]:
        """Yield all metrics."""
        for entry in RECORDER_METRICS:
            kind = CounterMetricFamily if entry.is_counter else GaugeMetricFamily
            yield kind(PREFIX + entry.name, entry.help, value=entry.value(self._parts))
