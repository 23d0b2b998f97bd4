"""Every metric of the analysed traffic: name, labels, meaning, and its part of a snapshot.

Prometheus (`collector`) and OpenTelemetry (`otlp_metrics`) have the same metrics from here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from kdissect.metrics.label_sets import Labels
from kdissect.metrics.snapshot import CaptureCounts, Snapshot
from kdissect.metrics.tallies import TimeHistogram
from kdissect.model.version import __version__

PREFIX = "kdissect_"


# Names follow Prometheus: base units, `_total` for counters.
class MetricKind(StrEnum):
    """Types of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


Value = float | TimeHistogram
Samples = Iterable[tuple[Labels, Value]]


class Metric(NamedTuple):
    """One metric. `samples` yields the values of a snapshot by labels, or none if they are not counted."""

    name: str
    kind: MetricKind
    labels: tuple[str, ...]
    help: str
    samples: Callable[[Any], Samples]


class Exposed(NamedTuple):
    """Metrics and a function that returns what they are read from, as it is now."""

    metrics: Sequence[Metric]
    snapshot: Callable[[], Any]


_EXCHANGE = ("api", "broker", "client_id")
_TOPIC = ("api", "topic")
_PARTITION = ("group", "topic", "partition")


def _of(part: str, attribute: str, unit: float = 1) -> Callable[[Snapshot], Samples]:
    """Return the samples of one attribute for all counts in a part of the snapshot."""

    def samples(snapshot: Snapshot) -> Samples:
        for labels, counts in getattr(snapshot, part).items():
            yield labels, getattr(counts, attribute) / unit

    return samples


def _times(part: str, attribute: str | None = "latency") -> Callable[[Snapshot], Samples]:
    """Return the samples of the histograms in a part of the snapshot."""

    def samples(snapshot: Snapshot) -> Samples:
        for labels, counts in getattr(snapshot, part).items():
            yield labels, getattr(counts, attribute) if attribute else counts

    return samples


def _by_kind(part: str) -> Callable[[Snapshot], Samples]:
    def samples(snapshot: Snapshot) -> Samples:
        counts: Mapping[str, int] = getattr(snapshot, part)
        for kind, count in counts.items():
            yield (kind,), count

    return samples


def _groups(attribute: str) -> Callable[[Snapshot], Samples]:
    def samples(snapshot: Snapshot) -> Samples:
        yield from getattr(snapshot.groups, attribute).items()

    return samples


def _captured(value: Callable[[CaptureCounts], float | None]) -> Callable[[Snapshot], Samples]:
    """Return the samples of a capture's number, if there is a capture and it knows the number."""

    def samples(snapshot: Snapshot) -> Samples:
        found = None if snapshot.capture is None else value(snapshot.capture)
        if found is not None:
            yield (), found

    return samples


def _dropped(snapshot: Snapshot) -> Samples:
    if snapshot.capture is not None:
        for where, count in snapshot.capture.dropped.items():
            yield (where,), count


def _findings(snapshot: Snapshot) -> Samples:
    yield from (snapshot.findings or {}).items()


def _version(_snapshot: Snapshot) -> Samples:
    yield (__version__,), 1


def _last_seconds(counts: CaptureCounts) -> float | None:
    return None if counts.last_time_ns is None else counts.last_time_ns / 1e9


_C, _G, _H = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM
METRICS: tuple[Metric, ...] = tuple(
    Metric(PREFIX + name, kind, labels, text, samples)
    for name, kind, labels, text, samples in (
        ("requests_total", _C, _EXCHANGE, "requests captured", _of("exchanges", "requests")),
        ("responses_total", _C, _EXCHANGE, "responses captured", _of("exchanges", "responses")),
        ("request_bytes_total", _C, _EXCHANGE, "bytes of requests, size prefixes included",
         _of("exchanges", "request_bytes")),
        ("response_bytes_total", _C, _EXCHANGE, "bytes of responses, size prefixes included",
         _of("exchanges", "response_bytes")),
        ("unanswered_total", _C, _EXCHANGE,
         "requests that got no response before their connection or the capture ended",
         _of("exchanges", "unanswered")),
        ("errors_total", _C, ("api", "error", "broker", "client_id"),
         "responses with an error code, by its name. A response with several codes counts under each",
         _of("errors", "value")),
        ("latency_seconds", _H, _EXCHANGE,
         "from the last byte of the request to the first of its response. In a Fetch, waiting for data too",
         _times("exchanges")),
        ("broker_seconds", _H, ("api", "broker"),
         "the part of the latency that was the broker's own, if it is known",
         _times("brokers", None)),
        ("throttle_seconds_total", _C, _EXCHANGE, "throttle times that responses asked for",
         _of("exchanges", "throttle_ns", 1e9)),
        ("topic_requests_total", _C, _TOPIC,
         "exchanges that name the topic. An exchange with several topics counts under each",
         _of("topics", "requests")),
        ("topic_record_bytes_total", _C, _TOPIC, "bytes of record batches, as they are on the wire",
         _of("topics", "record_bytes")),
        ("topic_errors_total", _C, ("api", "error", "topic"),
         "responses with an error code for the topic; (several): for an unnamed one of several topics",
         _of("topic_errors", "value")),
        ("topic_latency_seconds", _H, _TOPIC, "latency of exchanges that name the topic", _times("topics")),
        ("group_state", _G, ("group", "state"), "1 for the state that the group is in, as in `groups`",
         _groups("states")),
        ("group_members", _G, ("group",), "members that are there", _groups("members")),
        ("group_rebalances_total", _C, ("group",), "rebalances that led to a new generation or epoch",
         _groups("rebalances")),
        ("group_lag", _G, _PARTITION,
         "records between the offset that the group's consumer fetches next and the end of the partition",
         _groups("lag")),
        ("group_committed_lag", _G, _PARTITION,
         "records between the offset that the group committed and the end of the partition",
         _groups("committed_lag")),
        ("connections_total", _C, ("kind",), "connections recognised, by what they carry",
         _by_kind("connections")),
        ("open_connections", _G, ("kind",), "connections that are open now", _by_kind("open_connections")),
        ("anomalies_total", _C, ("anomaly",), "oddities of the wire and the capture", _by_kind("anomalies")),
        ("findings_total", _C, ("rule", "severity"), "findings of check, where traffic is judged", _findings),
        ("capture_packets_total", _C, (), "packets analysed", _captured(lambda counts: counts.packets)),
        ("capture_bytes_total", _C, (), "bytes of these packets, link layer included",
         _captured(lambda counts: counts.bytes)),
        ("capture_dropped_packets_total", _C, ("where",), "packets lost while capturing, by where", _dropped),
        ("capture_unanalysed_bytes_total", _C, (), "bytes of capture files that --keep removed unread",
         _captured(lambda counts: counts.unanalysed_bytes)),
        ("capture_lag_seconds", _G, (), "how long the oldest packet not analysed has waited; 0: none waits",
         _captured(lambda counts: counts.lag_ns / 1e9)),
        ("capture_last_packet_timestamp_seconds", _G, (), "time of the newest packet analysed",
         _captured(_last_seconds)),
        ("build_info", _G, ("version",), "always 1", _version),
    )
)  # fmt: skip


def of_snapshot(snapshot: Callable[[], Snapshot]) -> Exposed:
    """Return all metrics of what a `Meter` counts."""
    return Exposed(METRICS, snapshot)


def markdown_table() -> str:
    """Return the table of docs/metrics.md."""
    lines = ["| metric | type | labels | meaning |", "|---|---|---|---|"]
    for metric in METRICS:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        lines.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |")
    return "\n".join(lines)
