"""One direction of a TCP connection: segments in any order become bytes in stream order.

A stream offset counts from the first byte after the SYN, or from the first byte seen if the capture starts in
the middle. The sequence number of offset `o` is `(start_seq + o) mod 2**32`.
"""

from bisect import bisect_left, insort
from operator import attrgetter
from typing import NamedTuple, Self

from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.packets.packet import NEVER_NS
from kdissect.model.packets.stream import CloseKind, Filling, StreamSink
from kdissect.model.wording import plural
from kdissect.net.anomaly_log import AnomalyLog
from kdissect.net.store import Store
from kdissect.net.streams.oddities import NOTHING_ODD, Gap, LatePart, Oddities, OutOfOrderSegment
from kdissect.net.streams.recent import (
    RECENT_BYTES,
    RECENT_SEGMENTS,
    Recent,
    first_difference,
    holds_copy,
    is_copy,
)
from kdissect.net.streams.round_trips import AckState, AckTimes, Delay
from kdissect.net.streams.sequence import MASK, add, distance

# OutOfOrderSegment segments compared with a new one for the same place: one is usual, a few differ in length.
OUT_OF_ORDER_COPIES = 4
# The largest window limits how far ahead a segment may be, RFC 7323 section 2.3.
PLAUSIBLE_AHEAD = 1 << 30
# A retransmission is not older than what any real host keeps unacknowledged.
PLAUSIBLE_BEHIND = 1 << 28
# This number of contiguous segments beyond both means that the capture lost gigabytes, not that a packet is
# broken.
STRAYS_BELIEVED = 4
# A segment that fills a hole this soon was overtaken, a later one was sent again: Wireshark's threshold too.
REORDER_WINDOW_NS = 3_000_000
# Bytes of a longer gap are not collected when they come late: a packet has 64 KiB at most, and a queue
# of a card gives some of them at once.
FILLABLE_BYTES = 1 << 20

_by_offset = attrgetter("offset")
_NOTHING: Recent = []  # of all that do not remember


# TCP health of one direction.
class Health(NamedTuple):
    """Counters of one direction. They describe its sender's packets.

    `bytes` counts stream bytes captured and delivered, each once. `retransmissions` are segments with bytes
    seen before (keep-alives and copies left out), `out_of_order` are segments overtaken by a later one,
    `duplicates` are copies of one packet captured twice. `zero_windows` counts packets that closed the
    receive window, `resets` packets with RST. `gaps` are holes of together `gap_bytes` bytes the capture
    never saw, `snapped_bytes` are bytes that a snap length cut.
    """

    packets: int = 0
    bytes: int = 0
    retransmissions: int = 0
    out_of_order: int = 0
    duplicates: int = 0
    zero_windows: int = 0
    resets: int = 0
    gaps: int = 0
    gap_bytes: int = 0
    snapped_bytes: int = 0


class StreamState(NamedTuple):
    """State of a direction for the native engine: the attributes of `Reassembly` with these names."""

    next_seq: int
    offset: int
    packets: int
    trim_at: int
    start_seq: int
    syn_id: int
    syn_time_ns: int
    recent: Recent
    acks: AckState


class Reassembly:
    """State of one direction. `TcpConnection` alone drives it and reads its attributes.

    `next_seq` is the sequence number of the next byte, -1 while there is no start and after the end, so that
    one comparison is enough. `offset` is its stream offset. `recent` is the data delivered last, due for
    trimming when `offset` passes `trim_at`. `packets` counts the packets of this direction. `start_seq` is
    the number of its first byte (-1: not known). `syn_id` and `syn_time_ns` are of the packet with its SYN.
    `acks` times the other side's acknowledgments of it. A direction that does not remember counts copies as
    retransmissions and compares no bytes. Unusual facts are in `odd`: all directions without any share it,
    and only `oddities` changes it.
    """

    __slots__ = (
        "_log",
        "acks",
        "ended",
        "next_seq",
        "odd",
        "offset",
        "opened",
        "packets",
        "recent",
        "sink",
        "start_seq",
        "store",
        "syn_id",
        "syn_time_ns",
        "trim_at",
    )

    def __init__(self, sink: StreamSink, log: AnomalyLog, store: Store, remembers: bool = True) -> None:
        self.sink = sink
        self.store = store
        self._log = log
        self.opened = self.ended = False
        self.odd = NOTHING_ODD
        self.next_seq = self.start_seq = -1
        self.offset = self.packets = 0
        self.recent: Recent = [] if remembers else _NOTHING
        self.trim_at = 2 * RECENT_BYTES
        self.syn_id, self.syn_time_ns = 0, NEVER_NS  # not seen yet
        self.acks = AckTimes()

    def state(self) -> StreamState:
        """Return the state for the native engine."""
        return StreamState(
            self.next_seq, self.offset, self.packets, self.trim_at, self.start_seq, self.syn_id,
            self.syn_time_ns, self.recent, self.acks.state(),
        )  # fmt: skip

    def take_over(self, state: StreamState) -> None:
        """Go on from the native engine's position."""
        (
            self.next_seq, self.offset, self.packets, self.trim_at, self.start_seq, self.syn_id,
            self.syn_time_ns, self.recent, acks,
        ) = state  # fmt: skip
        self.acks.take_over(acks)

    def take(self, payload: bytes, ip_id: int, time_ns: int) -> None:
        """Go on by bytes that follow, and remember them."""
        recent = self.recent
        if recent is not _NOTHING:
            recent.append((self.offset, payload, ip_id, time_ns))
            if len(recent) > RECENT_SEGMENTS:
                del recent[0]
        self._advance(len(payload))

    def oddities(self) -> Oddities:
        """Return the unusual facts of the direction, to be changed."""
        if self.odd is NOTHING_ODD:
            self.odd = Oddities()
        return self.odd

    def health(self) -> Health:
        """Return counters so far."""
        odd = self.odd
        return Health(
            packets=self.packets,
            bytes=self.offset - odd.gap_bytes - odd.snapped_bytes,
            retransmissions=odd.retransmissions,
            out_of_order=odd.out_of_order,
            duplicates=odd.duplicates,
            zero_windows=odd.zero_windows,
            resets=odd.resets,
            gaps=odd.gaps,
            gap_bytes=odd.gap_bytes,
            snapped_bytes=odd.snapped_bytes,
        )

    @property
    def captured_end(self) -> int:
        """Stream offset after the last captured bytes."""
        odd = self.odd
        if odd.out_of_order_segments:
            return odd.out_of_order_segments[-1].end
        end = self.offset
        for gap in reversed(odd.recent_gaps):
            if gap.end != end:
                break
            end = gap.start
        return end

    @property
    def acked_unseen(self) -> int:
        """Sequence numbers that the other side acknowledged beyond the last bytes that were captured.

        Exactly one is the FIN: Kafka and TLS send more bytes than one. More may include it or not.
        """
        return max(0, self.odd.acked - self.captured_end)

    def acknowledge_end(self, ack: int, time_ns: int) -> None:
        """Note what a RST acknowledges beyond the captured bytes: the FIN alone, or bytes that may include
        it.
        """
        end = self.captured_end
        beyond = distance(ack, add(self.start_seq, end))
        if self.start_seq >= 0 and not self.ended and 0 < beyond < PLAUSIBLE_AHEAD:
            odd = self.oddities()
            odd.note_acked(end + beyond, time_ns)
            odd.waived = max(odd.waived, odd.acked)  # the connection is over: nothing waits for the FIN

    def start(self, seq: int) -> None:
        """Stream offset 0 has this sequence number."""
        self.start_seq = seq
        self.next_seq = -1 if self.ended else seq

    def reopen(self, seq: int) -> None:
        """Open the stream with a SYN before any byte. A second SYN with another number replaces the first."""
        self.start(seq)
        self._clear_out_of_order()
        if self.odd is not NOTHING_ODD:
            self.odd.acked = self.odd.waived = self.odd.wait_until = 0
        if not self.opened:
            self.opened = True
            self.sink.opened()

    def miss_beginning(self, length: int, ref: int, time_ns: int) -> None:
        """Count a SYN that was captured after data: `length` bytes between it and the data were not
        delivered.
        """
        odd = self.oddities()
        odd.gaps += 1  # not their bytes: `offset` is without them
        detail = f"{plural(length, 'byte')} at the beginning of the stream were not captured in time"
        self._log.note(AnomalyKind.GAP, detail, ref, time_ns)

    def count_syn_again(self, ip_id: int, time_ns: int) -> None:
        """Count a SYN with the number of this stream: a copy, a retransmission, or the first one after
        data.
        """
        if self.syn_time_ns == NEVER_NS:
            return
        copied = is_copy(ip_id, time_ns, self.syn_id, self.syn_time_ns)
        odd = self.oddities()
        odd.duplicates += copied
        odd.retransmissions += not copied
        if not copied:
            self.acks.sent_again()
            if self.offset:  # who has sent data does not open the connection again
                odd.came_after_ack(time_ns - self.syn_time_ns)

    def finish(self, how: CloseKind, ref: int, time_ns: int) -> None:
        """End the stream, and the sink the first time."""
        if self.ended:
            return
        self.ended = True
        self.next_seq = -1
        self._clear_out_of_order()
        self.recent.clear()
        if self.odd is not NOTHING_ODD:
            self.odd.resent = None
            for gap in self.odd.recent_gaps:
                self._close_gap(gap)
        self.sink.end(how, ref, time_ns)

    def _clear_out_of_order(self) -> None:
        if self.odd.out_of_order_segments:
            self.odd.out_of_order_segments.clear()
            self._count_out_of_order(-self.odd.out_of_order_bytes)

    def _count_out_of_order(self, change: int) -> None:
        self.odd.out_of_order_bytes += change
        self.store.out_of_order_bytes += change

    def is_held(self, segment: OutOfOrderSegment, peer: Self) -> bool:
        """Return whether a segment must wait for bytes of the other direction that its sender had before."""
        return segment.needs > peer.offset and segment.needs > peer.odd.waived and not peer.ended

    def accept(self, segment: OutOfOrderSegment, peer: Self) -> None:
        """Take a segment the fast path did not: deliver it, park it, or see what is old about it."""
        ahead = segment.offset - self.offset
        if ahead >= 0 and self.odd.wait_until and segment.end <= self.odd.wait_until:
            self.odd.came_after_ack(segment.time_ns - self.odd.wait_time_ns)
        if self.ended:
            self._note_after_end(segment)
        elif not -PLAUSIBLE_BEHIND < ahead < PLAUSIBLE_AHEAD:
            self._stray(segment)
        elif ahead < 0 and segment.end <= self.offset and not (segment.fin and segment.end == self.offset):
            self._old(segment)
        elif not ahead and not self.odd.out_of_order_segments and not self.is_held(segment, peer):
            self.deliver(segment)
        else:
            self._park(segment)

    def drain(self, peer: Self) -> bool:
        """Deliver what waits with no hole before it and no wait for `peer`; whether there was any."""
        delivered = False
        waiting = self.odd.out_of_order_segments
        while waiting and waiting[0].offset <= self.offset and not self.is_held(waiting[0], peer):
            segment = waiting.pop(0)
            self._count_out_of_order(-len(segment.payload))
            self.deliver(segment)
            delivered = True
        return delivered

    def deliver(self, segment: OutOfOrderSegment) -> None:
        """Hand the new part of a segment to the sink. It does not start beyond `offset`."""
        start, payload, missing, fin, _, ref, time_ns, ip_id = segment
        known = self.offset - start
        if known > 0:
            self._fill(segment)
            self.oddities().retransmissions += start >= 0
            self.acks.sent_again()
            self._compare(segment)
            missing -= max(0, known - len(payload))
            payload = payload[known:]
        if payload:
            self.take(payload, ip_id, time_ns)
            self.sink.data(payload, ref, time_ns)
        if missing > 0:
            self._advance(missing)
            self.oddities().snapped_bytes += missing
            self.sink.gap(missing, True, ref, time_ns)
        if fin:
            odd = self.oddities()
            odd.fin_id, odd.fin_time_ns = ip_id, time_ns
            self.finish(CloseKind.FIN, ref, time_ns)

    def skip(self, length: int, ref: int, time_ns: int) -> None:
        """Declare the next `length` bytes lost."""
        odd = self.oddities()
        detail = f"{plural(length, 'byte was', 'bytes were')} not captured"
        gap = Gap(self.offset, self.offset + length, Anomaly(AnomalyKind.GAP, detail, ref, time_ns))
        given_up = odd.keep_gap(gap)
        if given_up is not None:
            self._close_gap(given_up)
        self._advance(length)
        odd.gaps += 1
        odd.gap_bytes += length
        self._log.note(AnomalyKind.GAP, detail, ref, time_ns)
        gap.hole = self.sink.gap(length, False, ref, time_ns, can_fill=True)

    def _advance(self, length: int) -> None:
        self.offset += length
        self.next_seq = (self.start_seq + self.offset) & MASK
        if self.offset > self.trim_at:
            self._trim()

    def _trim(self) -> None:
        """Forget old payloads."""
        recent, keep_from = self.recent, self.offset - RECENT_BYTES
        while recent and recent[0][0] + len(recent[0][1]) <= keep_from:
            del recent[0]
        self.trim_at = self.offset + RECENT_BYTES

    def _park(self, segment: OutOfOrderSegment) -> None:
        odd = self.oddities()
        waiting = odd.out_of_order_segments
        copy = self._out_of_order_copy(segment)
        if copy is not None:
            self._count_repeat(is_copy(segment.ip_id, segment.time_ns, copy.ip_id, copy.time_ns), segment)
            return
        if waiting and segment.offset < waiting[-1].offset:
            # A segment that had arrived already, as an acknowledgment shows, was captured late and caused no
            # delay.
            is_late = segment.end <= odd.acked
            overtaken = is_late or segment.time_ns - waiting[-1].time_ns <= REORDER_WINDOW_NS
            odd.out_of_order += overtaken
            odd.retransmissions += not overtaken
            if not overtaken:  # the bytes after the hole came first, and waited for it
                self._delayed(waiting[0].time_ns, segment.time_ns)
        insort(waiting, segment, key=_by_offset)
        self._count_out_of_order(len(segment.payload))

    def _out_of_order_copy(self, segment: OutOfOrderSegment) -> OutOfOrderSegment | None:
        waiting = self.odd.out_of_order_segments
        at = bisect_left(waiting, segment.offset, key=_by_offset)
        for other in waiting[at : at + OUT_OF_ORDER_COPIES]:
            if (other.offset, other.payload, other.fin) == (segment.offset, segment.payload, segment.fin):
                return other
        return None

    def _old(self, segment: OutOfOrderSegment) -> None:
        if segment.offset < 0:  # sent before the capture's first segment
            return
        if segment.end - segment.offset <= 1 and segment.end == self.offset:
            return  # a keep-alive: at most one byte of garbage before the next, RFC 9293 section 3.8.4
        copied = self._is_copy(segment)
        if not copied and self._fill(segment):
            return
        self._count_repeat(copied, segment)
        if not copied:
            self._sent_again(segment)
            self.oddities().resent = (segment.offset, segment.payload, segment.ip_id, segment.time_ns)
            self._compare(segment)

    # gaps

    def _fill(self, segment: OutOfOrderSegment) -> bool:
        """Return whether bytes of the segment belong into gaps. Put back bytes that fill a gap, and note
        dropped bytes.
        """
        gaps = self.odd.recent_gaps
        torn = [gap for gap in gaps if gap.start < segment.end and segment.offset < gap.end]
        dropped = 0
        if torn:
            self.odd.came_after_ack(segment.time_ns - torn[0].noted.time_ns)
        for gap in torn:
            low, high = max(gap.start, segment.offset), min(gap.end, segment.end)
            payload = segment.payload[low - segment.offset : high - segment.offset]
            part = LatePart(low, payload, segment.ref, segment.time_ns)
            if len(payload) < high - low or not self._collect(gap, part):
                dropped += len(payload)
        if dropped:
            self._note_late(dropped, segment.ref, segment.time_ns)
        return bool(torn)

    def _note_late(self, count: int, ref: int, time_ns: int) -> None:
        detail = f"{plural(count, 'byte')} came after the gap was closed"
        self._log.note(AnomalyKind.LATE_SEGMENT, detail, ref, time_ns)

    def _collect(self, gap: Gap, part: LatePart) -> bool:
        """Keep bytes of a gap, and give all of them to the reader once they are there; False: drop these."""
        if gap.hole is None or gap.end - gap.start > FILLABLE_BYTES or not self.store.has_room_for_torn:
            return False
        end = part.offset + len(part.payload)
        parts = gap.parts
        if any(one.offset < end and part.offset < one.offset + len(one.payload) for one in parts):
            return False
        insort(parts, part, key=_by_offset)
        self.store.torn_bytes += len(part.payload)
        if sum(len(one.payload) for one in parts) < gap.end - gap.start:
            return True
        filling = self.sink.fill(gap.hole, [one[1:] for one in parts])
        if filling is Filling.DROPPED:
            parts.remove(part)
            self.store.torn_bytes -= len(part.payload)
            self._close_gap(gap)
            return False
        if filling is Filling.PUT_BACK:
            for one in [one for one in self.odd.recent_gaps if one.hole is not None and one.hole.is_filled]:
                self._put_back(one)
        return True

    def _put_back(self, gap: Gap) -> None:
        """Retract a gap whose bytes the reader now has."""
        odd, length = self.odd, gap.end - gap.start
        odd.recent_gaps.remove(gap)
        odd.gaps -= 1
        odd.gap_bytes -= length
        odd.out_of_order += len(gap.parts)
        self.store.torn_bytes -= length
        self._log.retract(gap.noted)
        *_, (_, _, ref, time_ns) = gap.parts
        detail = f"{plural(length, 'byte')} came after the gap was closed, and were put back"
        self._log.note(AnomalyKind.LATE_SEGMENT, detail, ref, time_ns)

    def _close_gap(self, gap: Gap) -> None:
        """Nothing fills it any more: what was collected is dropped."""
        if gap.hole is not None:
            self.sink.forget(gap.hole)
            gap.hole = None
        for _, payload, ref, time_ns in gap.parts:
            self.store.torn_bytes -= len(payload)
            self._note_late(len(payload), ref, time_ns)
        gap.parts = []

    def _sent_again(self, segment: OutOfOrderSegment) -> None:
        """Bytes that were delivered come again: what was sent since then waited, unless they had arrived."""
        self.acks.sent_again()
        if self.acks.has_acknowledged((self.start_seq + segment.end) & MASK):
            return
        first = [one for one in self.recent if one[0] <= segment.offset < one[0] + len(one[1])]
        if first:
            self._delayed(first[0][3], segment.time_ns)

    def _delayed(self, from_ns: int, until_ns: int) -> None:
        if from_ns >= until_ns:
            return
        odd = self.oddities()
        took_ns = max(0, until_ns - max(from_ns, odd.delayed_until_ns))
        odd.delayed_ns += took_ns
        odd.delayed_until_ns = max(until_ns, odd.delayed_until_ns)
        odd.keep_delay(Delay(from_ns, until_ns, took_ns))

    def came_twice(self) -> None:
        """Retract the delay of the last segment sent again: the other side reports that its bytes had arrived
        before.
        """
        odd = self.odd
        if odd.delays:
            odd.delayed_ns -= odd.delays.pop().took_ns

    def _is_copy(self, segment: OutOfOrderSegment) -> bool:
        """Return whether a segment was delivered before, or is a copy of one that was sent again."""
        offset, payload, ip_id, time_ns = segment.offset, segment.payload, segment.ip_id, segment.time_ns
        return holds_copy(self.recent, offset, payload, ip_id, time_ns) or (
            self.odd.resent is not None and holds_copy((self.odd.resent,), offset, payload, ip_id, time_ns)
        )

    def _count_repeat(self, copied: bool, segment: OutOfOrderSegment) -> None:
        if copied:
            self.oddities().duplicates += 1
            self._log.note(AnomalyKind.DUPLICATE_CAPTURE, "", segment.ref, segment.time_ns)
        else:
            self.oddities().retransmissions += 1

    def _compare(self, segment: OutOfOrderSegment) -> None:
        at = first_difference(self.recent, segment.offset, segment.payload)
        if at >= 0:
            detail = f"byte {at} of the stream was sent again with another value"
            self._log.note(AnomalyKind.OVERLAP_DIFFERS, detail, segment.ref, segment.time_ns)

    def _note_after_end(self, segment: OutOfOrderSegment) -> None:
        if segment.end > self.offset or self.start_seq < 0:
            detail = f"{plural(len(segment.payload) + segment.missing, 'byte')} after the end of the stream"
            self._log.note(AnomalyKind.DATA_AFTER_CLOSE, detail, segment.ref, segment.time_ns)
        elif not self._fill(segment):
            copied = segment.fin and is_copy(
                segment.ip_id, segment.time_ns, self.odd.fin_id, self.odd.fin_time_ns
            )
            self._count_repeat(copied, segment)

    def _stray(self, segment: OutOfOrderSegment) -> None:
        odd = self.oddities()
        follows = segment.offset == odd.stray_next
        odd.stray_count = odd.stray_count + 1 if follows else 1
        odd.stray_next = segment.end
        if odd.stray_count < STRAYS_BELIEVED:
            detail = f"{plural(segment.offset - self.offset, 'byte', spec='+d')} from where the stream is"
            self._log.note(AnomalyKind.LATE_SEGMENT, detail, segment.ref, segment.time_ns)
            return
        odd.stray_count = 0
        waiting = odd.out_of_order_segments[:]
        self._clear_out_of_order()
        for earlier in waiting:
            self._deliver_beyond_hole(earlier)
        # Beyond the plausible the sign of a distance says nothing: streams move forward.
        self._deliver_beyond_hole(
            segment._replace(offset=self.offset + ((segment.offset - self.offset) & MASK))
        )

    def _deliver_beyond_hole(self, segment: OutOfOrderSegment) -> None:
        if self.ended:  # by a FIN that waited for this
            self._note_after_end(segment)
            return
        if segment.offset > self.offset:
            self.skip(segment.offset - self.offset, segment.ref, segment.time_ns)
        self.deliver(segment)
