"""Metrics as families of the official client library of Prometheus, which is an optional package."""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as MetricFamily
from prometheus_client.registry import Collector

from kdissect.metrics.catalogue import Exposed, MetricKind
from kdissect.metrics.label_sets import Labels
from kdissect.metrics.tallies import TimeHistogram

_Simple = CounterMetricFamily | GaugeMetricFamily
_FAMILIES: dict[MetricKind, Callable[..., _Simple | HistogramMetricFamily]] = {
    MetricKind.COUNTER: CounterMetricFamily,
    MetricKind.GAUGE: GaugeMetricFamily,
    MetricKind.HISTOGRAM: HistogramMetricFamily,
}


class MetricCollector(Collector):
    """Collector that takes a fresh snapshot for the library at each scrape."""

    def __init__(self, exposed: Exposed) -> None:
        self._metrics, self._snapshot = exposed

    def collect(self) -> Iterator[MetricFamily]:
        """Yield all metrics, including metrics without a value, because 0 differs from missing."""
        snapshot = self._snapshot()
        for entry in self._metrics:
            family = _FAMILIES[entry.kind](entry.name, entry.help, labels=entry.labels)
            for labels, value in entry.samples(snapshot):
                _add(family, labels, value)
            yield family

    def describe(self) -> Iterator[MetricFamily]:
        """Return the names, so that the registry sees that they are unique. Without them it would collect."""
        return (_FAMILIES[entry.kind](entry.name, entry.help, labels=entry.labels) for entry in self._metrics)


def _add(family: _Simple | HistogramMetricFamily, labels: Labels, value: float | TimeHistogram) -> None:
    if isinstance(value, TimeHistogram):
        assert isinstance(family, HistogramMetricFamily)
        family.add_metric(labels, value.buckets(), value.sum_ns / 1e9)
    else:
        assert not isinstance(family, HistogramMetricFamily)
        family.add_metric(labels, value)
