"""A file that is there complete, or not at all."""

import os
from types import TracebackType
from typing import BinaryIO


class WholeFile:
    """Writes beside the place and moves the file there at the end; an error leaves what was there before.

    Used with `with`; gives a binary stream. What is no regular file (a pipe, /dev/stdout) is written
    directly. Raises OSError.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        is_special = os.path.exists(path) and not os.path.isfile(path)  # noqa: PTH110, PTH113
        self._beside = path if is_special else f"{path}.{os.getpid()}.part"
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
        else:
            os.replace(self._beside, self._path)  # noqa: PTH105

    def _forget(self) -> None:
        if self._beside != self._path:
            os.unlink(self._beside)  # noqa: PTH108
