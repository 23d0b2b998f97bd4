"""What all connections of an analysis hold together, counted."""

from kdissect.model.limits import Limits, in_force


class Store:
    """Counters that the connections of one analysis share; `limits` bound them (`model.limits`)."""

    __slots__ = ("frame_bytes", "limits", "parked_bytes", "pending_bytes", "pending_requests")

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = in_force() if limits is None else limits
        self.parked_bytes = 0
        self.frame_bytes = 0
        self.pending_bytes = 0
        self.pending_requests = 0
