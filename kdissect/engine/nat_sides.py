"""Connections that are there twice because a NAT was captured on both of its sides, known by their SYN.

Rules:
- A NAT forwards a SYN with another address and leaves its sequence number, window and IP identification as
  they were (netfilter: addresses, ports and checksums change). Two SYNs of different flows are one if they
  have all three in common, one end in common, and other hosts at the other end, and are at most `NEAR_NS`
  apart. If no end is common the identification must not be 0, which some systems give all SYNs.
- The side that comes first in canonical order is counted, the others name it (`ConnectionInfo.same_as`).
- Small and round numbers come from tools that write packets: they prove no match. Real numbers are random
  (RFC 9293 section 3.4.1): among N connections to one end within `NEAR_NS`, two are equal by chance once in
  2^32 / N.
- A side whose SYN was not captured is not recognized, and neither is one beyond a device that changes
  sequence numbers or IP identifications, or ports alone: both sides count.
"""

from __future__ import annotations

from collections import deque

from kdissect.model.packets.segment import PlainSegment, flow_endpoints
from kdissect.net.streams.sequence import SMALL
from kdissect.session.info import connection_id

# A packet passes a NAT within microseconds. Two hosts that capture a side each have clocks that differ.
NEAR_NS = 1_000_000_000
# A SYN is sent again after 1, 3, 7 and 15 s (RFC 6298 section 5: doubled each time), and is still the first.
KEPT_NS = 32_000_000_000
# SYNs that are remembered, and sides that were recognised, some 300 bytes each.
MAX_SYNS = 20_000
MAX_SIDES = 100_000
_ROUND = 1000

Root = tuple[str, str]
"""The connection that counts, and its capture set."""


ROOT = -2
"""In the place of bytes that a snap length cut, of what is no segment (as `model.packets.process`)."""


def as_segment(flow: bytes, seq: int, root: Root) -> PlainSegment:
    """Return a pseudo segment that precedes a SYN for a reader of one flow's segments; `root` is in the same
    set.
    """
    return flow, seq, 0, 0, 0, root[0].encode(), ROOT, 0


_Syn = tuple[str, bytes, int, int, int, int]
"""Capture set, flow, times of the first SYN and of the last one, window, IP identification.

No class: the collector of cycles looks at each instance of one, and not at a tuple of such values.
"""


class NatSides:
    """Remembers SYNs of all capture sets in canonical order."""

    def __init__(self) -> None:
        self._first: dict[int, _Syn] = {}
        """The first SYN of a sequence number."""
        self._order: deque[int] = deque()
        """These sequence numbers."""
        self._roots: dict[tuple[str, bytes, int], Root] = {}

    def see(self, capture_set: str, flow: bytes, seq: int, window: int, ip_id: int, time_ns: int) -> None:
        """Take the next SYN without ACK, in its sender's flow."""
        # Hot, once a SYN: a flood has a million of them.
        first = self._first.get(seq)
        if first is not None:
            self._compare(first, (capture_set, flow, time_ns, time_ns, window, ip_id), seq)
        elif seq >= SMALL and seq % _ROUND:
            self._first[seq] = capture_set, flow, time_ns, time_ns, window, ip_id
            order = self._order
            order.append(seq)
            while len(order) > MAX_SYNS or time_ns - self._first[order[0]][2] > KEPT_NS:
                del self._first[order.popleft()]

    def _compare(self, first: _Syn, syn: _Syn, seq: int) -> None:
        capture_set, flow, start_ns, *_ = first
        if syn[1] != flow:
            if _are_one(first, syn):
                self._note((syn[0], syn[1], seq), (connection_id(flow, capture_set, start_ns), capture_set))
        elif syn[0] == capture_set:
            # It was sent again, and has the time and identification that the other side may see.
            self._first[seq] = capture_set, flow, start_ns, *syn[3:]

    def tell(self, capture_set: str, told: PlainSegment) -> None:
        """Take what `as_segment` has of a SYN that comes next, from who saw the SYNs of all flows."""
        self._note((capture_set, told[0], told[1]), (told[5].decode(), capture_set))

    def _note(self, side: tuple[str, bytes, int], root: Root) -> None:
        while len(self._roots) >= MAX_SIDES:
            del self._roots[next(iter(self._roots))]
        self._roots.setdefault(side, root)

    def root(self, capture_set: str, flow: bytes, seq: int) -> Root | None:
        """Return the connection that counts instead of one that begins with a SYN; None if this one
        counts.
        """
        return self._roots.get((capture_set, flow, seq)) if self._roots else None


def is_random(seq: int) -> bool:
    """Return whether a first sequence number may be random."""
    return seq >= SMALL and seq % _ROUND != 0


def _are_one(first: _Syn, syn: _Syn) -> bool:
    """Return whether two SYNs with the same sequence number and different flows are one."""
    _, flow, _, last_ns, *marks = first
    _, other, _, other_ns, *other_marks = syn
    if marks != other_marks or abs(other_ns - last_ns) > NEAR_NS:
        return False
    (client, broker), (other_client, other_broker) = flow_endpoints(flow), flow_endpoints(other)
    if client == other_client:
        return broker.host != other_broker.host
    if broker == other_broker:
        return client.host != other_client.host
    return marks[1] > 0 and client.host != other_client.host and broker.host != other_broker.host
