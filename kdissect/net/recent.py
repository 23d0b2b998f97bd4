"""What a direction delivered last, to tell copies and retransmissions apart and to compare overlaps.

Entries are `(offset, payload, ip_id, time_ns)`, references to the payloads delivered, oldest first.
"""

from collections import deque

Recent = deque[tuple[int, bytes, int, int]]

# How much stays, per direction of an open connection: ten thousand connections hold a few hundred MB at most.
# A copy follows its packet at once; a retransmission from further back is counted, but not compared.
RECENT_BYTES = 0x4000
RECENT_SEGMENTS = 16

# A copy of a packet carries its IP identification; those wrap after 65536 packets, so look back no longer
# than this.
COPY_WINDOW_NS = 1_000_000_000
# Without one (IPv6, or 0 as RFC 6864 allows) only what comes sooner than any retransmission timer is a copy:
# RFC 6298 section 2.4 asks for 1 s, Linux takes 200 ms, its tail loss probes two round trips.
COPY_WINDOW_WITHOUT_ID_NS = 2_000_000


def is_copy(ip_id: int, time_ns: int, other_id: int, other_time_ns: int) -> bool:
    """Whether two packets with the same content are one packet captured twice."""
    window = COPY_WINDOW_NS if ip_id > 0 else COPY_WINDOW_WITHOUT_ID_NS
    return ip_id == other_id and time_ns - other_time_ns <= window


def holds_copy(recent: Recent, offset: int, payload: bytes, ip_id: int, time_ns: int) -> bool:
    """Whether this very packet was delivered before."""
    for start, data, other_id, other_time_ns in reversed(recent):
        if start == offset and data == payload:
            return is_copy(ip_id, time_ns, other_id, other_time_ns)
    return False


def first_difference(recent: Recent, offset: int, payload: bytes) -> int:
    """Stream offset of the first byte of `payload` unlike what was delivered at its place, -1 for none."""
    end = offset + len(payload)
    for start, data, _, _ in recent:
        low, high = max(start, offset), min(start + len(data), end)
        if low < high and data[low - start : high - start] != payload[low - offset : high - offset]:
            pairs = zip(data[low - start : high - start], payload[low - offset : high - offset], strict=True)
            return low + next(at for at, (old, new) in enumerate(pairs) if old != new)
    return -1
