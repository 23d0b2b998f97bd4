"""Metrics over OTLP, parsed by opentelemetry-proto: the names, labels and values that Prometheus scrapes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.metrics.catalogue import Exposed
from kdissect.model.extras import are_installed
from kdissect.recorder.folder import Folder
from kdissect.recorder.recorder_metrics import Parts, of_recorder
from tests.metrics.test_against_inspect import metered
from tests.otel.test_traces import Collector
from tests.recorder.test_recorder_metrics import Counted
from tests.support.console import CAPTURES
from tests.support.http_server import serving, without_proxies

OTEL = are_installed("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.common")
pytestmark = pytest.mark.skipif(not OTEL, reason="needs the extra otel")

CAPTURE = "kafka44_java_groups.pcapng"
CUMULATIVE = 2  # opentelemetry.proto.metrics.v1: AggregationTemporality
Counts = dict[str, dict[tuple[str, ...], float]]


def request(message: bytes) -> Any:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    return ExportMetricsServiceRequest.FromString(message)


def metrics_of(message: bytes) -> list[Any]:
    """Return the metrics of a request, which has one resource and one scope."""
    (of_resource,) = request(message).resource_metrics
    named = {one.key: one.value.string_value for one in of_resource.resource.attributes}
    assert named["service.name"] == "kdissect" and named["service.instance.id"]
    (of_scope,) = of_resource.scope_metrics
    return list(of_scope.metrics)


def as_scraped(message: bytes) -> Counts:
    """Return the values as Prometheus has them, labels in the order of their names."""
    found: Counts = {}
    for metric in metrics_of(message):
        kind = metric.WhichOneof("data")
        data = getattr(metric, kind)
        assert kind in ("gauge", "sum", "histogram") and metric.unit == "" and metric.description
        assert kind == "gauge" or data.aggregation_temporality == CUMULATIVE
        assert kind != "sum" or (data.is_monotonic and metric.name.endswith("_total"))
        for point in data.data_points:
            assert kind == "gauge" or 0 < point.start_time_unix_nano <= point.time_unix_nano <= time.time_ns()
            named = sorted((one.key, one.value.string_value) for one in point.attributes)
            labels = tuple(value for _, value in named)
            if kind != "histogram":
                found.setdefault(metric.name, {})[labels] = point.as_double
                continue
            assert not point.HasField("min") and not point.HasField("max")
            found.setdefault(f"{metric.name}_count", {})[labels] = point.count
            found.setdefault(f"{metric.name}_sum", {})[labels] = point.sum
            total, bounds = 0, [*map(repr, point.explicit_bounds), "+Inf"]
            for bound, count in zip(bounds, point.bucket_counts, strict=True):
                total += count
                # `le` is among the labels by its name
                at = sum(key < "le" for key, _ in named)
                found.setdefault(f"{metric.name}_bucket", {})[*labels[:at], bound, *labels[at:]] = total
    return found


def taken(
    monkeypatch: pytest.MonkeyPatch, *arguments: str, status: int = 200, body: bytes = b""
) -> list[tuple[str, str, bytes]]:
    """Run a command, and return the requests that a collector took."""
    without_proxies(monkeypatch)
    collector = type("Taking", (Collector,), {"taken": [], "status": status, "body": body})
    with serving(collector) as url:
        assert main([*arguments, "--metrics-otlp", url]) in (0, 1)
    return collector.taken


def test_names_and_values_are_those_that_prometheus_scrapes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("prometheus_client", reason="needs the extra metrics")
    found = taken(monkeypatch, "stats", str(CAPTURES / CAPTURE))
    ((path, kind, message),) = found
    assert (path, kind) == ("/v1/metrics", "application/x-protobuf")
    values = as_scraped(message)
    expected = metered(CAPTURE)
    assert {*values} == {*expected} and len(values) > 30
    for name, by_labels in expected.items():
        assert values[name] == by_labels, name


def test_findings_are_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(CAPTURES / "tansu_rdk216_acks.pcap")
    ((_, _, message),) = taken(monkeypatch, "check", path)
    assert sum(as_scraped(message)["kdissect_findings_total"].values()) > 0


def recorded(tmp_path: Path) -> Exposed:
    counted, folder = Counted(), Folder(str(tmp_path))
    folder.open()
    return of_recorder(Parts(counted, counted, folder, counted))  # type: ignore[arg-type]


def test_they_are_sent_at_intervals_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kdissect.metrics.otlp_push import OtlpPush

    without_proxies(monkeypatch)
    collector = type("Taking", (Collector,), {"taken": [], "status": 200})
    exposed = recorded(tmp_path)
    with serving(collector) as url, OtlpPush(f"{url}/v1/metrics", exposed, 0.01, pytest.fail):
        while len(collector.taken) < 3:
            time.sleep(0.01)
    starts = {
        point.start_time_unix_nano
        for _, _, message in collector.taken
        for metric in metrics_of(message)
        for point in metric.sum.data_points
    }
    assert len(starts) == 1, "counters that begin again would be new ones"


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (503, b"", "metrics were not sent: "),
        (
            200,
            b"\n\x08\x08\x02\x12\x04full",
            "metrics were not sent: the collector rejected 2 data points: full",
        ),
    ],
)
def test_a_refusing_collector_is_one_message(
    status: int, body: bytes, why: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    taken(monkeypatch, "stats", str(CAPTURES / CAPTURE), status=status, body=body)
    lines = [line for line in capfd.readouterr().err.splitlines() if "metrics" in line]
    assert len(lines) == 1 and why in lines[0]


def test_a_recorder_sends_its_own(tmp_path: Path) -> None:
    from kdissect.metrics.otlp_metrics import otlp_message

    values = as_scraped(otlp_message(recorded(tmp_path), (1, 2)))
    assert values["kdissect_record_packets_total"] == {(): 7}
    assert values["kdissect_record_lag_seconds"] == {(): 1.5}
    assert len(values) == 9


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--metrics-otlp", "ftp://x"], "the URL of --metrics-otlp begins with http:// or https://"),
        (["--metrics-interval", "5"], "--metrics-interval needs --metrics-otlp"),
    ],
)
def test_options_without_sense_are_refused(
    options: list[str], why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["stats", str(CAPTURES / CAPTURE), *options]) == 2
    assert why in capfd.readouterr().err


def test_without_the_sdk_one_line_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kdissect.model.extras.find_spec", lambda _name: None)
    assert main(["stats", str(CAPTURES / CAPTURE), "--metrics-otlp", "http://localhost:1"]) == 2
    assert "--metrics-otlp needs the OpenTelemetry SDK: pip install" in capfd.readouterr().err
