"""What all connections of an analysis hold together, counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kdissect.model.limits import Limits, in_force
from kdissect.model.native import is_compiled, native


class Counts(Protocol):
    """Of what waits in all connections, be they in Python or lent to the compiled engine."""

    frame_bytes: int
    """Of large frames under way."""
    pending_bytes: int
    """Of requests that wait for their answer."""
    pending_requests: int
    connections: int
    """That are open."""


class PythonCounts:
    """The counts where nothing is lent."""

    __slots__ = ("connections", "frame_bytes", "pending_bytes", "pending_requests")

    def __init__(self) -> None:
        self.connections = self.frame_bytes = self.pending_bytes = self.pending_requests = 0


class Store:
    """Counters that the connections of one analysis share; `limits` bound them (`model.limits`).

    `counts` are those that the compiled engine changes as well; `engine` has the connections that are lent to
    it (`session.handover`). Pickled it is the same with and without. `torn_bytes` are held around gaps that
    may yet be filled: as many as may wait out of order.
    """

    __slots__ = ("counts", "engine", "limits", "out_of_order_bytes", "torn_bytes")

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = in_force() if limits is None else limits
        self.out_of_order_bytes = self.torn_bytes = 0
        self.counts: Counts = native.Counts() if is_compiled else PythonCounts()
        self.engine: native.Engine | None = None

    @property
    def has_room_for_torn(self) -> bool:
        """Whether more may be held around gaps."""
        return self.torn_bytes <= self.limits.out_of_order_bytes

    def __reduce__(self) -> tuple[Callable[..., Store], tuple[Limits, int, int, tuple[int, ...]]]:
        return _store_of, (
            self.limits,
            self.out_of_order_bytes,
            self.torn_bytes,
            tuple(getattr(self.counts, name) for name in _NAMES),
        )


_NAMES = tuple(Counts.__annotations__)


def _store_of(limits: Limits, out_of_order_bytes: int, torn_bytes: int, counts: tuple[int, ...]) -> Store:
    store = Store(limits)
    store.out_of_order_bytes, store.torn_bytes = out_of_order_bytes, torn_bytes
    for name, count in zip(_NAMES, counts, strict=True):
        setattr(store.counts, name, count)
    return store
