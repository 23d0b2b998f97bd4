"""What both directions of a connection share, and the fast path of `TcpConnection.feed`.

The compiled hot path has a counterpart of it: `TcpConnection` is made of the one that is there.
"""

from kdissect.model.native import is_compiled, native
from kdissect.model.packets.segment import ACK, FIN, RST, SYN, PlainSegment
from kdissect.net.reassembly import Reassembly
from kdissect.net.sequence import HALF, MASK

CONTROL = FIN | SYN | RST | ACK
IN_ORDER = ACK  # of these, what a segment has that neither begins nor ends anything


class TcpState:
    """What the fast path of a connection reads and writes, beside its two directions.

    `troubled`: something is parked or awaited, so that no segment is in order. `last_time_ns` is the time of
    the last packet.
    """

    __slots__ = ("last_time_ns", "troubled")

    _streams: tuple[Reassembly, Reassembly]

    def __init__(self) -> None:
        self.last_time_ns = 0
        self.troubled = False

    def feed(self, direction: int, segment: PlainSegment, ref: int, time_ns: int) -> None:
        """Take the next captured segment of a direction.

        Never raises by itself; the sinks are called from here.
        """
        # Hot, once a packet: a plain segment or acknowledgment in order is recognised and done with here.
        _, seq, ack, flags, window, payload, missing, ip_id = segment
        mine, peer = self._streams[direction], self._streams[1 - direction]
        mine.packets += 1
        self.last_time_ns = time_ns
        if (
            seq == mine.next_seq
            and flags & CONTROL == IN_ORDER
            and window
            and not self.troubled
            # nothing unseen is acknowledged, or the other side has not started
            and (ack == peer.next_seq or (peer.next_seq - ack) & MASK < HALF or peer.next_seq < 0)
        ):
            if missing:
                self._feed_odd(direction, segment, ref, time_ns, True)
            elif payload:
                size = len(payload)
                start = mine.offset
                mine.offset = end = start + size
                mine.next_seq = (seq + size) & MASK
                mine.recent.append((start, payload, ip_id, time_ns))
                if end > mine.trim_at:
                    mine.trim()
                mine.sink.data(payload, ref, time_ns)
            return
        self._feed_odd(direction, segment, ref, time_ns, False)

    def _feed_odd(
        self, direction: int, segment: PlainSegment, ref: int, time_ns: int, in_order: bool
    ) -> None:
        """Take a segment that was counted and is not plain; `in_order` says where it lacks only bytes."""
        raise NotImplementedError


TCP_FIELDS = TcpState.__slots__
if is_compiled:  # it has the same: tests/native/test_stub.py
    TcpState = native.TcpState  # type: ignore[assignment, misc]
