"""The files of `-w`: one, or a ring of them.

Names of a ring are dumpcap's: `NAME_00001_20260401120000.EXT`, number and UTC, so that `rotation` knows them
for one capture. Whole blocks are written. Each file begins with the section and interfaces of its packets and
ends with statistics. If the disk is full, the file is cut after its last whole block.

A bounded ring (`Ring.is_bounded`) goes on with the files of an earlier run. It removes its oldest files
before all of them exceed the bound, and when the disk is full.
"""

import errno
import os
import re
import time
from collections import deque
from collections.abc import Callable
from struct import Struct

from kdissect.capture.live.blocks import Blocks, statistics_block
from kdissect.capture.live.lag import Lag, Uncounted
from kdissect.capture.live.live_settings import Ring
from kdissect.capture.live.tapes import GrowingFile
from kdissect.capture.whole_file import is_locked, lock

_LENGTH = Struct("<I").unpack_from
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_PAGE = 4096  # file systems allocate whole pages
_NOTE_S = 60.0  # a full disk is reported no more often than this
# The capturing process of a killed command writes for some seconds: it empties the buffer of the kernel.
_ENDING_S = 5.0


class FileRing:
    """Writer of blocks to a ring of files. `opened` is called with each new file, before the first bytes are
    in it.
    """

    def __init__(
        self,
        path: str,
        ring: Ring,
        opened: Callable[[GrowingFile], None],
        lag: Lag | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._path = path
        self._ring = ring
        self._clock = clock or time.monotonic
        self._lag = lag or Uncounted()
        self.opened = opened
        self._handle = -1
        self._number = 0
        self._began = 0.0
        self._file: GrowingFile | None = None
        self._kept: deque[GrowingFile] = deque()
        self._to_remove: list[GrowingFile] = []
        self._drops: dict[int, int] = {}  # reported in earlier files
        self.paths: list[str] = []
        """The files there are."""
        self.open_file: Callable[[str], int] = open_file
        """Opens or creates a file to write from its start. Raises OSError."""
        self.note: Callable[[str], None] = _pass
        """Takes a line for people: what a full disk cost."""
        self.unwritten = 0
        """Packets for which a full disk had no space, although all older files were removed."""
        self._has_begun = False
        self._quiet_until_s = float("-inf")
        if ring.is_bounded:
            self._adopt()

    def write(self, blocks: Blocks, preamble: bytes, drops: dict[int, int]) -> None:
        """Write blocks. `preamble` is the beginning of a file with them. Raises OSError."""
        rest: Blocks | None = blocks
        while rest is not None:
            if self._file is not None and rest.packets and self._is_over(self._file, rest.data):
                self._finish(drops)
            file = self._file
            if file is None:
                is_first, file = not self._has_begun, self._begin(rest, preamble)
                if file is None:
                    self.unwritten += rest.packets
                    return
                if not is_first and not rest.packets:
                    return  # the preamble has the blocks
            part, rest = self._fitting(file, rest)
            if not self._put(file, part.data, part.packets) and not file.written:
                self._discard(file)  # what follows needs the section

    def expire(self) -> None:
        """Remove files that are older than the bound, also when no packets come."""
        self._remove_old()

    def close(self, drops: dict[int, int]) -> None:
        """End the capture. Raises OSError if the last block found no space."""
        if self._file is not None:
            self._finish(drops)

    def _is_over(self, file: GrowingFile, data: bytes) -> bool:
        """Return whether the next packet belongs into the next file. No file is without packets."""
        if not file.packets:
            return False
        too_long = self._ring.seconds and self._clock() - self._began >= self._ring.seconds
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

    def _begin(self, blocks: Blocks, preamble: bytes) -> GrowingFile | None:
        """Return a new file that packets can follow in; None if a full disk has no space for it."""
        is_first = not self._has_begun
        while True:
            try:
                file = self._open()
                break
            except OSError as error:
                if not self._makes_space(error):
                    return None
        # the first blocks of all are the section itself
        if (blocks.packets or not is_first) and not self._put(file, preamble, 0):
            self._discard(file)
            return None
        self._has_begun = True
        return file

    def _discard(self, file: GrowingFile) -> None:
        """Remove the file that was begun."""
        os.close(self._handle)
        self._handle, self._file = -1, None
        file.close()
        self._to_remove.append(self._kept.pop())
        self._remove_old()

    def _open(self) -> GrowingFile:
        self._number += 1
        path = self._path
        if self._ring.is_rotated:
            stem, extension = os.path.splitext(path)  # noqa: PTH122  paths stay strings here
            mark = time.strftime("%Y%m%d%H%M%S", time.gmtime())
            path = f"{stem}_{self._number:05}_{mark}{extension}"
        self._handle = self.open_file(path)
        if self._ring.is_bounded:
            lock(self._handle)
        self._began = self._clock()
        self._file = GrowingFile(path, self._lag)
        self._file.latest_s = self._began
        self._kept.append(self._file)
        self.paths.append(path)
        self._remove_old()
        self.opened(self._file)
        return self._file

    def _adopt(self) -> None:
        """Take the files of an earlier run for the oldest ones, and cut a block that is not complete."""
        found = ring_files(self._path)
        for number, path in found:
            self._number = max(self._number, number)
            try:
                if path == found[-1][1]:
                    _mend(path)
                status = os.stat(path)  # noqa: PTH116
                if not status.st_size:
                    os.unlink(path)  # noqa: PTH108
                    continue
            except OSError:
                continue
            file = GrowingFile(path, self._lag)
            file.written, file.is_closed = status.st_size, True
            file.latest_s = self._clock() - max(time.time() - status.st_mtime, 0.0)
            self._kept.append(file)
            self.paths.append(path)
        self._make_room(0)
        self._remove_old()

    def _make_room(self, size: int) -> bool:
        """Remove the oldest files until as many bytes fit. Return False if they do not."""
        most = self._ring.total_bytes
        if not most:
            return True
        while self._on_disk() + size > most:
            if not self._remove_oldest():
                return False
        return True

    def _on_disk(self) -> int:
        return sum(-(-file.written // _PAGE) * _PAGE for file in self._kept) + _PAGE

    def _remove_oldest(self) -> bool:
        """Remove the oldest file that is not being written. Return False if there is none."""
        if not self._kept or self._kept[0] is self._file:
            return False
        self._to_remove.append(self._kept.popleft())
        self._remove_old()
        return True

    def _makes_space(self, error: OSError) -> bool:
        """Remove the oldest file if the disk is full and the ring is bounded. Return False if there is none.

        Raises any other error.
        """
        if not self._ring.is_bounded or error.errno not in _FULL:
            raise error
        is_removed = self._remove_oldest()
        if self._clock() >= self._quiet_until_s:
            self._quiet_until_s = self._clock() + _NOTE_S
            what = "the oldest packets of the ring are removed" if is_removed else "packets are not recorded"
            self.note(f"the disk is full: {what}")
        return is_removed

    def _remove_old(self) -> None:
        while self._ring.keep and len(self._kept) > self._ring.keep:
            self._to_remove.append(self._kept.popleft())
        since = self._clock() - self._ring.total_seconds
        while self._ring.total_seconds and self._kept and self._kept[0].latest_s < since:
            if self._kept[0] is self._file:
                break
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
        if self.unwritten:
            drops = {**drops, 0: drops.get(0, 0) + self.unwritten}
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

    def _put(self, file: GrowingFile, data: bytes, packets: int) -> bool:
        """Write whole blocks. Return False if a bounded ring has no space for some of them."""
        if self._ring.is_bounded:
            file.latest_s = self._clock()
            self._remove_old()
        if not self._make_room(len(data)):
            self.unwritten += packets
            return False
        while data:
            size, count, error = self._written(file, data, packets)
            data, packets = data[size:], packets - count
            if error is not None and not self._makes_space(error):
                self.unwritten += packets
                return False
        return True

    def _written(self, file: GrowingFile, data: bytes, packets: int) -> tuple[int, int, OSError | None]:
        """Return how many bytes and packets were written, in whole blocks, and the error that ended it."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        except OSError as error:
            whole, count = _whole_blocks(data, len(data) - len(rest))
            os.ftruncate(self._handle, file.written + whole)
            os.lseek(self._handle, 0, os.SEEK_END)  # or what is written next would leave a hole
            file.wrote(whole, min(count, packets))
            return whole, min(count, packets), error
        file.wrote(len(data), packets)
        return len(data), packets, None


def ring_files(path: str) -> list[tuple[int, str]]:
    """Return number and path of the files of a ring, the oldest first."""
    folder, name = os.path.split(path)
    stem, extension = map(re.escape, os.path.splitext(name))  # noqa: PTH122
    pattern = re.compile(rf"{stem}_(\d{{5,}})_\d{{14}}{extension}")
    try:
        names = os.listdir(folder or os.curdir)  # noqa: PTH208
    except OSError:
        return []
    found = [(int(match[1]), match[0]) for match in map(pattern.fullmatch, names) if match]
    return [(number, os.path.join(folder, name)) for number, name in sorted(found)]  # noqa: PTH118


def _mend(path: str) -> None:
    """Cut a file after its last whole block, once its writer has ended. Raises OSError."""
    until = time.monotonic() + _ENDING_S
    while is_locked(path) and time.monotonic() < until:
        time.sleep(0.05)
    handle = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        size, position = os.fstat(handle).st_size, 0
        while position + 8 <= size:
            os.lseek(handle, position, os.SEEK_SET)
            length = _first_length(os.read(handle, 8))
            if length < 12 or position + length > size:
                break
            position += length
        if position < size:
            os.ftruncate(handle, position)
    finally:
        os.close(handle)


def _pass(_line: str) -> None:
    return None


def open_file(path: str) -> int:
    """Open a file to write from its start. Raises OSError."""
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
