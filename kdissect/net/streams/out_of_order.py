"""A TCP segment on its way through reassembly."""

from typing import NamedTuple


class OutOfOrderSegment(NamedTuple):
    """A segment with bytes or a FIN, placed in its stream.

    It occupies `len(payload) + missing` bytes from stream offset `offset` on. `needs` is the offset its
    sender had received from the other direction when it sent it: it belongs after those bytes, wherever it
    stands in the capture.
    """

    offset: int
    payload: bytes
    missing: int
    fin: bool
    needs: int
    ref: int
    time_ns: int
    ip_id: int

    @property
    def end(self) -> int:
        """Stream offset behind its last byte."""
        return self.offset + len(self.payload) + self.missing
