"""The dissection of one of several processes: the connections of its shard, events with their places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kdissect.api import Dissection
from kdissect.capture.files import ends_of
from kdissect.engine.shards import EventKey, Shard, ShardAnalyzer
from kdissect.session.events import Event


class ShardDissection(Dissection):
    """`placed()` gives the events of a shard."""

    analyzer: ShardAnalyzer

    def __init__(self, shard: Shard, *arguments: Any, **named: Any) -> None:
        self._shard = shard
        super().__init__(*arguments, **named)

    def _new_analyzer(self, *arguments: Any) -> ShardAnalyzer:
        """That of the shard."""
        return ShardAnalyzer(self._shard, *arguments)

    def placed(self) -> Iterator[Iterator[tuple[EventKey, Event]]]:
        """The events of the shard with their places, for the packets that are read together."""
        analyzer = self.analyzer
        for packets in self.captures.batches():
            yield analyzer.placed(self.guard.fed(packets, analyzer))
        ends = ends_of(self.captures.files)
        yield analyzer.placed_end(ends, [*self.guard.closed(analyzer, lambda: analyzer.close(ends))])
        self.is_over = True
