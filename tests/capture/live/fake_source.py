"""Sources of live bytes without a network."""

import os
from collections.abc import Iterable
from threading import Event


class FakeSource:
    """Gives pieces, as a program's pipe would; `wait` holds the end back until it is stopped."""

    name = "fake"

    def __init__(
        self, pieces: Iterable[bytes], *, wait: bool = False, failure: str = "", drops: int = 0
    ) -> None:
        self._pieces = iter(pieces)
        self._wait = wait
        self._failure = failure
        self._drops = drops
        self.stopped = Event()

    def read(self) -> bytes:
        """Return the next piece."""
        if self.stopped.is_set():
            return b""
        piece = next(self._pieces, b"")
        if not piece and self._wait:
            self.stopped.wait(30)
        return piece

    def stop(self) -> None:
        """End."""
        self.stopped.set()

    def failure(self) -> str:
        """As told."""
        return self._failure

    def drops(self) -> int:
        """As told."""
        return self._drops


def pieces_of(data: bytes, size: int = 4096) -> list[bytes]:
    """Return bytes in pieces."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def names_in(folder: os.PathLike[str]) -> list[str]:
    """Sorted names in a folder."""
    return sorted(os.listdir(folder))  # noqa: PTH208
