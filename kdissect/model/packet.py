"""One captured packet, and many that lie behind one another."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

# A packet's reference packs (file, number) into one int, so that the hot path moves one word.
# 40 bits of number: a trillion packets a file.
FILE_SHIFT = 40
NUMBER_MASK = (1 << FILE_SHIFT) - 1


def packet_ref(file: int, number: int) -> int:
    """Reference of packet `number` (1-based, as Wireshark shows it) of input `file` (0-based order of the
    inputs).
    """
    return file << FILE_SHIFT | number


def ref_file(ref: int) -> int:
    """Index of the input a packet reference points into."""
    return ref >> FILE_SHIFT


def ref_number(ref: int) -> int:
    """1-based number of the packet within its file."""
    return ref & NUMBER_MASK


# A `Packet` without its names, in the same order: what the hot path moves, for a NamedTuple costs 0.2 us
# more to make than the tuple it is. `Packet._make` gives the names back.
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


class PacketBlock(Sequence[PlainPacket]):
    """Packets of one file, numbered on from `first_ref`, as they lie in `data`.

    A sequence of `PlainPacket`, each made when it is asked for: whoever can read a packet where it lies
    (`net.in_order`) saves the copy and the tuple. `places` are the packets' places, by number. `turns` are
    the numbers, ascending, of packets that are not like the one before; packets from one turn to the next
    have one length and one link type and lie at equal distances.
    """

    __slots__ = ("data", "first_ref", "places", "turns")

    def __init__(self, data: bytes, first_ref: int, places: list[PlacedPacket], turns: list[int]) -> None:
        self.data = data
        self.first_ref = first_ref
        self.places = places
        self.turns = turns

    def numbered(self, at: int) -> Iterator[tuple[int, PlacedPacket]]:
        """Reference and place of the packets from index `at` on."""
        return enumerate(self.places[at:] if at else self.places, self.first_ref + at)

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[PlainPacket]:
        data = self.data
        for ref, (start, time_ns, link_type, end, wire) in enumerate(self.places, self.first_ref):
            yield ref, time_ns, link_type, data[start:end], wire

    @overload
    def __getitem__(self, index: int) -> PlainPacket: ...

    @overload
    def __getitem__(self, index: slice) -> "PacketBlock": ...

    def __getitem__(self, index: int | slice) -> "PlainPacket | PacketBlock":
        """A packet, or a block of some that follow one another (no step)."""
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self.places))
            turns = [turn - start for turn in self.turns if start <= turn < stop]
            return PacketBlock(self.data, self.first_ref + start, self.places[start:stop], turns)
        at = index + len(self.places) if index < 0 else index
        start, time_ns, link_type, end, wire = self.places[at]
        return self.first_ref + at, time_ns, link_type, self.data[start:end], wire
