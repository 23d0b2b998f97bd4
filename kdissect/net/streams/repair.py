"""Holes of a connection's two streams: what waits for them, how long, and when they become gaps.

A hole in one stream is known to be a loss of the capture, not of the network, once the other side
acknowledged past it. It still does not become a gap at once: the packet may merely be later in the capture
than its acknowledgment.
"""

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.wording import plural
from kdissect.net.anomaly_log import AnomalyLog
from kdissect.net.streams.reassembly import Reassembly
from kdissect.net.streams.sequence import distance

# Each queue of a network card and each interface has its own capture buffer, so that order between them is
# lost. A packet may be both late in number and late in time: a busy host's 64 packets, a queue's usual batch,
# pass within a millisecond, and 50 ms pass within few packets of a quiet connection. So both are waited for.
GRACE_PACKETS = 64
GRACE_NS = 50_000_000
# A quiet connection does not have 64 packets soon, and a live view does not show the bytes after the hole.
# tcpdump leaves packets in a kernel's buffer for a second at most, and the clocks of two merged captures
# differ by seconds. Fewer than 64 packets wait here: that costs little memory.
QUIET_GRACE_NS = 5_000_000_000
# On a quiet connection, time passes without a packet that could have come: this number of packets must be
# seen too.
GRACE_FEW_PACKETS = 4
# If only one direction was captured, there are no acknowledgments: by now the sender would have sent it again
# (RFC 6298 section 2.4: 1 s).
ONE_WAY_GRACE_NS = 1_000_000_000
# Acknowledged bytes without a later byte that proves them: more than any usual window is a broken packet.
TAIL_LIMIT = 16 << 20

Pair = tuple[Reassembly, Reassembly]


class Repair:
    """Repair of both streams in a connection: it decides which bytes are delivered, awaited or lost.

    `pairs[d]` is (sender, other).
    """

    __slots__ = ("_log", "_pairs")

    def __init__(self, pairs: tuple[Pair, Pair], log: AnomalyLog) -> None:
        self._pairs = pairs
        self._log = log

    def acknowledge(self, stream: Reassembly, ack: int, time_ns: int) -> int:
        """Note that `stream` was acknowledged up to `ack`: the offset if that was not seen yet, or 0."""
        if stream.start_seq < 0 or stream.ended:
            return 0
        reached = stream.offset + distance(ack, stream.start_seq + stream.offset)
        waiting = stream.odd.out_of_order_segments
        seen = waiting[-1].end if waiting else stream.offset
        if not stream.offset < reached <= seen + TAIL_LIMIT:
            return 0
        stream.oddities().note_acked(reached, time_ns)
        return reached

    def settle(self, ref: int, time_ns: int) -> bool:
        """Deliver ready bytes, declare gaps that waited for long enough. Return whether some bytes still
        wait.
        """
        self._drain()
        for stream, peer in self._pairs:
            self._check_bounds(stream, peer, ref, time_ns)
            self._check_grace(stream, peer, ref, time_ns)
        first, second = self._pairs[0][0].odd, self._pairs[0][1].odd
        return bool(
            first.out_of_order_segments
            or second.out_of_order_segments
            or first.wait_until
            or second.wait_until
        )

    def give_up_all(self, ref: int, time_ns: int) -> None:
        """Deliver all that waits, with gaps, and declare acknowledged tails that were never seen."""
        for stream, peer in self._pairs:
            while stream.odd.out_of_order_segments:
                self._force(stream, peer, ref, time_ns)
        for stream, _ in self._pairs:
            odd = stream.odd
            if not stream.ended and odd.acked > max(stream.offset, odd.waived):
                self._give_up_hole(stream, odd.acked, ref, time_ns)

    def _drain(self) -> None:
        (first, second), _ = self._pairs
        while first.drain(second) or second.drain(first):
            pass

    def _check_bounds(self, stream: Reassembly, peer: Reassembly, ref: int, time_ns: int) -> None:
        odd = stream.odd
        waiting = odd.out_of_order_segments
        if not waiting:
            return
        limits = stream.store.limits
        is_long = len(waiting) > limits.direction_out_of_order_segments
        if is_long or odd.out_of_order_bytes > limits.direction_out_of_order_bytes:
            detail = f"{plural(odd.out_of_order_bytes, 'byte')} in {plural(len(waiting), 'segment')} waited"
            self._log.note(AnomalyKind.REASSEMBLY_LIMIT, detail, ref, time_ns)
            self._force(stream, peer, ref, time_ns)
        elif stream.store.out_of_order_bytes > limits.out_of_order_bytes:
            detail = f"{plural(stream.store.out_of_order_bytes, 'byte')} waited in all connections together"
            self._log.note(AnomalyKind.REASSEMBLY_LIMIT, detail, ref, time_ns)
            while odd.out_of_order_segments:
                self._force(stream, peer, ref, time_ns)
        elif not peer.packets and time_ns - waiting[0].time_ns > ONE_WAY_GRACE_NS:
            self._force(stream, peer, ref, time_ns)

    def _check_grace(self, stream: Reassembly, peer: Reassembly, ref: int, time_ns: int) -> None:
        packets = stream.packets + peer.packets
        odd = stream.odd
        if odd.wait_until:
            seen = packets - odd.wait_packets
            waited_ns = time_ns - odd.wait_time_ns
            needed = GRACE_FEW_PACKETS if waited_ns >= QUIET_GRACE_NS else GRACE_PACKETS
            if seen >= needed and waited_ns >= GRACE_NS:
                self._give_up(stream, peer, ref, time_ns)
        settled = max(stream.offset, odd.waived)
        if stream.ended or odd.acked <= settled:
            if odd.wait_until:
                odd.wait_until = 0
        elif odd.wait_until <= settled:  # what was acknowledged since then has a grace of its own
            odd.wait_until, odd.wait_packets, odd.wait_time_ns = odd.acked, packets, time_ns

    def _give_up(self, stream: Reassembly, peer: Reassembly, ref: int, time_ns: int) -> None:
        odd = stream.odd
        until = odd.wait_until
        while not stream.ended and until > stream.offset and until > odd.waived:
            if odd.out_of_order_segments and odd.out_of_order_segments[0].offset <= stream.offset:
                self._force(stream, peer, ref, time_ns)
            else:
                self._give_up_hole(stream, until, ref, time_ns)
                self._drain()

    def _force(self, stream: Reassembly, peer: Reassembly, ref: int, time_ns: int) -> None:
        """Remove one reason why the first out-of-order segment waits.

        Each call makes progress: an offset or a waiver grows.
        """
        head = stream.odd.out_of_order_segments[0]
        if head.offset > stream.offset:
            self._give_up_hole(stream, head.offset, ref, time_ns)
        else:
            self._give_up_hole(peer, head.needs, ref, time_ns)
        self._drain()

    def _give_up_hole(self, stream: Reassembly, until: int, ref: int, time_ns: int) -> None:
        """Declare a gap up to `until` or the first waiting byte. Waive `until` if the gap would be a
        guess.
        """
        if stream.odd.out_of_order_segments:
            head = stream.odd.out_of_order_segments[0]
            length = min(until, head.offset) - stream.offset
            ref, time_ns = head.ref, head.time_ns
        else:
            length = until - stream.offset
            # One acknowledged number without later bytes is a lost FIN: Kafka sends more bytes.
            length = 0 if length == 1 else length
        if length > 0:
            stream.skip(length, ref, time_ns)
        else:
            odd = stream.oddities()
            odd.waived = max(odd.waived, until)
