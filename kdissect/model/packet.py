"""One captured packet."""

from typing import NamedTuple

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
