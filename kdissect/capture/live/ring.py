"""The files of `-w`: one, or a ring of them.

Names of a ring are dumpcap's: `NAME_00001_20260401120000.EXT`, number and UTC, so that `rotation` knows them
for one capture. Whole blocks are written. Each file begins with the section and interfaces of its packets and
ends with statistics. If the disk is full, the file is cut after its last whole block.
"""

import os
import time
from collections import deque
from collections.abc import Callable
from struct import Struct

from kdissect.capture.live.blocks import Blocks, statistics_block
from kdissect.capture.live.lag import Lag
from kdissect.capture.live.live_settings import Ring
from kdissect.capture.live.tapes import GrowingFile

_LENGTH = Struct("<I").unpack_from
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class FileRing:
    """Writer of blocks to a ring of files. `opened` is called with each new file, before the first bytes are
    in it.
    """

    def __init__(
        self, path: str, ring: Ring, opened: Callable[[GrowingFile], None], lag: Lag | None = None
    ) -> None:
        self._path = path
        self._ring = ring
        self._lag = lag or Lag()
        self._opened = opened
        self._handle = -1
        self._number = 0
        self._began = 0.0
        self._file: GrowingFile | None = None
        self._kept: deque[GrowingFile] = deque()
        self._to_remove: list[GrowingFile] = []
        self._drops: dict[int, int] = {}  # reported in earlier files
        self.paths: list[str] = []
        """The files there are."""
        self.open_file: Callable[[str], int] = _open_file
        """Opens or creates a file to write from its start. Raises OSError."""

    def write(self, blocks: Blocks, preamble: bytes, drops: dict[int, int]) -> None:
        """Write blocks. `preamble` is the beginning of a file with them. Raises OSError."""
        rest: Blocks | None = blocks
        while rest is not None:
            if self._file is not None and rest.packets and self._is_over(self._file, rest.data):
                self._finish(drops)
            file = self._file
            if file is None:
                file = self._open()
                if rest.packets:
                    self._put(file, preamble, 0)
            part, rest = self._fitting(file, rest)
            self._put(file, part.data, part.packets)

    def close(self, drops: dict[int, int]) -> None:
        """End the capture. Raises OSError if the last block found no space."""
        if self._file is not None:
            self._finish(drops)

    def _is_over(self, file: GrowingFile, data: bytes) -> bool:
        """Return whether the next packet belongs into the next file. No file is without packets."""
        if not file.packets:
            return False
        too_long = self._ring.seconds and time.monotonic() - self._began >= self._ring.seconds
        return bool(too_long or (self._ring.bytes and file.written + _first_length(data) > self._ring.bytes))

    def _fitting(self, file: GrowingFile, blocks: Blocks) -> tuple[Blocks, Blocks | None]:
        """Return the part that still goes into the file, one block at least, and the remaining part."""
        if not self._ring.bytes or not blocks.packets:
            return blocks, None
        room = max(self._ring.bytes - file.written, _first_length(blocks.data))
        if len(blocks.data) <= room:
            return blocks, None
        size, count = _whole_blocks(blocks.data, room)
        count = min(count, blocks.packets)
        return Blocks(blocks.data[:size], count), Blocks(blocks.data[size:], max(blocks.packets - count, 1))

    def _open(self) -> GrowingFile:
        self._number += 1
        path = self._path
        if self._ring.is_rotated:
            stem, extension = os.path.splitext(path)  # noqa: PTH122  paths stay strings here
            mark = time.strftime("%Y%m%d%H%M%S", time.gmtime())
            path = f"{stem}_{self._number:05}_{mark}{extension}"
        self._handle = self.open_file(path)
        self._began = time.monotonic()
        self._file = GrowingFile(path, self._lag)
        self._kept.append(self._file)
        self.paths.append(path)
        self._remove_old()
        self._opened(self._file)
        return self._file

    def _remove_old(self) -> None:
        while self._ring.keep and len(self._kept) > self._ring.keep:
            self._to_remove.append(self._kept.popleft())
        still = []
        for file in self._to_remove:
            file.is_removed = True
            try:
                os.unlink(file.path)  # noqa: PTH108
            except FileNotFoundError:
                pass
            except OSError:  # Windows, while the analysis reads it: at the next turn
                still.append(file)
                continue
            self.paths.remove(file.path)
        self._to_remove = still

    def _finish(self, drops: dict[int, int]) -> None:
        file, now = self._file, time.time_ns()
        assert file is not None
        try:
            for interface, count in drops.items():
                since = count - self._drops.get(interface, 0)
                self._put(file, statistics_block(interface, max(since, 0), now), 0)
        finally:
            self._drops = dict(drops)
            os.close(self._handle)
            self._handle = -1
            self._file = None
            file.close()

    def _put(self, file: GrowingFile, data: bytes, packets: int) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        except OSError:
            whole, count = _whole_blocks(data, len(data) - len(rest))
            os.ftruncate(self._handle, file.written + whole)
            os.lseek(self._handle, 0, os.SEEK_END)  # or what is written next would leave a hole
            file.wrote(whole, min(count, packets))
            raise
        file.wrote(len(data), packets)


def _open_file(path: str) -> int:
    return os.open(path, _FLAGS, 0o640)


def _first_length(data: bytes) -> int:
    length: int = _LENGTH(data, 4)[0]
    return length


def _whole_blocks(data: bytes, size: int) -> tuple[int, int]:
    """Return bytes and number of the blocks that are whole within the first `size` bytes."""
    position = count = 0
    while position + 8 <= size:
        (length,) = _LENGTH(data, position + 4)
        if position + length > size:
            break
        position += length
        count += 1
    return position, count
