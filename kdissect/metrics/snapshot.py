"""All counts at one moment, for one scrape."""

from collections.abc import Mapping
from typing import NamedTuple

from kdissect.metrics.capture_counts import CaptureCounts
from kdissect.metrics.label_sets import Labels
from kdissect.metrics.tallies import Count, ExchangeTally, TopicTally
from kdissect.metrics.time_histogram import TimeHistogram


class Snapshot(NamedTuple):
    """Copies: analysis goes on while they are written. Labels as in `ExchangeMetrics`."""

    exchanges: Mapping[Labels, ExchangeTally]
    errors: Mapping[Labels, Count]
    brokers: Mapping[Labels, TimeHistogram]
    topics: Mapping[Labels, TopicTally]
    topic_errors: Mapping[Labels, Count]
    connections: Mapping[str, int]
    """Recognised so far, by kind."""
    open_connections: Mapping[str, int]
    """Open now, by kind."""
    anomalies: Mapping[str, int]
    """By kind."""
    findings: Mapping[Labels, int] | None
    """By rule and severity; None where nothing is judged."""
    capture: CaptureCounts | None
