"""What changes with every segment of a direction.

The compiled hot path has a counterpart of it: `Reassembly` is made of the one that is there.
"""

from collections import deque

from kdissect.model.native import is_compiled, native
from kdissect.model.packets.packet import NEVER_NS
from kdissect.net.recent import NONE_YET, RECENT_BYTES, RECENT_SEGMENTS, Recent


class StreamState:
    """What the fast path of a direction reads and writes.

    `next_seq` is the sequence number of the next byte, -1 while there is no start and after the end, so that
    nothing else need be compared; `offset` is its stream offset. `recent` is what was delivered last, due for
    trimming when `offset` passes `trim_at`. `packets` counts those of this direction. `start_seq` is the
    number of its first byte (-1: not known); `syn_id` and `syn_time_ns` are those of the packet with its SYN.
    """

    __slots__ = ("next_seq", "offset", "packets", "recent", "start_seq", "syn_id", "syn_time_ns", "trim_at")

    def __init__(self) -> None:
        self.next_seq = -1
        self.offset = self.packets = 0
        self.recent: Recent = NONE_YET
        self.trim_at = 2 * RECENT_BYTES
        self.start_seq = -1
        self.syn_id, self.syn_time_ns = 0, NEVER_NS  # not seen yet

    def remember(self) -> None:
        """Keep what is delivered from here on, for comparing; due before the first byte."""
        if not self.recent.maxlen:
            self.recent = deque(maxlen=RECENT_SEGMENTS)

    def trim(self) -> None:
        """Forget old payloads; due when `offset` passes `trim_at`."""
        forget_before(self.recent, self.offset - RECENT_BYTES)
        self.trim_at = self.offset + RECENT_BYTES


def forget_before(recent: Recent, keep_from: int) -> None:
    """Forget the segments that end at this offset or before."""
    while recent and recent[0][0] + len(recent[0][1]) <= keep_from:
        recent.popleft()


STREAM_FIELDS = StreamState.__slots__
if is_compiled:  # it has the same: tests/native/test_stub.py
    StreamState = native.StreamState  # type: ignore[assignment, misc]
