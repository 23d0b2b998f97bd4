"""Ends that speak Kafka: the proof of one connection holds for all connections of its capture set.

Rules:
- An end is an address and port, in one capture set. If connections to it were proven to be Kafka by their
  bytes, one that failed is judged as Kafka too: its first frame is broken, and that is a finding.
- A proof may come later than the connection that needs it. It is searched once in all of the inputs, if they
  can be read again (`rescan`): that costs a second pass, and only for captures with an undecided connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kdissect.model.endpoint import Endpoint

if TYPE_CHECKING:
    from kdissect.session.info import ConnectionInfo

# Ends that are remembered, of about 300 bytes each. A cluster has some hundred brokers.
MAX_ENDS = 10_000

End = tuple[str, Endpoint]
"""Name of the capture set, address and port."""
Rescan = Callable[[], Iterable[End]]


class Brokers:
    """Proven ends. `known` are proven beforehand. `rescan` returns the proven ends of all inputs."""

    def __init__(self, known: Iterable[End] = (), rescan: Rescan | None = None) -> None:
        self.proven: set[End] = set(known)
        self.asked: set[End] = set()
        """Ends that were looked up and are not proven."""
        self._rescan = rescan

    def forget_rescan(self) -> None:
        """Know no more than what comes."""
        self._rescan = None

    def prove(self, info: ConnectionInfo) -> None:
        """Note that the bytes of a connection prove Kafka."""
        if len(self.proven) < MAX_ENDS:
            self.proven.add((info.capture_set, info.broker))

    def client_of(self, info: ConnectionInfo, is_sure: bool) -> int | None:
        """Return the direction of the client in a connection with a proven end, or None if neither end is
        proven.

        `is_sure`: the end that accepted the connection is known, so that only it can be the broker.
        """
        if self._is_proven(info, info.broker):
            return info.client_direction
        if not is_sure and self._is_proven(info, info.client):
            return 1 - info.client_direction
        return None

    def _is_proven(self, info: ConnectionInfo, end: Endpoint) -> bool:
        place = info.capture_set, end
        if place not in self.proven and self._rescan is not None:
            rescan, self._rescan = self._rescan, None
            self.proven.update(rescan())
        if place in self.proven:
            return True
        if len(self.asked) < MAX_ENDS:
            self.asked.add(place)
        return False
