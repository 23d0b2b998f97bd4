"""Topics: who writes, who reads, how much."""

from __future__ import annotations

from typing import Any

from kdissect.model.native import native
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stats.blind_spots import BlindSpots
from kdissect.stats.by_topic.topic_rows import topic_facts
from kdissect.stats.by_topic.topic_traffic import TopicTraffic
from kdissect.tui.studies.study import Study, StudyContext


class TopicStudy(Study):
    """The facts of `kdissect topics --format json`."""

    name = "topics"
    has_own_filter = True
    counts_once = True

    def __init__(self, context: StudyContext) -> None:
        super().__init__(context)
        self._traffic = TopicTraffic(context.topics)
        self._unseen = BlindSpots()
        self.takes_blocks = not context.is_filtered

    def add(self, event: Event) -> None:
        """Take an event."""
        self._unseen.add(event)
        if isinstance(event, Exchange):
            self._traffic.add(event, self.takes)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take Produces and Fetches."""
        return self._traffic.count_block(block, start)

    def result(self) -> dict[str, Any]:
        """Return `topics` and the data `not_seen`."""
        unseen = self._unseen.facts() | {"brokers": self._traffic.leaders.unseen_brokers()}
        return {"topics": topic_facts(self._traffic), "not_seen": unseen}
