"""Files that have arrived and are not yet read: whether each is complete."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.capture.capture_file import CaptureFile
from kdissect.capture.input_paths import begins_like_capture
from kdissect.capture.objects import piece_of, source_of
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.digest import blake2b
from kdissect.pipeline.streaming.arrivals.known_files import Taken

# Seconds for a file that ends inside a packet, or has none, and that has no successor: its writer has ended
# by then.
STALE_S = 600.0


class Patience(NamedTuple):
    """Waiting times in seconds. `settle_s`: how long a size must stay unchanged. `hold_s`: how long a
    complete file waits for files that should have come before it.
    """

    settle_s: float = 2.0
    hold_s: float = 0.0


class Reading(NamedTuple):
    """Facts from reading a file: whether it ends where a packet ends, its number of packets, and the last
    packet's time.
    """

    is_whole: bool
    packets: int
    end_ns: int | None


class Candidate:
    """One path. `first_ns` is the time of the first packet, or None while there is none.

    `taken` is the part of a grown file that was read before. Then `first_ns` is the time of the last packet
    before.
    """

    __slots__ = (
        "_content", "_reading", "complete_since", "first_ns", "is_capture", "mtime_ns", "path", "since",
        "size", "taken",
    )  # fmt: skip

    def __init__(self, path: str, taken: Taken | None = None) -> None:
        self.path = path
        self.taken = taken
        self.size = self.mtime_ns = -1
        self.since = 0.0
        self.complete_since: float | None = None
        self.first_ns: int | None = None
        self.is_capture = False
        self._reading: Reading | None = None
        self._content: str | None = None

    def look(self, size: int, mtime_ns: int, now_s: float) -> None:
        """Note what the file is like now; `now_s` are seconds since 1970."""
        if (size, mtime_ns) == (self.size, self.mtime_ns):
            return
        self.size, self.mtime_ns, self.since = size, mtime_ns, now_s
        self._reading = self._content = self.complete_since = None
        self.is_capture = self.is_capture or begins_like_capture(self.path)
        if self.taken is not None and not self._was_added_to(self.taken):
            self.taken = None
        if self.taken is not None:
            self.first_ns = self.taken.end_ns
        elif self.is_capture:
            self.first_ns = _opened(self.path, self.size).first_time()

    def _was_added_to(self, before: Taken) -> bool:
        """Return whether the path contains what was read before, and more."""
        if before.first_ns is None or self.size < before.size:
            return False
        try:
            return head_id(self.path, before.size) == before.head
        except OSError:
            return False

    def quiet_s(self, now_s: float) -> float:
        """Return the time in seconds since its last change."""
        return max(now_s - self.since, now_s - self.mtime_ns / 1e9)

    @property
    def reading(self) -> Reading:
        """The result of reading the whole file, once for each size."""
        if self._reading is None:
            file = _opened(self.path, self.size)
            end_ns = None
            for batch in file.batches():
                end_ns = batch[-1][1]
            cut = any(found.kind is AnomalyKind.CUT_CAPTURE for found in file.anomalies)
            self._reading = Reading(file.error is None and not cut, file.packets, end_ns)
        return self._reading

    def is_complete(self, has_successor: bool, settle_s: float, now_s: float) -> bool:
        """Return whether the file is complete, as far as its size, its age and its successor show."""
        quiet_s = self.quiet_s(now_s)
        if quiet_s < settle_s and not has_successor:
            return False
        if self.first_ns is not None and self.reading.is_whole:
            return True
        return quiet_s >= (settle_s if has_successor else STALE_S)

    def content(self) -> str:
        """Return its identity. Raises OSError."""
        if self._content is None:
            self._content = _content_id(self.path, self.size)
        return self._content


def _opened(path: str, size: int) -> CaptureFile:
    return CaptureFile(path, source_of(path), size)


# Bytes at the beginning and at the end: some hundred packets with their times.
_EDGE = 1 << 16


def _content_id(path: str, size: int) -> str:
    """Return 32 hex digits for the size and the edges of a file. Raises OSError."""
    digest = blake2b(size.to_bytes(8), digest_size=16)
    digest.update(piece_of(path, 0, _EDGE))
    if size > _EDGE:
        digest.update(piece_of(path, max(_EDGE, size - _EDGE), _EDGE))
    return digest.hexdigest()


def head_id(path: str, size: int) -> str:
    """Return 32 hex digits of the first `size` bytes, at most `_EDGE`, which a grown file still has.

    Raises OSError.
    """
    return blake2b(piece_of(path, 0, min(size, _EDGE)), digest_size=16).hexdigest()
