"""What a reader of frames needs of the connection it reads for."""

from typing import Protocol

from kdissect.model.anomaly import Anomaly
from kdissect.model.packets.stream import CloseKind


class FrameOwner(Protocol):
    """What a reader asks of the connection it belongs to. `direction` is the reader's."""

    def undecided(self, direction: int, payload: bytes, ref: int, time_ns: int) -> None:
        """Bytes of a connection whose kind is not known yet."""

    def undecided_gap(self, direction: int, length: int, snapped: bool, ref: int, time_ns: int) -> None:
        """Missing bytes of a connection whose kind is not known yet."""

    def find_frame(self, direction: int, data: bytes, first: int) -> int:
        """Offset of the next plausible frame in `data`; ~offset of the undecided end if there is none."""

    def lost(self, direction: int, why: str) -> None:
        """The reader lost its position."""

    def is_middle_start(self, direction: int) -> bool:
        """Whether the beginning of the direction was not captured."""

    def note(self, anomaly: Anomaly) -> None:
        """An anomaly of the connection."""

    def is_foreign(self, direction: int, data: bytes, ref: int, time_ns: int) -> bool:
        """Whether the first bytes of the direction, which are no frame, are another protocol's."""

    def ending(self, how: CloseKind, time_ns: int) -> None:
        """A direction ends, with a frame that is not whole."""

    def ended(self, direction: int, how: CloseKind, time_ns: int) -> None:
        """The direction ended."""
