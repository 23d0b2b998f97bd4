"""A connection on its way to the compiled copier and back: whole, as data."""

from typing import NamedTuple

UNKNOWN = -1  # a sequence number that no packet showed yet


class CopiedDirection(NamedTuple):
    """`next_seq`, `offset` and `packets` of the stream; `written` is the sequence number of the next byte to
    be written. `frame` is the plan under way, packed, and how many bytes of it went by.
    """

    next_seq: int
    offset: int
    packets: int
    written: int = UNKNOWN
    frame: tuple[bytes, int] | None = None


class CopiedState(NamedTuple):
    """`kept` is None where nothing of the connection is written: its id as comments show it, whether a packet
    of it was written, and whether the handshake's third was, if there is one.
    """

    last_time_ns: int
    directions: tuple[CopiedDirection, CopiedDirection]
    kept: tuple[bytes, bool, bool] | None


_DirectionRow = tuple[int, int, int, int, tuple[bytes, int] | None]
CopiedRow = tuple[int, tuple[_DirectionRow, _DirectionRow], tuple[bytes, bool, bool] | None]
"""A `CopiedState` as it comes back: without its names."""
