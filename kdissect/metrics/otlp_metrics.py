"""Metrics as objects of the OpenTelemetry SDK, and their OTLP message.

Names, labels and values are those of Prometheus. Counters and histograms count from the start of the command
(cumulative temporality). Metrics without a value are left out.

Source: OpenTelemetry Protocol Specification 1.9.0; OpenTelemetry Metrics Data Model 1.9.0, "Temporality".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, cast
from uuid import uuid4

from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from kdissect.metrics.catalogue import Exposed, MetricKind
from kdissect.metrics.catalogue import Metric as Entry
from kdissect.metrics.tallies import BOUNDS_NS, TimeHistogram
from kdissect.model.version import __version__

_CUMULATIVE = AggregationTemporality.CUMULATIVE
_BOUNDS = tuple(bound / 1e9 for bound in BOUNDS_NS)
Times = tuple[int, int]
"""When counting began, and when the values were read, in nanoseconds since 1970."""


def otlp_message(exposed: Exposed, times: Times) -> bytes:
    """Return the values of all metrics now, as an ExportMetricsServiceRequest."""
    snapshot = exposed.snapshot()
    found = [metric for entry in exposed.metrics for metric in _metrics(entry, snapshot, times)]
    scope = ScopeMetrics(InstrumentationScope("kdissect", __version__), found, "")
    return bytes(encode_metrics(MetricsData([ResourceMetrics(_resource(), [scope], "")])).SerializeToString())


@cache
def _resource() -> Resource:
    """Return this process: a collector distinguishes several by their instance."""
    named = {"service.name": "kdissect", "service.version": __version__, "service.instance.id": str(uuid4())}
    return Resource(named)


def _metrics(entry: Entry, snapshot: object, times: Times) -> Iterator[Metric]:
    points = [
        _point(dict(zip(entry.labels, labels, strict=True)), value, times)
        for labels, value in entry.samples(snapshot)
    ]
    data: Any
    if entry.kind is MetricKind.HISTOGRAM:
        data = Histogram(points, _CUMULATIVE)
    elif entry.kind is MetricKind.COUNTER:
        data = Sum(points, _CUMULATIVE, is_monotonic=True)
    else:
        data = Gauge(points)
    if points:
        # Without a unit: a collector that serves Prometheus would append it to the name.
        yield Metric(entry.name, entry.help, "", data)


def _point(labels: dict[str, str], value: float | TimeHistogram, times: Times) -> Any:
    begin_ns, now_ns = times
    if not isinstance(value, TimeHistogram):
        return NumberDataPoint(labels, begin_ns, now_ns, float(value))
    count, total = sum(value.counts), value.sum_ns / 1e9
    least = most = cast(float, None)  # not known: OTLP leaves them out
    return HistogramDataPoint(labels, begin_ns, now_ns, count, total, value.counts, _BOUNDS, least, most)
