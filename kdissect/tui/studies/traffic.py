"""Statistics: rates, response times, errors, told apart by one dimension."""

from __future__ import annotations

from typing import Any

from kdissect.history.turn import Turn
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stats.dimensions import Context, key_maker
from kdissect.stats.group_links import GroupLinks
from kdissect.stats.traffic import Traffic
from kdissect.stats.traffic_rows import traffic_facts
from kdissect.tui.study import Study, StudyContext

# Rows, and points of the plot: more than any screen shows at once.
TOP = 500
POINTS = 240


class TrafficStudy(Study):
    """What `kdissect stats --over-time --format json` tells, by API."""

    name = "traffic"
    has_own_filter = True
    by = "api"

    def __init__(self, context: StudyContext) -> None:
        super().__init__(context)
        self._links = GroupLinks()
        self._traffic = Traffic(key_maker([self.by], Context(context.topics, self._links)))

    def add(self, event: Event) -> None:
        """Take an event."""
        if not isinstance(event, Exchange):
            return
        turn = Turn(event)
        if self.by == "group":
            self._links.learn(turn)
        if self.takes:
            self._traffic.add(turn)
        else:
            self.context.topics.pass_by(event)

    def result(self) -> dict[str, Any]:
        """Rows, totals and the points over time (`stats.traffic_rows`)."""
        return traffic_facts(self._traffic, [self.by], TOP, POINTS)


class TrafficByClient(TrafficStudy):
    """By client id."""

    name = "traffic by client_id"
    by = "client_id"


class TrafficByTopic(TrafficStudy):
    """By topic."""

    name = "traffic by topic"
    by = "topic"


class TrafficByBroker(TrafficStudy):
    """By broker."""

    name = "traffic by broker"
    by = "broker"


class TrafficByGroup(TrafficStudy):
    """By group."""

    name = "traffic by group"
    by = "group"


class TrafficBySoftware(TrafficStudy):
    """By client library."""

    name = "traffic by software"
    by = "software"
