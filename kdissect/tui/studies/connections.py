"""Connections as rows, open ones too, and the reasons why some failed."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from kdissect.engine.connection_rows import connection_row
from kdissect.engine.exchange_rows import Row
from kdissect.engine.passed_blocks import PassedBlocks
from kdissect.history.connections.connection_problems import ANNOUNCING, ConnectionProblem
from kdissect.model.native import native
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.session.problem import Problem
from kdissect.stats.failed_connections import Diagnosis
from kdissect.stats.refusals import REFUSING_APIS
from kdissect.tui.studies.study import Study, StudyContext

# Connections in the table: 2 KB each. Of more the latest stay, because the first ended longest ago.
_MAX_CONNECTIONS = 20_000


class ConnectionStudy(Study):
    """Study of connections: `connections` in the order of their first packets. `forgotten` counts the
    connections beyond the bound.

    A row also has what `kdissect connections --problems` reports: `reason` and `sentence`, both empty if the
    connection did not fail. With a filter, only connections with an exchange that it takes.
    """

    name = "connections"
    has_own_filter = True

    def __init__(self, context: StudyContext) -> None:
        super().__init__(context)
        self._infos: OrderedDict[str, ConnectionInfo] = OrderedDict()
        self._forgotten = 0
        self._diagnosis = Diagnosis()
        self._problems: dict[str, Problem] = {}
        self._passed = PassedBlocks(
            lambda _info, api_key, _client_id: api_key in ANNOUNCING or api_key in REFUSING_APIS
        )
        self.takes_blocks = not context.is_filtered

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Skip exchanges without addresses and logins: connections are known by their own events."""
        return self._passed.count(block, start)

    def add(self, event: Event) -> None:
        """Take an event."""
        info, is_exchange = event.connection, isinstance(event, Exchange)
        if is_exchange is self.context.is_filtered and (self.takes or not is_exchange):
            self._see(info)
        self._keep(self._diagnosis.add(event, info.id in self._infos))
        if isinstance(event, ConnectionClosed):
            self._passed.forget(info)

    def finish(self) -> None:
        """Add the facts that waited for the end."""
        self._keep(self._diagnosis.finish())

    def _keep(self, found: list[ConnectionProblem]) -> None:
        for one in found:
            if one.connection.id in self._infos:
                self._problems[one.connection.id] = one.problem

    def _see(self, info: ConnectionInfo) -> None:
        infos = self._infos
        if info.id in infos:
            return
        if len(infos) >= _MAX_CONNECTIONS:
            gone, _ = infos.popitem(last=False)
            self._problems.pop(gone, None)
            self._forgotten += 1
        infos[info.id] = info

    def result(self) -> dict[str, Any]:
        """Return the rows (`engine.connection_rows`)."""
        first = self._forgotten + 1
        rows = [self._row(number, info) for number, info in enumerate(self._infos.values(), first)]
        return {"connections": rows, "forgotten": self._forgotten}

    def _row(self, number: int, info: ConnectionInfo) -> Row:
        problem = self._problems.get(info.id)
        told = {"reason": "", "sentence": ""}
        if problem is not None:
            told = {"reason": str(problem.reason), "sentence": problem.fact}
        return connection_row(number, info) | told
