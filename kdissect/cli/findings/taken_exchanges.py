"""Which exchanges a test took, for what comes later and speaks of them."""

from collections.abc import Callable

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
