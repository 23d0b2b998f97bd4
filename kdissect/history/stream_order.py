"""The canonical order of exchanges.

The analyzer reports an exchange when it is complete. Requests with acks=0 wait a moment, and unanswered ones
until the connection ends. `StreamOrder` returns the exchanges of one connection in the order of their
requests. Between connections the order is that of completion: while streaming that is the order in which the
analyzer reports, and a distributed run gets it by sorting with `engine.event_order`.
"""

from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL, Exchange

# Held while an earlier request of the connection is not reported yet. Beyond that the order of completion
# must do: a request that is never answered would hold back all that follow.
MAX_HELD = 1024
MAX_HELD_BYTES = 16 << 20


_NONE_HELD: dict[int, Exchange] = {}  # of all connections that hold none back


class StreamOrder:
    """Holds back the exchanges of one connection until all before them were seen."""

    __slots__ = ("_bytes", "_held", "_next")

    def __init__(self, due: int = 0) -> None:
        """Begin with the ordinal `due` of the first exchange."""
        self._held: dict[int, Exchange] = _NONE_HELD
        self._next = due
        self._bytes = 0

    def add(self, exchange: Exchange) -> list[Exchange]:
        """Take an exchange and return the exchanges whose turn it is.

        Orphan responses have no place: theirs is now.
        """
        ordinal = exchange.ordinal
        if ordinal >= FIRST_ORPHAN_ORDINAL or ordinal < self._next:
            return [exchange]  # `ordinal < next`: it came after the order was dropped
        if ordinal == self._next and not self._held:  # nearly always
            self._next += 1
            return [exchange]
        if not self._held:
            self._held = {}
        self._held[ordinal] = exchange
        self._bytes += _size(exchange)
        due = self._due()
        while self._held and (len(self._held) > MAX_HELD or self._bytes > MAX_HELD_BYTES):
            self._next = min(self._held)
            due += self._due()
        return due

    def is_next(self, exchange: Exchange) -> bool:
        """Return whether an exchange alone is next, as nearly all are, and consume it then.

        Otherwise: `add`.
        """
        if exchange.ordinal != self._next or self._held:
            return False
        self._next += 1
        return True

    @property
    def next_alone(self) -> int | None:
        """The ordinal that comes next; None while later exchanges are buffered."""
        return None if self._held else self._next

    def go_on(self, ordinal: int) -> None:
        """Continue at an ordinal: other code took the earlier exchanges, in their order."""
        self._next = ordinal

    def _due(self) -> list[Exchange]:
        due = []
        while self._next in self._held:
            exchange = self._held.pop(self._next)
            self._bytes -= _size(exchange)
            due.append(exchange)
            self._next += 1
        return due

    def flush(self) -> list[Exchange]:
        """End the connection and return all exchanges held, in order."""
        due = [self._held[ordinal] for ordinal in sorted(self._held)]
        self._held = _NONE_HELD
        self._bytes = 0
        return due


def _size(exchange: Exchange) -> int:
    return sum(len(frame.data) for frame in (exchange.request, exchange.response) if frame is not None)
