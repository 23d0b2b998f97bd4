"""Kafka frames and their headers."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.packets.packet import line_ref, ref_file

if TYPE_CHECKING:
    from kdissect.model.packets.logged import Logged

STREAM_ENDED = "the stream ended"  # why a frame is cut, in the detail of its anomaly


class RequestHeader(NamedTuple):
    """Fields of a request header; `body_offset` is where the body starts in the frame's content.

    `client_id` is None for null on the wire and for header v0, which has none.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_offset: int


FrameRow = tuple[bytes, int, int, int, int, int]
"""The bytes of a `Frame`."""


class Frame:
    """One size-prefixed Kafka message as in its TCP stream.

    `data` is the content after the 4-byte size, as far as it was captured without a hole: `len(data) < size`
    where a snap length, a lost segment or the end of the stream cut it. `first_ref`/`last_ref` are packet
    references, `time_ns` is the time of the packet with its first byte, `end_time_ns` that of the packet with
    its last byte. Only `anomalies` may be set again.
    """

    __slots__ = ("anomalies", "data", "end_time_ns", "first_ref", "last_ref", "size", "time_ns")

    def __init__(
        self, data: bytes, size: int, first_ref: int, last_ref: int, time_ns: int, end_time_ns: int
    ) -> None:
        self.data = data
        self.size = size
        self.first_ref = first_ref
        self.last_ref = last_ref
        self.time_ns = time_ns
        self.end_time_ns = end_time_ns
        self.anomalies: list[Anomaly] | None = None  # None instead of []: most frames have none

    logged: "Logged | None" = None
    """The request log line of the frame. None if it was captured (`LogLineFrame`)."""

    is_logged = False
    """Whether it has a line in `logged`, which costs nothing to ask."""

    line: "Logged | None" = None
    """The line that a request log has for a captured exchange. None without one (`JoinedFrame`)."""

    @property
    def bytes_on_wire(self) -> int | None:
        """Bytes of the frame in the TCP stream, its 4-byte size prefix included; None if not known."""
        return self.size + 4

    @property
    def is_cut(self) -> bool:
        """Whether bytes of the frame are missing from the capture."""
        return len(self.data) < self.size

    def note(self, anomaly: Anomaly) -> None:
        """Attach an anomaly."""
        if self.anomalies is None:
            self.anomalies = []
        self.anomalies.append(anomaly)

    def shortened(self, kept: int) -> "Frame":
        """Return the frame with the first `kept` bytes of its data only."""
        fields = self.size, self.first_ref, self.last_ref, self.time_ns, self.end_time_ns
        short = Frame(self.data[:kept], *fields)
        short.anomalies = self.anomalies
        return short

    def row(self) -> FrameRow:
        """Return the fields that it is built from."""
        return self.data, self.size, self.first_ref, self.last_ref, self.time_ns, self.end_time_ns

    def __reduce__(self) -> tuple[Any, tuple[Any, ...], list[Anomaly] | None]:
        return Frame, self.row(), self.anomalies

    def __setstate__(self, anomalies: list[Anomaly] | None) -> None:
        self.anomalies = anomalies


class JoinedFrame(Frame):
    """A captured frame of an exchange that has a line in a request log, too (`engine.log_lines`)."""

    __slots__ = ("line",)

    def __init__(self, frame: Frame, line: "Logged") -> None:
        super().__init__(*frame.row())
        self.anomalies = frame.anomalies
        self.line = line

    def shortened(self, kept: int) -> "Frame":
        """Return the frame with the first `kept` bytes of its data only."""
        assert self.line is not None
        return JoinedFrame(super().shortened(kept), self.line)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...], list[Anomaly] | None]:
        return JoinedFrame, (Frame(*self.row()), self.line), self.anomalies


_NOT_LOGGED = "its body is not in the request log, or in a form that is not known"


class LogLineFrame(Frame):
    """A frame built from a line of a request log, without its records, so that its size is not known.

    `size` is the size of the built frame, and the references are the line's.
    """

    __slots__ = ("_line",)

    is_logged = True

    def __init__(self, frame: Frame, logged: "Logged") -> None:
        super().__init__(*frame.row())
        self.first_ref = self.last_ref = line_ref(ref_file(frame.first_ref), logged.line)
        if frame.anomalies:
            self.anomalies = [_of_log(anomaly, self.first_ref) for anomaly in frame.anomalies]
        self._line: Logged | bytes = logged

    @classmethod
    def of_row(cls, row: FrameRow, comment: bytes) -> "LogLineFrame":
        """Return a frame that the native engine read, with the comment of its line."""
        self = cls.__new__(cls)
        Frame.__init__(self, *row)
        self._line = comment
        return self

    @property
    def logged(self) -> "Logged | None":  # type: ignore[override]
        """The line, read from its comment on demand."""
        line = self._line
        return logged_of(line) if isinstance(line, bytes) else line

    @property
    def bytes_on_wire(self) -> int | None:
        """Not known."""
        return None

    def shortened(self, kept: int) -> "Frame":
        """Return the frame with the first `kept` bytes of its data only."""
        assert self.logged is not None
        return LogLineFrame(super().shortened(kept), self.logged)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...], list[Anomaly] | None]:
        return LogLineFrame, (Frame(*self.row()), self.logged), self.anomalies


def frame_of_row(row: FrameRow, comment: bytes | None) -> Frame:
    """Return a frame from the native engine, with the comment of its request log line."""
    return Frame(*row) if comment is None else LogLineFrame.of_row(row, comment)


@lru_cache(maxsize=4)  # both frames of a line have it
def logged_of(comment: bytes) -> "Logged | None":
    """Return the line that a comment is of; None for any other comment."""
    from kdissect.model.packets.logged import Logged  # start-up: of request logs alone

    return Logged.of_comment(comment.decode())


def _of_log(anomaly: Anomaly, ref: int) -> Anomaly:
    is_cut = anomaly.kind is AnomalyKind.CUT_FRAME
    return anomaly._replace(detail=_NOT_LOGGED if is_cut else anomaly.detail, ref=ref)


def is_cut_by_end(frame: Frame) -> bool:
    """Return whether only the end of its stream cut a frame: all bytes sent of it were captured."""
    cuts = (note.detail for note in frame.anomalies or () if note.kind is AnomalyKind.CUT_FRAME)
    return any(f": {STREAM_ENDED}" in detail for detail in cuts)
