"""SYNs of a file: the other side of a NAT may be in another file (`engine.nat_sides`).

- A rotation may separate the SYNs of two sides. All shards of the set get the SYNs at the borders of files.
- Another capture set may have the other side. The process that commits batches gets all SYNs
  (`streaming.known_nat_sides`).
"""

from collections.abc import Iterable
from typing import NamedTuple

from kdissect.engine.nat_sides import NatSides, as_segment
from kdissect.model.packets.segment import PlainSegment

MAX_BORDER_SYNS = 2_000  # of a file, at its beginning and at its end; 100 bytes each
MAX_FILE_SYNS = 20_000  # the newest ones of a file


class FileSyn(NamedTuple):
    """A SYN without ACK. `order_ns` and `ref` give its place in the canonical order of its capture set."""

    order_ns: int
    ref: int
    time_ns: int
    flow: bytes
    seq: int
    window: int
    ip_id: int


def sides_of_files(capture_set: str, syns: Iterable[FileSyn]) -> dict[bytes, list[PlainSegment]]:
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
