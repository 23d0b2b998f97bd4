"""Process, topology and statuses of members of streams groups, from their heartbeats (KIP-1071)."""

from __future__ import annotations

from kdissect.decoders.generated.values import sent
from kdissect.history.exchange_view import ExchangeView
from kdissect.stats.client import text_of

_STATUSES_KEPT = 100  # of one member, 200 bytes each
_DETAIL_KEPT = 200  # characters

StatusKey = tuple[int, str]
"""Code and detail, the broker's own words."""


class Status:
    """A status in the responses to a member: in how many, and when the first and the last was asked for."""

    __slots__ = ("count", "first_ns", "last_ns")

    def __init__(self, time_ns: int) -> None:
        self.count = 0
        self.first_ns = self.last_ns = time_ns


class StreamsLog:
    """One member. Its process and the epoch of its topology are None before it named them. `losses` are the
    places of its connection where bytes were lost.
    """

    __slots__ = ("losses", "process_id", "statuses", "topology_epoch")

    def __init__(self) -> None:
        self.losses = 0
        self.process_id: str | None = None
        self.topology_epoch: int | None = None
        self.statuses: dict[StatusKey, Status] = {}

    def beat(self, view: ExchangeView) -> None:
        """Take a heartbeat."""
        topology, process_id = sent(view.request, "topology", None), sent(view.request, "process_id", None)
        if topology is not None:
            self.topology_epoch = topology.epoch
        if process_id is not None:
            self.process_id = text_of(process_id)
        for row in sent(view.response, "status", None) or ():
            key = row.status_code, text_of(row.status_detail or "")[:_DETAIL_KEPT]
            if key not in self.statuses and len(self.statuses) >= _STATUSES_KEPT:
                continue
            found = self.statuses.setdefault(key, Status(view.sent_ns))
            found.count += 1
            found.last_ns = max(found.last_ns, view.sent_ns)
