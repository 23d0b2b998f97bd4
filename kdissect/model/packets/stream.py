"""How the TCP layer hands one direction's bytes to its reader."""

from enum import Enum, StrEnum, auto
from typing import Protocol


class CloseKind(StrEnum):
    """How a direction ended."""

    FIN = "fin"
    RST = "rst"
    IDLE = "idle"  # evicted after silence
    CAPTURE_END = "capture_end"
    REUSED = "reused"  # a new SYN took the port pair


UNKNOWN_LENGTH = -1  # of a gap: the number of missing bytes is unknown


Part = tuple[bytes, int, int]
"""Bytes of a stream, the reference of their packet and its time in nanoseconds."""


class Hole:
    """A gap that its reader may still fill. `is_filled`: it did."""

    __slots__ = ("is_filled",)

    def __init__(self) -> None:
        self.is_filled = False


class Filling(Enum):
    """Result for the late bytes of a gap."""

    PUT_BACK = auto()  # the reader went on as if they had been there
    KEPT = auto()  # they are useful if the bytes of another gap come, too
    DROPPED = auto()  # nothing needs them any more


class StreamSink(Protocol):
    """Receives one direction of a TCP connection, in stream order."""

    def opened(self) -> None:
        """Note that the SYN of this direction was seen: the next byte is the first of the stream."""

    def data(self, payload: bytes, ref: int, time_ns: int) -> None:
        """Take the next bytes, never empty, from the packet `ref` captured at `time_ns`."""

    def gap(
        self, length: int, snapped: bool, ref: int, time_ns: int, *, can_fill: bool = False
    ) -> Hole | None:
        """Skip the next `length` bytes, which were not captured (`UNKNOWN_LENGTH`: the number is not known).

        `snapped` when a snap length cut them (then the packet is `ref`). `can_fill`: the caller keeps what
        this returns, and fills or forgets it. Returns what `fill` needs, if the bytes may still be of use.
        """

    def fill(self, hole: Hole, parts: list[Part]) -> Filling:
        """Insert the bytes of a gap, all of which came late, in `parts`."""

    def forget(self, hole: Hole) -> None:
        """No bytes of a gap come any more."""

    def end(self, how: CloseKind, ref: int, time_ns: int) -> None:
        """No more bytes. Called at most once."""
