"""Arithmetic on TCP sequence numbers, which wrap around (RFC 9293 section 3.4)."""

MASK = 0xFFFFFFFF  # a sequence number is 32 bits, RFC 9293 section 3.1
HALF = 0x80000000  # numbers up to half the space ahead count as later, RFC 9293 section 3.4
# Sequence numbers below this come from tools that write packets: a real stream begins at a random one.
SMALL = 1 << 16


def add(sequence: int, length: int) -> int:
    """Return the sequence number `length` bytes after `sequence`."""
    return (sequence + length) & MASK


def distance(sequence: int, origin: int) -> int:
    """Return how many bytes `sequence` lies after `origin`: -2**31 to 2**31 - 1, negative when it lies
    before.
    """
    return ((sequence - origin + HALF) & MASK) - HALF
