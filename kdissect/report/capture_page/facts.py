"""The statistics of the page as plain rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic
from kdissect.stats.by_topic.topic_rows import topic_facts
from kdissect.stats.by_topic.topic_traffic import TopicTraffic
from kdissect.stats.times.series import LatencySeries
from kdissect.stats.traffic import Traffic
from kdissect.stats.traffic_rows import add_latencies, traffic_facts

Facts = dict[str, Any]
POINTS = 200  # bars of the time line
CLIENT, BROKER, API = ("client_id", "client"), ("broker",), ("api",)
"""Dimensions of rows. The traffic is counted by all of them."""
_COUNTED = {"apis": API, "clients": CLIENT, "brokers": BROKER, "paths": (*CLIENT, *BROKER)}


class CaptureFacts(NamedTuple):
    """Rows of `stats` by API, client, broker, and client with broker, of `topics` and of `groups`.

    `over_time` are points in intervals, with errors and response times. `span_ns` is the time from the first
    exchange to the last.
    """

    apis: Facts
    clients: Facts
    brokers: Facts
    paths: Facts
    topics: list[Facts]
    groups: list[Facts]
    over_time: Facts
    span_ns: int


def capture_facts(
    traffic: Traffic,
    by: Sequence[str],
    topics: TopicTraffic,
    groups: GroupTraffic,
    latencies: LatencySeries,
    most: int,
) -> CaptureFacts:
    """Return the facts of finished statistics. `traffic` is counted `by` dimensions that include `CLIENT`,
    `BROKER` and `API`. `most` bounds the rows of a table. Further rows are in its `other`.
    """
    counted = {
        name: traffic_facts(traffic.by_parts([by.index(part) for part in parts]), parts, most, POINTS)
        for name, parts in _COUNTED.items()
    }
    over_time = counted["apis"]["over_time"]
    add_latencies(over_time, latencies, traffic.series.narrowed(POINTS))
    span_ns = (traffic.total.last_ns or 0) - (traffic.total.first_ns or 0)
    return CaptureFacts(
        **counted,
        topics=topic_facts(topics),
        groups=group_facts(groups),
        over_time=over_time,
        span_ns=span_ns,
    )
