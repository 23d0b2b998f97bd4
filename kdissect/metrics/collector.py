"""A snapshot as metric families of the official client library."""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from kdissect.metrics.catalogue import METRICS, MetricKind
from kdissect.metrics.label_sets import Labels
from kdissect.metrics.snapshot import Snapshot
from kdissect.metrics.tallies import TimeHistogram

_Simple = CounterMetricFamily | GaugeMetricFamily
_FAMILIES: dict[MetricKind, Callable[..., _Simple | HistogramMetricFamily]] = {
    MetricKind.COUNTER: CounterMetricFamily,
    MetricKind.GAUGE: GaugeMetricFamily,
    MetricKind.HISTOGRAM: HistogramMetricFamily,
}


class SnapshotCollector(Collector):
    """Gives the library a fresh snapshot at each scrape."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterator[Metric]:
        """All metrics of the catalogue, also those without a value: what is 0 must not look like missing."""
        snapshot = self._snapshot()
        for entry in METRICS:
            family = _FAMILIES[entry.kind](entry.name, entry.help, labels=entry.labels)
            for labels, value in entry.samples(snapshot):
                _add(family, labels, value)
            yield family

    def describe(self) -> Iterator[Metric]:
        """The names, for the registry to see that they are unique; it would collect otherwise."""
        return (_FAMILIES[entry.kind](entry.name, entry.help, labels=entry.labels) for entry in METRICS)


def _add(family: _Simple | HistogramMetricFamily, labels: Labels, value: float | TimeHistogram) -> None:
    if isinstance(value, TimeHistogram):
        assert isinstance(family, HistogramMetricFamily)
        family.add_metric(labels, value.buckets(), value.sum_ns / 1e9)
    else:
        assert not isinstance(family, HistogramMetricFamily)
        family.add_metric(labels, value)
