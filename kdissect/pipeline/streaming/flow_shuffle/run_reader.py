"""One capture file in, runs of its connections and the facts of the file out: the work of a mapping task.

Rules:
- The facts of a file, damage included, come from `CaptureFile`, the reader of every other command.
- A flow's task does not see other flows' SYNs: the SYNs that a NAT translated are known here, file by file.
- SYNs are reported besides (`file_syns`): the other side may be in another file.
- Memory is bounded by `_BUFFERED` and by the number of connections that spoke since the last flush.
"""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import accumulate
from operator import itemgetter

from kdissect.capture.capture_file import CaptureFile
from kdissect.engine.nat_sides import NEAR_NS, NatSides, is_random
from kdissect.engine.nat_sides import as_segment as as_root
from kdissect.engine.taps.tap_captures import are_of_tap
from kdissect.model.faults import fault_text
from kdissect.model.packets.packet import NUMBER_MASK, PlainPacket
from kdissect.model.packets.process import as_segment
from kdissect.model.packets.segment import ACK, SYN, PlainSegment, reverse_flow
from kdissect.net.parser import SegmentParser
from kdissect.pipeline.streaming.flow_shuffle.file_syns import MAX_BORDER_SYNS, MAX_FILE_SYNS, FileSyn
from kdissect.pipeline.streaming.flow_shuffle.run import Run, flow_key, pack

# A run is a row that Spark sorts and copies: long enough that rows do not count, short enough for its pages.
_RUN_BYTES = 1 << 16
# Segments of all connections waiting for their runs to fill.
_BUFFERED = 16 << 20
_time_of = itemgetter(1)  # PlainPacket

Partition = Callable[[bytes], int]
"""The partition a flow key goes to."""


class _Open:
    """A run that is being filled."""

    __slots__ = ("key", "order_ns", "part", "pieces", "ref", "size")

    def __init__(self, key: bytes, part: int) -> None:
        self.key = key
        self.part = part
        self.pieces: list[bytes] = []
        self.size = self.order_ns = self.ref = 0

    def take(self) -> Run:
        run = Run(self.part, self.key, self.order_ns, self.ref, b"".join(self.pieces))
        self.pieces = []
        self.size = 0
        return run


class RunReader:
    """Reader of one file in a capture set. After `runs` is consumed, `file` and `parser` hold the facts, and
    `end_ns` the time of the last packet, which need not be the latest.
    """

    def __init__(self, file: CaptureFile, partition: Partition, set_name: str) -> None:
        self.file = file
        self._set_name = set_name
        self.parser = SegmentParser()
        self._partition = partition
        self._flows: dict[bytes, tuple[_Open, int]] = {}
        self._buffered = 0
        self._nat_sides = NatSides()
        self._first_syns: list[FileSyn] = []
        self._later_syns: deque[FileSyn] = deque(maxlen=MAX_FILE_SYNS)
        self._begin_ns: int | None = None
        self.end_ns: int | None = None
        self.is_tap: bool | None = None
        """Whether `kdissect tap` wrote the file; None while no packet was read."""

    def runs(self) -> Iterator[Run]:
        """Yield the runs of the file, in order within each connection. Raises no exception on bad input."""
        latest = -(1 << 63)
        for batch in self.file.batches():
            packets = list(batch)
            orders = list(accumulate(map(_time_of, packets), max, initial=latest))[1:]
            latest = orders[-1]
            if self._begin_ns is None:
                self._begin_ns = packets[0][1]
            self.end_ns = packets[-1][1]
            try:
                yield from self._take(packets, orders)
            except Exception as error:
                self.file.give_up(
                    f"given up behind packet {packets[0][0] & NUMBER_MASK}: {fault_text(error)}"
                )
        self.parser.close()
        yield from self._flush()

    def border_syns(self) -> list[FileSyn]:
        """Return SYNs of the beginning and the end of the file, once `runs` is consumed."""
        end_ns = 0 if self.end_ns is None else self.end_ns
        last = [one for one in self._later_syns if one.order_ns >= end_ns - NEAR_NS]
        return [*self._first_syns, *last[-MAX_BORDER_SYNS:]]

    def syns(self) -> list[FileSyn]:
        """Return the SYNs of the file, once `runs` is consumed."""
        return [*self._first_syns, *self._later_syns]

    def _take(self, batch: list[PlainPacket], orders: list[int]) -> Iterator[Run]:
        # Hot, one round a packet.
        flows, local_ends = self._flows, self.parser.local_ends
        segments = self.parser.parse_batch(batch)
        if self.is_tap is None:
            self.is_tap = are_of_tap(self.file.link_types, segments)
        for packet, order_ns, segment in zip(batch, orders, segments, strict=True):
            if segment is None:
                continue
            place = flows.get(segment[0]) or self._open(segment[0])
            run, direction = place
            ref = packet[0]
            piece = pack(order_ns, ref, packet[1], direction, segment)
            if segment[3] & (SYN | ACK) == SYN:
                piece = self._root_before(segment, order_ns, packet, direction) + piece
            if ref in local_ends:
                told = as_segment(segment[0], local_ends[ref])
                piece = pack(order_ns, ref, packet[1], direction, told) + piece
            if not run.size:
                run.order_ns, run.ref = order_ns, ref
            run.pieces.append(piece)
            size = len(piece)
            run.size += size
            self._buffered += size
            if run.size >= _RUN_BYTES:
                self._buffered -= run.size
                yield run.take()
        if self._buffered >= _BUFFERED:
            yield from self._flush()

    def _root_before(
        self, segment: PlainSegment, order_ns: int, packet: PlainPacket, direction: int
    ) -> bytes:
        """Return the segments that precede a SYN that the other side of a NAT had before."""
        (ref, time_ns, *_), (flow, seq, _, _, window, _, _, ip_id) = packet, segment
        name = self._set_name
        self._nat_sides.see(name, flow, seq, window, ip_id, time_ns)
        if is_random(seq):
            syn = FileSyn(order_ns, ref, time_ns, flow, seq, window, ip_id)
            is_first = order_ns - (self._begin_ns or 0) <= NEAR_NS and len(self._first_syns) < MAX_BORDER_SYNS
            (self._first_syns if is_first else self._later_syns).append(syn)
        root = self._nat_sides.root(name, flow, seq)
        return b"" if root is None else pack(order_ns, ref, time_ns, direction, as_root(flow, seq, root))

    def _open(self, flow: bytes) -> tuple[_Open, int]:
        key, direction = flow_key(flow)
        run = _Open(key, self._partition(key))
        found = self._flows[flow] = (run, direction)
        self._flows.setdefault(reverse_flow(flow), (run, 1 - direction))
        return found

    def _flush(self) -> Iterator[Run]:
        """Yield all runs that have bytes. Forget the connections: one that goes on is opened again."""
        for run, _ in self._flows.values():
            if run.size:
                yield run.take()
        self._flows.clear()
        self._buffered = 0
