"""Groups: members, rebalances, lag."""

from __future__ import annotations

from typing import Any

from kdissect.model.native import native
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic
from kdissect.tui.studies.study import Study, StudyContext


class GroupStudy(Study):
    """The facts of `kdissect groups --format json`."""

    name = "groups"
    has_own_filter = True
    counts_once = True

    def __init__(self, context: StudyContext) -> None:
        super().__init__(context)
        self._traffic = GroupTraffic(context.topics)
        self.takes_blocks = not context.is_filtered

    def add(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, Exchange):
            self._traffic.add(event, self.takes)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take Fetches."""
        return self._traffic.count_block(block, start)

    def result(self) -> dict[str, Any]:
        """Return `groups`, and the number `forgotten`."""
        return {"groups": group_facts(self._traffic), "forgotten": self._traffic.logs.forgotten}
