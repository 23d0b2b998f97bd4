"""Frames of a log: like an analyzer's frames, but their bytes are read on access."""

from typing import NamedTuple, Protocol

from kdissect.model.frame import Frame, logged_of
from kdissect.model.packets.logged import Logged
from kdissect.session.info import ConnectionInfo


class Want(NamedTuple):
    """A frame to be found again.

    `captured` of `size` bytes existed without a hole. `mark` is the checksum of the first `MARK_BYTES` ones,
    or with `is_kept` their block in the spool. Both sizes are without the frame's own size prefix.
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
    """A frame's content without its size prefix; `spans` are its packets, if known.

    `why` is the reason of a failure, with empty `data`. `logged` is the request log line that it was built
    from.
    """

    data: bytes
    spans: tuple[Span, ...] = ()
    why: str = ""
    logged: Logged | None = None


class FrameStore(Protocol):
    """Finds the bytes of frames again. Raises nothing."""

    def find(self, want: Want) -> Found:
        """Return the frame, or the reason why it cannot be read."""


class LoggedFrame(Frame):
    """A frame whose `data` is fetched on access; `found` has its packets, too."""

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
        """The result of the search."""
        if self._found is None:
            store = self._store
            self._found = Found(b"", (), "it was dropped") if store is None else store.find(self.want)
        return self._found

    @property
    def data(self) -> bytes:  # type: ignore[override]
        """The content; empty if it cannot be read any more."""
        return self.found.data

    @property
    def logged(self) -> Logged | None:  # type: ignore[override]
        """The request log line of the frame. None if it was captured."""
        return self.found.logged if self.is_logged else None

    @property
    def is_logged(self) -> bool:  # type: ignore[override]
        """Whether the frame was built from a line of a request log."""
        return self.want.connection.logged is not None

    @property
    def bytes_on_wire(self) -> int | None:
        """Bytes of the frame in the TCP stream; None if not known."""
        return None if self.is_logged else super().bytes_on_wire

    @property
    def is_cut(self) -> bool:
        """Whether bytes of the frame are missing, from the capture or since."""
        if self.want.captured < self.size:
            return True
        return self._found is not None and bool(self._found.why)


def spooled(frame: Frame) -> bytes:
    """Return the content that a spool stores for a frame: the comment of its request log line comes first."""
    logged = frame.logged
    return frame.data if logged is None else b"%b\n%b" % (logged.comment(), frame.data)


def unspooled(found: Found, connection: ConnectionInfo) -> Found:
    """Return a frame of a connection that a spool stored."""
    if connection.logged is None or found.why:
        return found
    comment, _, data = found.data.partition(b"\n")
    return Found(data, logged=logged_of(comment))
