"""SYNs at the borders of files: a rotation may separate the SYNs of a NAT's two sides
(`engine.nat_sides`).
"""

from collections.abc import Iterable
from typing import NamedTuple

from kdissect.engine.nat_sides import NatSides, as_segment
from kdissect.model.packets.segment import PlainSegment

MAX_BORDER_SYNS = 2_000  # of a file, at its beginning and at its end; 100 bytes each


class BorderSyn(NamedTuple):
    """A SYN at the beginning or the end of a file, whose other side may be in the file before or after.

    `order_ns` and `ref` give its place in canonical order.
    """

    order_ns: int
    ref: int
    time_ns: int
    flow: bytes
    seq: int
    window: int
    ip_id: int


def sides_of_files(capture_set: str, syns: Iterable[BorderSyn]) -> dict[bytes, list[PlainSegment]]:
    """Return the segments that precede flows with another side, by the flow of their sender.

    Takes SYNs from several files of a capture set.
    """
    sides, found = NatSides(), dict[bytes, list[PlainSegment]]()
    for syn in sorted(set(syns)):
        sides.see(capture_set, syn.flow, syn.seq, syn.window, syn.ip_id, syn.time_ns)
        root = sides.root(capture_set, syn.flow, syn.seq)
        if root is not None:
            found.setdefault(syn.flow, []).append(as_segment(syn.flow, syn.seq, root))
    return found
