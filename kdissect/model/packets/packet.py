"""One captured packet, and a sequence of packets in one buffer."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple, overload

from kdissect.model.native import native

_time_of = itemgetter(1)  # of a packet's place

# A packet's reference packs (file, number) into one int, so that the hot path moves one word. 39 bits of
# number: half a trillion packets a file. The bit above says that the number is a line number in a request
# log.
FILE_SHIFT = 40
_LINE_BIT = 1 << FILE_SHIFT - 1
NUMBER_MASK = _LINE_BIT - 1
# Packet times are int64 nanoseconds since 1970 UTC. Times in a capture beyond that are clamped.
MAX_TIME_NS = (1 << 63) - 1
SECOND_NS = 1_000_000_000
MIN_TIME_NS = -MAX_TIME_NS
# Before all of them: where a latest time begins. 0 is 1970, and clocks that were never set stand before it.
NEVER_NS = MIN_TIME_NS - 1


def packet_ref(file: int, number: int) -> int:
    """Return the reference of packet `number` (1-based, as Wireshark shows it) of input `file` (0-based order
    of the inputs).
    """
    return file << FILE_SHIFT | number


def ref_file(ref: int) -> int:
    """Return the index of the input a packet reference points into."""
    return ref >> FILE_SHIFT


def ref_number(ref: int) -> int:
    """1-based number of the packet within its file."""
    return ref & NUMBER_MASK


def line_ref(file: int, line: int) -> int:
    """Return the reference of a line (1-based) of a request log, which has the index `file` among the
    inputs.
    """
    return file << FILE_SHIFT | _LINE_BIT | line & NUMBER_MASK


def span_text(first_ref: int, last_ref: int) -> str:
    """For people: `packet 4`, `packets 4-6`, or `line 4` of a request log."""
    first, last = first_ref & NUMBER_MASK, last_ref & NUMBER_MASK
    kind = "line" if first_ref & _LINE_BIT else "packet"
    return f"{kind} {first}" if first == last else f"{kind}s {first}-{last}"


Moment = tuple[int, int]
"""A packet reference and the packet's time."""


def is_before(one: Moment, other: Moment) -> bool:
    """Return whether a packet was captured before another one.

    Packets of one file are compared by their order, for the clock of a capture may be set back. Times decide
    only between packets of several files, and between lines of a request log, which has a request where its
    response is.
    """
    if ref_file(one[0]) == ref_file(other[0]) and not one[0] & _LINE_BIT:
        return one[0] < other[0]
    return one[1] < other[1]


# A `Packet` without its names, in the same order: what the hot path moves, for a NamedTuple costs 0.2 us more
# to make than the tuple it is. `Packet._make` restores the names.
PlainPacket = tuple[int, int, int, bytes, int]


class Packet(NamedTuple):
    """One captured packet, link layer first.

    `time_ns` is int64 nanoseconds since 1970 UTC; `data` may be shorter than `wire_length` where a snap
    length cut it.
    """

    ref: int
    time_ns: int
    link_type: int
    data: bytes
    wire_length: int


# Where a packet lies in the bytes of a block: start, time_ns, link_type, end, wire_length.
PlacedPacket = tuple[int, int, int, int, int]


# A packet whose clock went backwards: reference, time, and by how many nanoseconds.
StepBack = tuple[int, int, int]


class PacketBlock(Sequence[PlainPacket]):
    """Packets of one file, numbered on from `first_ref`, as they lie in `data`.

    A sequence of `PlainPacket`, each created on access: the native engine reads them in place. `places` are
    the packets' places, by number. With `packed`, packets are created on access.
    """

    __slots__ = ("_places", "data", "first_ref", "packed")

    def __init__(
        self,
        data: bytes,
        first_ref: int,
        places: list[PlacedPacket] | None = None,
        packed: "native.Places | None" = None,
    ) -> None:
        self.data = data
        self.first_ref = first_ref
        self.packed = packed
        self._places = places

    @property
    def places(self) -> list[PlacedPacket]:
        """Where each packet lies."""
        if self._places is None:
            self._places = [] if self.packed is None else self.packed.places()
        return self._places

    def pack(self) -> "native.Places":
        """Return the places packed, for the compiled hot path, which must be there."""
        if self.packed is None:
            self.packed = native.Places(self.places)
        return self.packed

    @property
    def files(self) -> frozenset[int]:
        """The index of its file."""
        return frozenset((self.first_ref >> FILE_SHIFT,))

    def runs(self) -> "native.PacketRuns":
        """Return the packets for the compiled hot path, which must be there."""
        return native.PacketRuns(self.data, self.first_ref, self.pack())

    def span(self) -> tuple[int, int]:
        """Return the earliest and latest time of a packet. There must be one."""
        found = None if self.packed is None else self.packed.span()
        if found is None:
            times = self.times()
            return min(times), max(times)
        return found

    def times(self) -> list[int]:
        """Return the time of each packet, in nanoseconds."""
        if self.packed is None:
            return list(map(_time_of, self.places))
        return self.packed.times()

    def steps_back(self, latest: int | None, least_ns: int) -> tuple[int | None, list[StepBack]]:
        """Return where the clock went backwards by more than `least_ns`, behind packets up to the time
        `latest`.

        It also returns the latest time since the last call: later packets count from the new time.
        """
        if self.packed is not None:
            latest, found = self.packed.steps_back(latest, least_ns)
            return latest, [(self.first_ref + at, time_ns, step_ns) for at, time_ns, step_ns in found]
        steps: list[StepBack] = []
        for ref, (_, time_ns, *_) in enumerate(self.places, self.first_ref):
            if latest is not None and time_ns < latest - least_ns:
                steps.append((ref, time_ns, latest - time_ns))
                latest = time_ns
            elif latest is None or time_ns > latest:
                latest = time_ns
        return latest, steps

    def __len__(self) -> int:
        return len(self.places) if self.packed is None else len(self.packed)

    def __iter__(self) -> Iterator[PlainPacket]:
        data = self.data
        for ref, (start, time_ns, link_type, end, wire) in enumerate(self.places, self.first_ref):
            yield ref, time_ns, link_type, data[start:end], wire

    @overload
    def __getitem__(self, index: int) -> PlainPacket: ...

    @overload
    def __getitem__(self, index: slice) -> "PacketBlock": ...

    def __getitem__(self, index: int | slice) -> "PlainPacket | PacketBlock":
        """Return a packet, or a block of some that follow one another (no step)."""
        if isinstance(index, slice):
            return self._slice(*index.indices(len(self))[:2])
        at = index + len(self) if index < 0 else index
        if self._places is None and self.packed is not None:  # rather than all of them for one
            start, time_ns, link_type, end, wire = self.packed.place(at)
        else:
            start, time_ns, link_type, end, wire = self.places[at]
        return self.first_ref + at, time_ns, link_type, self.data[start:end], wire

    def _slice(self, start: int, stop: int) -> "PacketBlock":
        if self.packed is not None:
            return PacketBlock(self.data, self.first_ref + start, packed=self.packed.cut(start, stop))
        return PacketBlock(self.data, self.first_ref + start, self.places[start:stop])


class MergedBlock(Sequence[PlainPacket]):
    """Packets of several files in one order, as they lie in the blocks of each: for the compiled hot path.

    `stretches` are blocks, each with the number of its first packet here, and the number after its last. A
    packet is placed at the latest time in its block so far, and after packets of earlier stretches at that
    time.
    """

    __slots__ = ("_runs", "files")

    def __init__(self, stretches: Sequence[tuple[PacketBlock, int, int]]) -> None:
        self.files: frozenset[int] = frozenset().union(*(block.files for block, _, _ in stretches))
        self._runs = native.interleaved(
            [(block.data, block.first_ref, block.pack(), start, stop) for block, start, stop in stretches]
        )

    def runs(self) -> "native.PacketRuns":
        """As of `PacketBlock`."""
        return self._runs

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> PlainPacket: ...

    @overload
    def __getitem__(self, index: slice) -> list[PlainPacket]: ...

    def __getitem__(self, index: int | slice) -> PlainPacket | list[PlainPacket]:
        """Return a packet, or some."""
        if isinstance(index, slice):
            return [self._runs.packet(at) for at in range(*index.indices(len(self)))]
        found: PlainPacket = self._runs.packet(index + len(self) if index < 0 else index)
        return found
