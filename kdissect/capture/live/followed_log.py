"""A file that a broker appends its request log to, as the source of a live capture: the interface `log:FILE`.

It is read from its start. When the broker begins the next file of the rotation under the same name, that file
is read after it.
"""

import errno
import os
import stat
import threading

PREFIX = "log:"
_READ = 1 << 20
# Seconds between two tests for growth.
_POLL_S = 0.05
# Without O_NONBLOCK, opening a named pipe waits for its writer.
_READ_ONLY = os.O_RDONLY
for _flag in ("O_BINARY", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY"):
    _READ_ONLY |= getattr(os, _flag, 0)


class FollowedLog:
    """Bytes of a file and what is appended to it, until `stop`.

    Raises OSError if it cannot be opened, or is no regular file: a pipe or a device may never end a read.
    """

    def __init__(self, path: str) -> None:
        self.name = PREFIX + path
        self._path = path
        self._handle = _opened(path)
        self._is_line_over = True
        self._stopped = threading.Event()

    def read(self) -> bytes:
        """Return the next bytes, after waiting for them, or no bytes at the end. Raises OSError."""
        while self._handle >= 0:
            is_over = self._stopped.is_set()
            next_handle = None if is_over else self._successor()  # asked first: it ends the file
            data = os.read(self._handle, _READ)
            if data:
                if next_handle is not None:
                    os.close(next_handle)
                self._is_line_over = data.endswith(b"\n")
                return data
            if is_over:
                os.close(self._handle)
                self._handle = -1
                break
            if next_handle is not None:
                os.close(self._handle)
                self._handle = next_handle
                if not self._is_line_over:
                    self._is_line_over = True
                    return b"\n"
                continue
            self._rewind()
            self._stopped.wait(_POLL_S)
        return b""

    def stop(self) -> None:
        """Read what is there, and no further."""
        self._stopped.set()

    def failure(self) -> str:
        """Return no failure: a log that is stopped is none."""
        return ""

    def drops(self) -> int:
        """Return no drops: a broker leaves out no request."""
        return 0

    def _successor(self) -> int | None:
        """Return the file that now has the name, opened; None if it is the same one, or there is none."""
        try:
            handle = _opened(self._path)
        except OSError:  # between two files, or no file
            return None
        if os.path.sameopenfile(handle, self._handle):
            os.close(handle)
            return None
        return handle

    def _rewind(self) -> None:
        """Begin again in a file that was cut to nothing (`copytruncate`)."""
        if os.fstat(self._handle).st_size < os.lseek(self._handle, 0, os.SEEK_CUR):
            os.lseek(self._handle, 0, os.SEEK_SET)


def _opened(path: str) -> int:
    handle = os.open(path, _READ_ONLY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file: log:FILE follows a file that a broker appends to")
    return handle
