"""Frames of a log: like those of an analyzer, but their bytes are read when looked at."""

from typing import NamedTuple, Protocol

from kdissect.model.frame import Frame
from kdissect.session.info import ConnectionInfo


class Want(NamedTuple):
    """A frame to be found again.

    `captured` of `size` bytes were there without a hole; `mark` is the checksum of the first `MARK_BYTES` of
    them, or with `is_kept` their block in the spool. Both sizes are without the frame's own size prefix.
    """

    connection: ConnectionInfo
    is_request: bool
    first_ref: int
    last_ref: int
    time_ns: int
    end_time_ns: int
    size: int
    captured: int
    mark: int
    is_kept: bool


class Span(NamedTuple):
    """Bytes `start` to `end` of a frame, counted from its size prefix on, and the packet they came in."""

    start: int
    end: int
    ref: int


class Found(NamedTuple):
    """A frame's content without its size prefix; `spans` tell the packets, where they are known.

    `why` says what went wrong; then `data` is empty.
    """

    data: bytes
    spans: tuple[Span, ...] = ()
    why: str = ""


class FrameStore(Protocol):
    """Finds the bytes of frames again. Raises nothing."""

    def find(self, want: Want) -> Found:
        """The frame, or why it cannot be had."""


class LoggedFrame(Frame):
    """A frame whose `data` is fetched when it is looked at; `found` tells its packets, too."""

    __slots__ = ("_found", "_store", "want")

    def __init__(self, want: Want, store: FrameStore | None) -> None:
        self.want = want
        self._store = store
        self._found: Found | None = None
        self.size = want.size
        self.first_ref = want.first_ref
        self.last_ref = want.last_ref
        self.time_ns = want.time_ns
        self.end_time_ns = want.end_time_ns
        self.anomalies = None

    @property
    def found(self) -> Found:
        """What was found."""
        if self._found is None:
            store = self._store
            self._found = Found(b"", (), "it was dropped") if store is None else store.find(self.want)
        return self._found

    @property
    def data(self) -> bytes:  # type: ignore[override]
        """The content; empty where it cannot be had any more."""
        return self.found.data

    @property
    def is_cut(self) -> bool:
        """Whether bytes of the frame are missing, from the capture or since."""
        if self.want.captured < self.size:
            return True
        return self._found is not None and bool(self._found.why)
