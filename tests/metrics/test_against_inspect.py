"""Metrics against the rows of `kdissect inspect`, counted here from nothing but JSON."""

import json
from collections import Counter
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.metrics.catalogue import of_snapshot
from kdissect.metrics.collector import MetricCollector
from kdissect.metrics.meter import Meter
from kdissect.metrics.snapshot import file_counts
from kdissect.metrics.tallies import BOUNDS_NS
from tests.support.console import CAPTURES

NAMES = ["kafka44_java_groups.pcapng", "kafka44_java_errors.pcapng", "kafka44_rdkafka_produce.pcapng"]
Rows = list[dict[str, Any]]
Counts = dict[tuple[str, ...], float]


def scraped(meter: Meter) -> dict[str, Counts]:
    """Return what Prometheus would read, by metric; labels in the order of their names."""
    registry = CollectorRegistry()
    registry.register(MetricCollector(of_snapshot(meter.snapshot)))
    found: dict[str, Counts] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            labels = tuple(value for _, value in sorted(sample.labels.items()))
            found.setdefault(sample.name, {})[labels] = sample.value
    return found


def metered(name: str, limit: int = 1000) -> dict[str, Counts]:
    dissection = Dissection(str(CAPTURES / name))
    meter = Meter(dissection.topics, limit)
    meter.capture = lambda: file_counts(dissection.captures.files)
    dissection.observer = meter.take
    for _ in dissection:
        pass
    return scraped(meter)


def inspected(capfd: pytest.CaptureFixture[str], name: str) -> Rows:
    assert main(["inspect", str(CAPTURES / name), "--format", "jsonl", "--bodies"]) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def labels(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["api"] or row["kind"], row["broker"], row["client_id"] or ""


@pytest.mark.parametrize("name", NAMES)
def test_frames_bytes_and_errors(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    found, rows = metered(name), inspected(capfd, name)
    for side in ("request", "response"):
        frames, sizes = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
        for row in rows:
            frames[labels(row)] += row[side] is not None
            sizes[labels(row)] += row[side]["bytes"] if row[side] else 0
        assert found[f"kdissect_{side}s_total"] == frames
        assert found[f"kdissect_{side}_bytes_total"] == sizes
    errors = Counter((api, broker, client, code) for row in rows for api, broker, client in [labels(row)]
                     for code in row["errors"])  # fmt: skip
    assert found.get("kdissect_errors_total", {}) == errors
    unanswered = Counter(labels(row) for row in rows if row["state"] == "unanswered")
    assert {key: value for key, value in found["kdissect_unanswered_total"].items() if value} == unanswered


@pytest.mark.parametrize("name", NAMES)
def test_latencies_are_in_their_buckets(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    found, rows = metered(name), inspected(capfd, name)
    timed = [row for row in rows if row["latency_ns"] is not None]
    buckets = found["kdissect_latency_seconds_bucket"]
    for key in {labels(row) for row in timed}:
        held = [row["latency_ns"] for row in timed if labels(row) == key]
        for bound in BOUNDS_NS:
            assert buckets[*key, repr(bound / 1e9)] == sum(each <= bound for each in held)
        assert buckets[*key, "+Inf"] == found["kdissect_latency_seconds_count"][key] == len(held)
        assert found["kdissect_latency_seconds_sum"][key] == pytest.approx(sum(held) / 1e9)


@pytest.mark.parametrize("name", NAMES)
def test_topics(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    found, rows = metered(name), inspected(capfd, name)
    named = Counter((row["api"], topic) for row in rows for topic in row["topics"])
    assert {key: value for key, value in found["kdissect_topic_requests_total"].items() if value} == named
    alone = Counter(
        (row["api"], code, row["topics"][0])
        for row in rows
        if len(row["topics"]) == 1
        for code in row["errors"]
    )
    told = found.get("kdissect_topic_errors_total", {})
    assert all(told[key] >= count for key, count in alone.items())
    written = Counter[tuple[str, ...]]()
    for row in rows:
        for topic in row["request"]["body"]["topic_data"] if row["api"] == "Produce" else ():
            for partition in topic["partition_data"]:
                written["Produce", topic.get("name") or row["topics"][0]] += partition["records"]["bytes"]
    sizes = found["kdissect_topic_record_bytes_total"]
    assert {key: size for key, size in sizes.items() if key[0] == "Produce"} == written


def test_the_capture_and_its_connections(capfd: pytest.CaptureFixture[str]) -> None:
    found = metered(NAMES[0])
    assert main(["info", str(CAPTURES / NAMES[0]), "--format", "json"]) == 0
    info = json.loads(capfd.readouterr().out)
    assert found["kdissect_capture_packets_total"][()] == info["files"][0]["packets"]
    assert found["kdissect_capture_bytes_total"][()] == info["files"][0]["bytes"]
    assert found["kdissect_capture_dropped_packets_total"] == {("capture",): 0}
    assert found["kdissect_connections_total"] == {("kafka",): info["connections"]["by_kind"]["kafka"]}
    assert found["kdissect_open_connections"] == {("kafka",): 0}
    assert {kind: n for (kind,), n in found.get("kdissect_anomalies_total", {}).items()} == info["anomalies"]


@pytest.mark.parametrize("limit", [1, 5])
def test_sums_stay_right_whatever_the_bound(limit: int) -> None:
    whole, bounded = metered(NAMES[1]), metered(NAMES[1], limit)
    for name, counts in bounded.items():
        if not name.endswith(("_bucket", "_timestamp_seconds")):
            assert sum(counts.values()) == pytest.approx(sum(whole[name].values())), name
    sets = bounded["kdissect_requests_total"]
    assert len(sets) <= 3 * limit + 1
    assert ("other", "other", "other") in sets
