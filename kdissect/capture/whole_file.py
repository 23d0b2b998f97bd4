"""A file that is there complete, or not at all."""

import os
from types import TracebackType
from typing import BinaryIO

_NEVER_REPLACED = ("/dev/", "/proc/")  # /dev/stdout may lead to a regular file, and must stay where it is


def is_special(path: str) -> bool:
    """Whether a path must be written where it is: no other file may take its place."""
    if os.path.abspath(path).startswith(_NEVER_REPLACED):  # noqa: PTH100  paths stay strings
        return True
    return os.path.exists(path) and not os.path.isfile(path)  # noqa: PTH110, PTH113


class WholeFile:
    """Writes beside the place and moves the file there at the end; an error leaves what was there before.

    Used with `with`; gives a binary stream. What is no regular file (a pipe, a device) is written directly.
    Raises OSError.
    """

    def __init__(self, path: str) -> None:
        self._path = path if is_special(path) else os.path.realpath(path)  # a link stays a link
        self._beside = path if is_special(path) else f"{self._path}.{os.getpid()}.part"
        self._stream: BinaryIO | None = None

    def __enter__(self) -> BinaryIO:
        self._stream = open(self._beside, "wb")  # noqa: PTH123  paths stay strings
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
