"""What all connections of an analysis hold together, counted."""

from __future__ import annotations

from kdissect.model.limits import Limits, in_force
from kdissect.model.native import Pickled, is_compiled, native


class _State:
    """What `native.StoreState` holds."""

    __slots__ = ("frame_bytes", "limits", "parked_bytes", "pending_bytes", "pending_requests")


_FIELDS = _State.__slots__
if is_compiled:  # it has the same: tests/native/test_stub.py
    _State = native.StoreState  # type: ignore[assignment, misc]


class Store(_State, Pickled):
    """Counters that the connections of one analysis share; `limits` bound them (`model.limits`)."""

    __slots__ = ()
    FIELDS = _FIELDS

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = in_force() if limits is None else limits
        self.parked_bytes = 0
        self.frame_bytes = 0
        self.pending_bytes = 0
        self.pending_requests = 0
