"""The data that a direction delivered last, to distinguish copies from retransmissions and to compare
overlaps.

Entries are `(offset, payload, ip_id, time_ns)`, references to the payloads delivered, oldest first.
"""

from collections.abc import Sequence

Delivered = tuple[int, bytes, int, int]
Recent = list[Delivered]

# Bytes stored besides the last segment, per direction of an open connection: ten thousand connections store a
# few hundred MB at most. A copy follows its packet at once. A retransmission from further back is counted,
# but not compared.
RECENT_BYTES = 0x4000
RECENT_SEGMENTS = 16
# A connection that was silent for longer forgets them. A sender that waits longer has sent the bytes again
# before: it waits 1 s or less first, and then twice as long each time (RFC 6298 sections 2.4 and 5.5).
RECENT_NS = 30_000_000_000

# A copy of a packet carries its IP identification. Identifications wrap after 65536 packets, so look back no
# longer than this.
COPY_WINDOW_NS = 1_000_000_000
# Without one (IPv6, or 0 as RFC 6864 allows) only what comes sooner than any retransmission timer is a copy:
# RFC 6298 section 2.4 asks for 1 s, Linux takes 200 ms, its tail loss probes two round trips.
COPY_WINDOW_WITHOUT_ID_NS = 2_000_000
# Before segmentation offload (GSO, TSO) and after receive offload (GRO) a packet is many: one interface of a
# host shows 64 KiB at once, the next one each packet of it, numbered on from the large one. No packet but the
# last is smaller than the default maximum segment size, RFC 9293 section 3.7.1.
SMALLEST_PIECE = 536


def is_copy(ip_id: int, time_ns: int, other_id: int, other_time_ns: int) -> bool:
    """Return whether two packets with the same content are one packet captured twice."""
    window = COPY_WINDOW_NS if ip_id > 0 else COPY_WINDOW_WITHOUT_ID_NS
    return ip_id == other_id and time_ns - other_time_ns <= window


def holds_copy(recent: Sequence[Delivered], offset: int, payload: bytes, ip_id: int, time_ns: int) -> bool:
    """Return whether this very packet was delivered before, as it is, in pieces, or as a piece of a larger
    one.
    """
    for start, data, other_id, other_time_ns in reversed(recent):
        if start == offset and data == payload:
            return is_copy(ip_id, time_ns, other_id, other_time_ns)
    return _is_repacked(recent, offset, payload, ip_id, time_ns)


def _is_repacked(recent: Sequence[Delivered], offset: int, payload: bytes, ip_id: int, time_ns: int) -> bool:
    """Return whether packets that were delivered a moment ago hold these bytes, cut at other positions."""
    at, end = offset, offset + len(payload)
    for start, data, other_id, other_time_ns in recent:
        stop = min(start + len(data), end)
        if stop <= at:
            continue
        if start > at or data[at - start : stop - start] != payload[at - offset : stop - offset]:
            return False
        late = time_ns - other_time_ns > COPY_WINDOW_WITHOUT_ID_NS
        if late or not _may_be_piece(ip_id, other_id, offset - start):
            return False
        at = stop
        if at == end:
            return True
    return False


def _may_be_piece(ip_id: int, other_id: int, ahead: int) -> bool:
    """Return whether two packets, the first `ahead` bytes before the other, may be parts of one by their
    numbers.

    A packet that is sent again gets the next number of all, beyond the numbers of the pieces.
    """
    if ip_id <= 0 or other_id <= 0:
        return ip_id == other_id
    further = (ip_id - other_id) & 0xFFFF if ahead >= 0 else (other_id - ip_id) & 0xFFFF
    return further * SMALLEST_PIECE <= abs(ahead)


def first_difference(recent: Recent, offset: int, payload: bytes) -> int:
    """Return the stream offset of `payload`'s first byte unlike the delivered one at its offset, -1
    for none.
    """
    end = offset + len(payload)
    for start, data, _, _ in recent:
        low, high = max(start, offset), min(start + len(data), end)
        if low < high and data[low - start : high - start] != payload[low - offset : high - offset]:
            pairs = zip(data[low - start : high - start], payload[low - offset : high - offset], strict=True)
            return low + next(at for at, (old, new) in enumerate(pairs) if old != new)
    return -1
