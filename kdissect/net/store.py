"""What all connections of an analysis hold together, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdissect.model.limits import Limits, in_force
from kdissect.model.native import Pickled, native


class _Fields:
    """What `native.StoreState` holds."""

    __slots__ = ("frame_bytes", "limits", "parked_bytes", "pending_bytes", "pending_requests")


if TYPE_CHECKING:
    _State = _Fields
else:
    _State = _Fields if native is None else native.StoreState


class Store(_State, Pickled):
    """Counters that the connections of one analysis share; `limits` bound them (`model.limits`)."""

    __slots__ = ()
    FIELDS = _Fields.__slots__

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = in_force() if limits is None else limits
        self.parked_bytes = 0
        self.frame_bytes = 0
        self.pending_bytes = 0
        self.pending_requests = 0
