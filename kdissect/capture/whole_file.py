"""Files that are there complete, or not at all, and the cleanup after a killed process.

A file in progress is next to its place as `NAME.PID.part`, locked by its writer, and is moved there at the
end. The next writer of the same place deletes files with such a name that have no writer any more: a living
process keeps its own file, and so does a process that cannot be seen from here (another container) by its
lock.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

_NEVER_REPLACED = ("/dev/", "/proc/")  # /dev/stdout may lead to a regular file, and must stay at its path
_MEMORY = "/dev/shm/"  # files like others
# Bytes of a name before `.PID.part`: file systems take 255.
_LONGEST = 220
_PART = re.compile(r"(.+)\.(\d{1,10})\.part", re.DOTALL)


def is_special(path: str) -> bool:
    """Return whether a path must be written in place: no other file may replace it."""
    place = os.path.abspath(path)  # noqa: PTH100  paths stay strings
    if place.startswith(_NEVER_REPLACED) and not place.startswith(_MEMORY):
        return True
    return os.path.exists(path) and not os.path.isfile(path)  # noqa: PTH110, PTH113


def beside(path: str) -> str:
    """Return the path at which this process writes the file for `path`."""
    folder, name = os.path.split(path)
    name = os.fsdecode(os.fsencode(name)[:_LONGEST])
    return os.path.join(folder, f"{name}.{os.getpid()}.part")  # noqa: PTH118


def _forget_killed(path: str) -> None:
    """Delete files that killed processes left next to a place. Raises no exception: such a file blocks no
    writer.
    """
    mine = beside(path)
    wanted = _PART.fullmatch(os.path.basename(mine))  # noqa: PTH119
    for name, part in abandoned(os.path.dirname(path)):  # noqa: PTH120
        if wanted is not None and name == wanted[1]:
            _delete(part)


def abandoned(folder: str) -> Iterator[tuple[str, str]]:
    """Yield (NAME, path) of each `NAME.PID.part` in a folder whose writer has ended."""
    try:
        names = os.listdir(folder or os.curdir)  # noqa: PTH208
    except OSError:
        return
    for name in names:
        found = _PART.fullmatch(name)
        part = os.path.join(folder, name)  # noqa: PTH118
        if found is not None and not _lives(int(found[2])) and not is_locked(part):
            yield found[1], part


@contextmanager
def claimed(path: str) -> Iterator[None]:
    """Claim a place that is being written, such as a folder of many files, by an empty file next to it."""
    mark = beside(path)
    with open(mark, "wb") as stream:  # noqa: PTH123
        lock(stream.fileno())
        try:
            yield
        finally:
            _delete(mark)


class WholeFile:
    """Writer of a file next to its place. It moves the file there at the end, and an error leaves the former
    file.

    Used with `with`, which returns a binary stream. A pipe or a device is written directly. Raises OSError.
    """

    def __init__(self, path: str) -> None:
        self._path = path if is_special(path) else os.path.realpath(path)  # a link stays a link
        self._beside = path if is_special(path) else beside(self._path)
        self._stream: BinaryIO | None = None

    def __enter__(self) -> BinaryIO:
        if self._beside != self._path:
            _forget_killed(self._path)
        self._stream = open(self._beside, "wb")  # noqa: PTH123  paths stay strings
        if self._beside != self._path:
            lock(self._stream.fileno())
        return self._stream

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._stream is not None
        try:
            self._stream.close()
        except OSError:  # the last bytes did not fit
            self._forget()
            raise
        if self._beside == self._path:
            return
        if error is not None:
            self._forget()
            return
        try:
            os.replace(self._beside, self._path)  # noqa: PTH105
        except OSError:
            self._forget()
            raise

    def _forget(self) -> None:
        if self._beside != self._path:
            os.unlink(self._beside)  # noqa: PTH108


class WholeFiles:
    """Writer of files in a temporary folder. At the end it moves all of them into their own folder. An error
    leaves the former files. Files of an earlier run, by the `pattern` of their names, are removed.

    Used with `with`, which returns the folder to write to. Raises OSError.
    """

    def __init__(self, folder: str, pattern: re.Pattern[str]) -> None:
        self._folder = folder
        self._pattern = pattern
        self._place = os.path.join(folder, "files")  # noqa: PTH118
        self._staging = beside(self._place)
        self._handle = -1

    def __enter__(self) -> str:
        _forget_killed(self._place)
        _delete(self._staging)  # of a killed process with our number
        os.mkdir(self._staging)  # noqa: PTH102
        with suppress(OSError):  # Windows opens no folders
            self._handle = os.open(self._staging, os.O_RDONLY)
            lock(self._handle)
        return self._staging

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._move()
        finally:
            _delete(self._staging)
            if self._handle >= 0:
                os.close(self._handle)

    def _move(self) -> None:
        made = os.listdir(self._staging)  # noqa: PTH208
        for name in made:
            os.replace(os.path.join(self._staging, name), os.path.join(self._folder, name))  # noqa: PTH105, PTH118
        for name in set(os.listdir(self._folder)).difference(made):  # noqa: PTH208
            if self._pattern.fullmatch(name):
                os.unlink(os.path.join(self._folder, name))  # noqa: PTH108, PTH118


def _delete(path: str) -> None:
    """Delete a file, or a folder with its content. Raises no exception."""
    if os.path.isdir(path):  # noqa: PTH112
        import shutil  # costs more than the list of a small capture

        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108


def _lives(pid: int) -> bool:
    """Return whether a process of this number exists. Without signals that ask (Windows) the file itself
    shows it.
    """
    if os.name != "posix":
        return False  # a file that is open there cannot be deleted
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OverflowError, OSError):  # of another user, or no number that a process can have
        return pid < 1 << 31
    return True


def lock(handle: int) -> bool:
    """Lock an open file. Return False if another process holds the lock. File systems without locks always
    succeed.
    """
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def is_locked(path: str) -> bool:
    """Return whether another process holds the lock of a file, or may do so."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return True  # not ours to judge
    try:
        return not lock(handle)
    finally:
        os.close(handle)
