"""Unusual facts about one direction of a connection: most directions have none."""

from typing import NamedTuple, NoReturn

from kdissect.model.anomaly import Anomaly
from kdissect.model.packets.packet import NEVER_NS
from kdissect.model.packets.stream import Hole
from kdissect.net.streams.recent import Delivered
from kdissect.net.streams.round_trips import DELAYS_KEPT, Delay

# Declared gaps stored to distinguish a segment that came too late from a retransmission.
RECENT_GAPS = 64
# Of these the last ones may be filled: around each of them a reader holds bytes.
FILLABLE_GAPS = 8
# Queues of one network card have capture buffers of their own: a batch passes within 1 ms (`Repair`).
_BATCH_NS = 1_000_000


class LatePart(NamedTuple):
    """Bytes of a gap that came after the gap was declared."""

    offset: int
    payload: bytes
    ref: int
    time_ns: int


class Gap:
    """Bytes from one stream offset to another that were declared lost, noted in `noted`.

    `hole` is the reader's while `parts` may fill it. They do not overlap and are in stream order.
    """

    __slots__ = ("end", "hole", "noted", "parts", "start")

    def __init__(self, start: int, end: int, noted: Anomaly) -> None:
        self.start = start
        self.end = end
        self.noted = noted
        self.hole: Hole | None = None
        self.parts: list[LatePart] = []


class Oddities:
    """State of a direction with problems. Only `Reassembly` and `Repair` change it.

    `out_of_order_segments` wait, by offset. `acked` is the highest offset the other side acknowledged beyond
    the delivered bytes, first at `acked_ns`. `waived` is an acknowledged offset for which the reader no
    longer waits. `wait_until`, `wait_packets` and `wait_time_ns` are the current grace (`Repair`). `resent`
    is the last segment that was sent again, `delays` are delays by such segments that no exchange has yet,
    `delayed_ns` is their total, the last one until `delayed_until_ns`. `after_ack` counts segments that the
    capture has long after their acknowledgment, `after_ack_ns` is the longest such time. The counters are
    fields of `Health`.
    """

    __slots__ = (
        "acked",
        "acked_ns",
        "after_ack",
        "after_ack_ns",
        "delayed_ns",
        "delayed_until_ns",
        "delays",
        "duplicates",
        "fin_id",
        "fin_time_ns",
        "gap_bytes",
        "gaps",
        "out_of_order",
        "out_of_order_bytes",
        "out_of_order_segments",
        "recent_gaps",
        "resent",
        "resets",
        "retransmissions",
        "snapped_bytes",
        "stray_count",
        "stray_next",
        "wait_packets",
        "wait_time_ns",
        "wait_until",
        "waived",
        "zero_windows",
    )

    def __init__(self) -> None:
        self.out_of_order_segments: list[OutOfOrderSegment] = []
        self.out_of_order_bytes = 0
        self.resent: Delivered | None = None
        # Lists: one that is empty takes 56 bytes, a deque 700, and each direction that ended has both.
        self.recent_gaps: list[Gap] = []
        self.delays: list[Delay] = []
        self.delayed_ns, self.delayed_until_ns = 0, NEVER_NS
        self.acked = self.waived = 0
        self.acked_ns = NEVER_NS
        self.after_ack = self.after_ack_ns = 0
        self.wait_until = self.wait_packets = self.wait_time_ns = 0
        self.stray_next, self.stray_count = -1, 0
        self.fin_id, self.fin_time_ns = 0, NEVER_NS  # not seen yet
        self.retransmissions = self.out_of_order = self.duplicates = 0
        self.zero_windows = self.resets = self.gaps = self.gap_bytes = self.snapped_bytes = 0

    def note_acked(self, reached: int, time_ns: int) -> None:
        """Note that the other side acknowledged up to an offset beyond what was delivered."""
        if reached > self.acked:
            self.acked, self.acked_ns = reached, time_ns

    def keep_gap(self, gap: Gap) -> Gap | None:
        """Store bytes that were declared lost. Return the gap that can be filled no more."""
        gaps = self.recent_gaps
        gaps.append(gap)
        if len(gaps) > RECENT_GAPS:
            del gaps[0]
        return gaps[-FILLABLE_GAPS - 1] if len(gaps) > FILLABLE_GAPS else None

    def came_after_ack(self, late_ns: int) -> None:
        """Count a segment that the capture has this long after the acknowledgment of its bytes."""
        if late_ns > _BATCH_NS:
            self.after_ack += 1
            self.after_ack_ns = max(self.after_ack_ns, late_ns)

    def keep_delay(self, delay: Delay) -> None:
        """Store a delay by a segment that was sent again."""
        self.delays.append(delay)
        if len(self.delays) > DELAYS_KEPT:
            del self.delays[0]


class _Nothing(Oddities):
    """State that all directions without problems share. It cannot be changed."""

    __slots__ = ("_is_made",)

    def __init__(self) -> None:
        super().__init__()
        self._is_made = True

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, "_is_made"):
            self._refuse()
        super().__setattr__(name, value)

    def _refuse(self) -> NoReturn:
        raise TypeError("shared by all directions without oddities")

    def __reduce__(self) -> str:
        return "NOTHING_ODD"


NOTHING_ODD: Oddities = _Nothing()


# A TCP segment on its way through reassembly.
class OutOfOrderSegment(NamedTuple):
    """A segment with bytes or a FIN, placed in its stream.

    It occupies `len(payload) + missing` bytes from stream offset `offset` on. `needs` is the offset its
    sender had received from the other direction when it sent it: it belongs after those bytes, at any
    position in the capture.
    """

    offset: int
    payload: bytes
    missing: int
    fin: bool
    needs: int
    ref: int
    time_ns: int
    ip_id: int

    @property
    def end(self) -> int:
        """Stream offset after its last byte."""
        return self.offset + len(self.payload) + self.missing
