"""Connections as rows, those that are open too."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from kdissect.engine.connection_rows import connection_row
from kdissect.model.native import native
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.tui.studies.study import Study, StudyContext

# Connections in the table: 2 KB each. Of more the latest are shown, for the first are over for longest.
_MAX_CONNECTIONS = 20_000


class ConnectionStudy(Study):
    """`connections` in the order of their first packets, `forgotten` those that are too many.

    With a filter those that had an exchange that it takes.
    """

    name = "connections"

    def __init__(self, context: StudyContext) -> None:
        super().__init__(context)
        self._infos: OrderedDict[str, ConnectionInfo] = OrderedDict()
        self._forgotten = 0
        self.takes_blocks = not context.is_filtered

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Pass by: connections are known by their own events."""
        return len(block)

    def add(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, Exchange) is self.context.is_filtered:
            self._see(event.connection)

    def _see(self, info: ConnectionInfo) -> None:
        infos = self._infos
        if info.id in infos:
            return
        if len(infos) >= _MAX_CONNECTIONS:
            infos.popitem(last=False)
            self._forgotten += 1
        infos[info.id] = info

    def result(self) -> dict[str, Any]:
        """The rows (`engine.connection_rows`)."""
        first = self._forgotten + 1
        rows = [connection_row(number, info) for number, info in enumerate(self._infos.values(), first)]
        return {"connections": rows, "forgotten": self._forgotten}
