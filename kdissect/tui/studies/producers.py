"""Producers and transactions."""

from __future__ import annotations

from typing import Any

from kdissect.model.native import native
from kdissect.session.events import Event
from kdissect.stats.by_producer.producer_rows import producer_facts
from kdissect.stats.by_producer.producer_traffic import ProducerTraffic
from kdissect.tui.studies.study import Study, StudyContext


class ProducerStudy(Study):
    """The facts of `kdissect producers --format json`."""

    name = "producers"
    has_own_filter = True
    counts_once = True

    def __init__(self, context: StudyContext) -> None:
        super().__init__(context)
        self._traffic = ProducerTraffic(context.topics, is_selective=context.is_filtered)
        self.takes_blocks = not context.is_filtered

    def add(self, event: Event) -> None:
        """Take an event."""
        self._traffic.add(event, self.takes)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take Produces."""
        return self._traffic.count_block(block, start)

    def finish(self) -> None:
        """Take the events that the histories deferred."""
        self._traffic.finish()

    def result(self) -> dict[str, Any]:
        """Return `producers`, `transactional_ids`, `without_id` and the numbers that were `forgotten`."""
        return producer_facts(self._traffic)
