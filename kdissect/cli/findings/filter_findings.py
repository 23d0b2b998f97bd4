"""Findings about the exchanges that a filter takes."""

from __future__ import annotations

from collections.abc import Callable

from kdissect.model.finding import Finding
from kdissect.rules.findings import FindingLog, Key
from kdissect.rules.rule import Rule
from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL, Exchange

Test = Callable[[Exchange], bool]


class TakenExchanges:
    """Remembers which exchanges a test took: a byte for each exchange of the connections that are open."""

    def __init__(self, test: Test) -> None:
        self._test = test
        self._requests: dict[str, bytearray] = {}
        self._orphans: dict[str, bytearray] = {}

    def add(self, exchange: Exchange) -> None:
        """Ask the test."""
        if not self._test(exchange):
            return
        table, index = self._place(exchange.ordinal)
        marks = table.setdefault(exchange.connection.id, bytearray())
        if len(marks) <= index:
            marks.extend(bytes(index + 1 - len(marks)))
        marks[index] = 1

    def forget(self, connection: str) -> None:
        """The connection is over."""
        self._requests.pop(connection, None)
        self._orphans.pop(connection, None)

    def holds(self, connection: str, ordinal: int) -> bool:
        """Whether the test took an exchange; -1: any of the connection."""
        if ordinal < 0:
            return connection in self._requests or connection in self._orphans
        table, index = self._place(ordinal)
        marks = table.get(connection, b"")
        return index < len(marks) and bool(marks[index])

    def _place(self, ordinal: int) -> tuple[dict[str, bytearray], int]:
        if ordinal < FIRST_ORPHAN_ORDINAL:
            return self._requests, ordinal
        return self._orphans, ordinal - FIRST_ORPHAN_ORDINAL


class TakenFindings(FindingLog):
    """Keeps findings about exchanges that were taken, and about connections of which one was."""

    def __init__(self, taken: TakenExchanges) -> None:
        super().__init__()
        self._taken = taken

    def repeats(self, key: Key, time_ns: int) -> bool:
        """Each one is looked at."""
        return False

    def add(self, rule: Rule, finding: Finding) -> None:
        """Take a finding, or not."""
        if self._taken.holds(finding.place.connection, finding.place.exchange):
            super().add(rule, finding)
