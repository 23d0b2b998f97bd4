"""How the TCP layer hands one direction's bytes to its reader."""

from enum import StrEnum
from typing import Protocol


class CloseKind(StrEnum):
    """How a direction ended."""

    FIN = "fin"
    RST = "rst"
    IDLE = "idle"  # evicted after silence
    CAPTURE_END = "capture_end"
    REUSED = "reused"  # a new SYN took the port pair


UNKNOWN_LENGTH = -1  # of a gap: nobody can tell how many bytes are missing


class StreamSink(Protocol):
    """Receives one direction of a TCP connection, in stream order."""

    def opened(self) -> None:
        """The SYN of this direction was seen: the next byte is the first of the stream."""

    def data(self, payload: bytes, ref: int, time_ns: int) -> None:
        """The next bytes, never empty, from the packet `ref` captured at `time_ns`."""

    def gap(self, length: int, snapped: bool, ref: int, time_ns: int) -> None:
        """The next `length` bytes were not captured (`UNKNOWN_LENGTH`: who knows how many).

        `snapped` when a snap length cut them (then the packet is `ref`).
        """

    def end(self, how: CloseKind, ref: int, time_ns: int) -> None:
        """No more bytes. Called at most once."""
