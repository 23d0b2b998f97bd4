"""A TCP connection: segments of both directions in, two streams in causal order out.

Rules:
- In order is the fast path. Everything else goes through `Reassembly.accept` and then `Repair.settle`.
- A segment that acknowledges bytes of the other direction is delivered after those bytes, even if the
  capture has it before them: a reader of both streams never sees an answer before its question.
- A hole becomes a gap when the other side acknowledged past it and a grace has passed, when too many bytes
  wait after it, or at the end. Until then it can be filled: by a segment captured late, or by a
  retransmission. Later it can still be filled if the reader has use for it.
- A RST ends both streams once no bytes are awaited any more: a client that closed answers later packets with
  RST, and the capture may have the RST before the packets that it answers.
- A connection has one incarnation. The demultiplexer asks `opens_new_incarnation` about each SYN.
"""

from collections import Counter
from typing import Any, Protocol

from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.packets.packet import NEVER_NS
from kdissect.model.packets.segment import ACK, DSACK, FIN, PSH, RST, SYN, PlainSegment, Segment
from kdissect.model.packets.stream import CloseKind, StreamSink
from kdissect.net.anomaly_log import AnomalyLog
from kdissect.net.store import Store
from kdissect.net.streams.oddities import OutOfOrderSegment
from kdissect.net.streams.reassembly import PLAUSIBLE_AHEAD, Health, Reassembly
from kdissect.net.streams.recent import RECENT_NS
from kdissect.net.streams.repair import QUIET_GRACE_NS, Repair
from kdissect.net.streams.round_trips import AckTimes
from kdissect.net.streams.sequence import HALF, MASK, add, distance

_CONTROL = FIN | SYN | RST | ACK | DSACK
_IN_ORDER = ACK  # of these, what a segment has that neither begins nor ends anything

# After twice the maximum segment lifetime even a sequence number may come again, RFC 9293 section 3.4.1.
TWO_MSL_NS = 240_000_000_000


class Lender(Protocol):
    """Owner of streams that were handed over to the native engine."""

    @property
    def last_ns(self) -> int:
        """Time of the connection's last packet."""

    def take_back(self) -> None:
        """Have the connection again."""


class TcpConnection:
    """Reassembler of one connection. `sinks[d]` receives the bytes of direction `d` (0 or 1).

    `store` counts waiting data in all connections together. `log` notes anomalies (None: its own log).
    Without `remembers`, delivered bytes are not compared with repeats. `initiator` is the direction that sent
    the first SYN (None: not seen). `troubled`: some bytes wait or are awaited, so that no segment is in
    order. Between calls the state is plain and can be pickled if the sinks can. While the streams are
    native-owned, `lender` is set and there are none here: reading `streams` reclaims them.
    """

    __slots__ = (
        "_last_time_ns",
        "_reset_by",
        "_streams",
        "initiator",
        "lender",
        "log",
        "troubled",
    )

    def __init__(
        self,
        sinks: tuple[StreamSink, StreamSink],
        store: Store | None = None,
        log: AnomalyLog | None = None,
        remembers: bool = True,
    ) -> None:
        store = store or Store()
        self.log = AnomalyLog(store.limits.anomalies) if log is None else log
        first, second = (Reassembly(sink, self.log, store, remembers) for sink in sinks)
        self._streams = first, second
        self._reset_by: tuple[int, int, int] | None = None  # direction, time, reference of the packet
        self.initiator: int | None = None
        self.lender: Lender | None = None
        self._last_time_ns = 0
        self.troubled = False

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        if self.lender is not None:
            self.lender.take_back()
        return None, {name: getattr(self, name) for name in TcpConnection.__slots__}

    @property
    def last_time_ns(self) -> int:
        """Time of the last packet; 0 without one."""
        return self._last_time_ns if self.lender is None else self.lender.last_ns

    @property
    def streams(self) -> tuple[Reassembly, Reassembly]:
        """Both directions."""
        if self.lender is not None:
            self.lender.take_back()
        return self._streams

    def lend(self, lender: Lender) -> tuple[Reassembly, Reassembly]:
        """Give away the streams."""
        streams = self._streams
        self.lender, self._last_time_ns = lender, 0
        del self._streams
        return streams

    def take_over(
        self,
        streams: tuple[Reassembly, Reassembly],
        time_ns: int,
        reset_by: tuple[int, int, int] | None = None,
    ) -> None:
        """Have streams again, after a last packet at this time.

        `reset_by`: direction, time and reference of the RST that ended them.
        """
        self.lender, self._streams, self._last_time_ns = None, streams, time_ns
        self._reset_by = reset_by

    def feed(self, direction: int, segment: PlainSegment, ref: int, time_ns: int) -> None:
        """Take the next captured segment of a direction.

        Never raises itself. It calls the sinks.
        """
        # Hot, once a packet: a plain segment or acknowledgment in order is recognised and done with here.
        _, seq, ack, flags, window, payload, missing, ip_id = segment
        mine, peer = self._streams[direction], self._streams[1 - direction]
        mine.packets += 1
        if time_ns - self._last_time_ns > RECENT_NS:
            self.forget_delivered()
        self._last_time_ns = time_ns
        if (
            seq == mine.next_seq
            and flags & _CONTROL == _IN_ORDER
            and window
            and not self.troubled
            # nothing unseen is acknowledged, or the other side has not started
            and (ack == peer.next_seq or (peer.next_seq - ack) & MASK < HALF or peer.next_seq < 0)
        ):
            peer.acks.acknowledge(ack, time_ns, not payload and not missing, peer.start_seq)
            if payload or missing:
                mine.acks.sent((seq + len(payload) + missing) & MASK, time_ns)
            if missing:
                mine.deliver(OutOfOrderSegment(mine.offset, payload, missing, False, 0, ref, time_ns, ip_id))
            elif payload:
                mine.take(payload, ip_id, time_ns)
                mine.sink.data(payload, ref, time_ns)
            return
        self._feed_any(direction, Segment._make(segment), ref, time_ns)

    def forget_delivered(self) -> None:
        """Forget what the streams delivered last, unless they are given away."""
        if self.lender is None:
            for stream in self._streams:
                stream.recent.clear()

    @property
    def has_delays(self) -> bool:
        """Whether retransmissions caused a delay that no exchange has yet."""
        return any(stream.odd.delays for stream in self._streams)

    def _repair(self) -> Repair:
        first, second = self._streams
        return Repair(((first, second), (second, first)), self.log)

    @property
    def health(self) -> tuple[Health, Health]:
        """Counters of the two directions."""
        first, second = self.streams
        return first.health(), second.health()

    @property
    def anomalies(self) -> list[Anomaly]:
        """The first anomalies of both directions, in the order they were noticed."""
        return list(self.log.kept)

    @property
    def anomaly_counts(self) -> Counter[AnomalyKind]:
        """How many anomalies of each kind there were."""
        return self.log.counts

    @property
    def closed(self) -> bool:
        """Whether both directions ended."""
        first, second = self.streams
        return first.ended and second.ended

    @property
    def closed_by(self) -> tuple[int | None, CloseKind, int] | None:
        """Return the direction of the first FIN or RST, which of them, and when, or None before either.

        A FIN that was not captured is proven by its acknowledgment, and was sent before that. The direction
        is None if the other one may have sent a FIN before, among bytes that were not captured.
        """
        ends = []
        for side, stream in enumerate(self.streams):
            if stream.acked_unseen == 1:
                ends.append((stream.odd.acked_ns, False, side))
            if stream.odd.fin_time_ns > NEVER_NS:
                ends.append((stream.odd.fin_time_ns, True, side))
        if ends:
            time_ns, _, side = min(ends)
            how = CloseKind.FIN
        elif self._reset_by:
            side, time_ns, _ = self._reset_by
            how = CloseKind.RST
        else:
            return None
        one, other = self.streams[side], self.streams[1 - side]
        is_unknown = other.start_seq < 0 and not one.opened  # a lone SYN has no peer that acknowledges it
        is_doubtful = is_unknown or (other.acked_unseen > 1 and other.odd.acked_ns <= time_ns)
        return None if is_doubtful else side, how, time_ns

    def span(self, direction: int) -> tuple[int, int, bool]:
        """Return sequence numbers of a direction: first byte (-1: not known), next one, and whether its SYN
        was seen.
        """
        stream = self.streams[direction]
        return stream.start_seq, (stream.start_seq + stream.offset) & MASK, stream.opened

    def opens_new_incarnation(self, direction: int, segment: Segment, time_ns: int) -> bool:
        """Return whether this SYN starts a new connection on the same addresses and ports; False for no SYN.

        A SYN sent again, and one before any data or end, belongs to this connection. If one with the same
        number starts another connection, it is noted as late: a second tap may have captured it.
        """
        mine, peer = self.streams[direction], self.streams[1 - direction]
        used = mine.offset or peer.offset or mine.ended or peer.ended
        if not segment.flags & SYN or not used:
            return False
        if mine.start_seq == add(segment.seq, 1):
            # A connection that waits for missing bytes is not closed: its FIN or RST may be among what waits.
            quiet_ns = QUIET_GRACE_NS if self.troubled else TWO_MSL_NS
            if is_over := (self.closed or self.troubled) and time_ns - self.last_time_ns > quiet_ns:
                mine.oddities().came_after_ack(time_ns - mine.syn_time_ns)
            return is_over
        if segment.flags & ACK and (mine.start_seq < 0 or mine.syn_time_ns == NEVER_NS):
            return segment.ack != peer.start_seq
        return True

    def flush(self, how: CloseKind, time_ns: int) -> None:
        """No more packets: deliver what waits, with gaps, and end both directions that have not ended."""
        if self._reset_by is not None:
            self._end_by_reset()
        else:
            self._end(how, 0, time_ns)

    def _end(self, how: CloseKind, ref: int, time_ns: int) -> None:
        self._repair().give_up_all(ref, time_ns)
        for stream in self._streams:
            stream.finish(how, ref, time_ns)
        self.troubled = False

    def _feed_any(self, direction: int, segment: Segment, ref: int, time_ns: int) -> None:
        mine, peer = self._streams[direction], self._streams[1 - direction]
        if segment.flags & RST:
            self._reset(direction, segment, ref, time_ns)
            return
        size = len(segment.payload) + segment.missing
        if segment.flags & SYN:
            self._open(direction, segment, ref, time_ns)
        else:
            self._begin(direction, segment)
            if not segment.window:
                mine.oddities().zero_windows += 1
        needs = 0
        if segment.flags & ACK:
            needs = self._repair().acknowledge(peer, segment.ack, time_ns)
            peer.acks.acknowledge(segment.ack, time_ns, not size, peer.start_seq)
            if segment.flags & DSACK:
                peer.came_twice()
        # A segment that fills a hole may be sent again. An acknowledged one is too late in the capture.
        is_first = segment.seq == mine.next_seq and not mine.odd.out_of_order_segments
        if size and is_first and mine.odd.acked <= mine.offset:
            mine.acks.sent((segment.seq + size) & MASK, time_ns)
        if segment.payload or segment.missing or segment.flags & FIN:
            mine.accept(_place(mine, segment, needs, ref, time_ns), peer)
        if needs or self.troubled or mine.odd.out_of_order_segments:
            self._settle(ref, time_ns)
        if segment.flags & SYN:
            self.troubled = True  # what follows a SYN goes through _begin

    def _begin(self, direction: int, segment: Segment) -> None:
        mine = self._streams[direction]
        if mine.start_seq < 0:
            mine.start(_first_byte(segment))
        if mine.opened and not mine.offset and segment.flags & ACK:
            self._open_peer(direction, segment.ack)

    def _open_peer(self, direction: int, ack: int, is_sure: bool = False) -> None:
        """Open the other stream, whose SYN was not captured, or not yet: this segment acknowledges only the
        SYN.

        A SYN `is_sure`: it shows the number of the first byte although later packets were captured before it.
        """
        peer = self._streams[1 - direction]
        is_open = peer.start_seq >= 0 and (peer.opened or peer.offset or not is_sure)
        if not is_open and not peer.ended:
            peer.reopen(ack)

    def _open(self, direction: int, segment: Segment, ref: int, time_ns: int) -> None:
        mine = self._streams[direction]
        seq = add(segment.seq, 1)  # a SYN takes one sequence number, RFC 9293 section 3.4
        if self.initiator is None:
            self.initiator = 1 - direction if segment.flags & ACK else direction
        if mine.opened and seq == mine.start_seq:
            mine.count_syn_again(segment.ip_id, time_ns)
        elif not mine.offset and not mine.ended:
            mine.reopen(seq)
            mine.acks = AckTimes()
            mine.acks.sent(seq, time_ns)
        elif 0 < (missing := distance(mine.start_seq, seq)) < PLAUSIBLE_AHEAD:
            mine.miss_beginning(missing, ref, time_ns)
        if segment.flags & ACK:
            self._open_peer(direction, segment.ack, is_sure=True)
        mine.syn_id, mine.syn_time_ns = segment.ip_id, time_ns

    def _reset(self, direction: int, segment: Segment, ref: int, time_ns: int) -> None:
        self._streams[direction].oddities().resets += 1
        if self.closed:
            return
        if segment.flags & ACK:
            self._streams[1 - direction].acknowledge_end(segment.ack, time_ns)
        if self._reset_by is None:
            self._reset_by = direction, time_ns, ref
        self._settle(ref, time_ns)

    def _settle(self, ref: int, time_ns: int) -> None:
        self.troubled = self._repair().settle(ref, time_ns)
        if self._reset_by is not None and not self.troubled and not self.closed:
            self._end_by_reset()

    def _end_by_reset(self) -> None:
        if self._reset_by is not None:
            _, at_ns, ref = self._reset_by
            self._end(CloseKind.RST, ref, at_ns)


def _first_byte(segment: Segment) -> int:
    """Return the sequence number of a stream's first byte if its start was not captured."""
    # One zero byte without PSH is a keep-alive probe, which repeats the byte before (RFC 9293 section 3.8.4).
    probe = segment.payload == b"\0" and not segment.flags & PSH
    return add(segment.seq, 1) if probe else segment.seq


def _place(stream: Reassembly, segment: Segment, needs: int, ref: int, time_ns: int) -> OutOfOrderSegment:
    """Find a segment's place in its stream."""
    _, seq, _, flags, _, payload, missing, ip_id = segment
    if flags & SYN:
        seq = add(seq, 1)
    offset = stream.offset + distance(seq, stream.start_seq + stream.offset)
    if offset == 1 and not stream.offset and not stream.opened and not stream.odd.out_of_order_segments:
        stream.start(seq)  # the capture began with an empty keep-alive, whose number is one byte back
        offset = 0
    return OutOfOrderSegment(offset, payload, missing, bool(flags & FIN), needs, ref, time_ns, ip_id)
