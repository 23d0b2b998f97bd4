"""Bytes of a stream that are kept, with the packet they came in."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kdissect.excerpt.frame_plans import FramePlan


class Piece(NamedTuple):
    """`payload` of the direction's kept bytes, `skip` of them lost before it; `flags` as in a TCP header.

    `exchange` and `is_request` name the frame whose bytes these are, -1 for none; `frame` is given with the
    first of them.
    """

    ref: int
    time_ns: int
    direction: int
    payload: bytes
    skip: int = 0
    flags: int = 0
    exchange: int = -1
    is_request: bool = False
    frame: "FramePlan | None" = None
