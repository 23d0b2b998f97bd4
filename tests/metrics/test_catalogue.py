"""Names as Prometheus wants them (prometheus.io/docs/practices/naming), and the page that lists them."""

import re

import pytest

from kdissect.metrics.catalogue import METRICS, Metric, MetricKind, markdown_table
from tests.support.console import CHECKOUT

PAGE = (CHECKOUT / "docs" / "metrics.md").read_text()
NAME = re.compile(r"kdissect_[a-z_]+")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_names(metric: Metric) -> None:
    assert NAME.fullmatch(metric.name)
    assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER)
    assert all(
        re.fullmatch(r"[a-z][a-z_]*", label) and label not in ("le", "job", "instance")
        for label in metric.labels
    )
    assert not re.search(r"milli|micro|nano|_ms|_ns|_kb|_mb", metric.name)
    if metric.kind is MetricKind.HISTOGRAM:
        assert metric.name.endswith("_seconds")


def test_names_are_unique() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)


def test_the_page_has_the_table() -> None:
    assert markdown_table() in PAGE


def test_queries_name_metrics_and_labels_there_are() -> None:
    queries = re.findall(r"```promql\n(.*?)```", PAGE, re.DOTALL)
    assert len(queries) >= 8
    by_name = {metric.name: metric for metric in METRICS}
    known = {label for metric in METRICS for label in metric.labels} | {"le", "instance"}
    for query in queries:
        for name in NAME.findall(query):
            base = re.sub(r"_(bucket|sum|count)$", "", name)
            assert name in by_name or by_name[base].kind is MetricKind.HISTOGRAM, name
        for labels in re.findall(r"by \(([^)]*)\)", query):
            assert set(re.split(r",\s*", labels)) <= known, query
        assert query.count("(") == query.count(")")
