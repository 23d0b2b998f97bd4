"""The packets of one analysis: files that the ring has already, then files that the capture begins.

An analysis of weeks would need the memory of weeks. So an analysis ends between two files, and the next one
begins with the packets of the last minutes, which it reads from the ring.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence

from kdissect.capture.byte_source import FileSource
from kdissect.capture.capture_file import CaptureFile
from kdissect.model.errors import CaptureError
from kdissect.model.packets.packet import PlainPacket

RING = "ring"
"""Name of the capture set, in all analyses."""


class Stretch:
    """A `Captures` of files in a ring. `opened` yields files that are being written.

    None instead of a file ends the stretch, and so does `is_enough`, which is asked before each file. If
    `is_late`, the file that is being read is left.
    `between` is called between batches of the old files.
    """

    is_live = True
    joined_logs: Sequence[CaptureFile] = ()
    total_bytes = None

    def __init__(
        self,
        old: Sequence[str],
        opened: Iterator[CaptureFile | None],
        is_enough: Callable[[], bool],
        between: Callable[[], None],
        is_late: Callable[[], bool] = lambda: False,
    ) -> None:
        self.files: list[CaptureFile] = []
        self.latest = ""
        """Path of the last file that was begun."""
        self._old = old
        self._opened = opened
        self._is_enough = is_enough
        self._between = between
        self._is_late = is_late

    @property
    def errors(self) -> list[CaptureError]:
        """Errors so far."""
        return [file.error for file in self.files if file.error is not None]

    @property
    def drops(self) -> int:
        """Packets that the capture lost, as far as the files report it."""
        return sum(file.drops for file in self.files)

    def batches(self) -> Iterator[Sequence[PlainPacket]]:
        """Yield the packets, in non-empty sequences, as they come. Raises no exception."""
        for path in self._old:
            for batch in self._read(CaptureFile(path, FileSource(path), None)):
                yield batch
                self._between()
        while not self._is_enough():
            file = next(self._opened, None)
            if file is None:
                return
            self.latest = file.path
            batches = self._read(file)
            for batch in batches:
                yield batch
                if self._is_late():
                    batches.close()

    def _read(self, file: CaptureFile) -> Generator[Sequence[PlainPacket]]:
        file.index = len(self.files)
        file.capture_set = RING
        self.files.append(file)
        return file.batches()
