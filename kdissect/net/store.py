"""Counts of the data that all connections of an analysis store together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kdissect.model.limits import Limits, in_force
from kdissect.model.native import is_compiled, native


class Counts(Protocol):
    """Counts of waiting data in all connections, in Python or native-owned."""

    frame_bytes: int
    """Of large frames that are incomplete."""
    pending_bytes: int
    """Of requests that wait for their answer."""
    pending_requests: int
    connections: int
    """Open connections."""


class PythonCounts:
    """The counts without native-owned connections."""

    __slots__ = ("connections", "frame_bytes", "pending_bytes", "pending_requests")

    def __init__(self) -> None:
        self.connections = self.frame_bytes = self.pending_bytes = self.pending_requests = 0


class Store:
    """Counters that the connections of one analysis share. `limits` bound them (`model.limits`).

    The native engine changes `counts` as well. `engine` has the native-owned connections
    (`session.handover`). The pickle is equal with and without an engine. `torn_bytes` counts bytes stored
    around gaps that may yet be filled. The bound for bytes out of order applies to them.
    """

    __slots__ = ("counts", "engine", "limits", "out_of_order_bytes", "torn_bytes")

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = in_force() if limits is None else limits
        self.out_of_order_bytes = self.torn_bytes = 0
        self.counts: Counts = native.Counts() if is_compiled else PythonCounts()
        self.engine: native.Engine | None = None

    @property
    def has_room_for_torn(self) -> bool:
        """Whether the bound allows more bytes around gaps."""
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
