"""One writer of a manifest at a time, if the file system can ensure it.

A kernel lock ends with its process, also when that is killed. Object stores have no locks: there tables must
have one writer, which also compacts and forgets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyarrow import fs

if sys.platform != "win32":
    import fcntl

_LOCK = "_kdissect.lock"
REWRITING_LOCK = "_kdissect.rewriting.lock"


class BusyError(OSError):
    """Another process holds the lock. The text is one line for people."""


@contextmanager
def locked(filesystem: Any, root: str, name: str = _LOCK, busy: str = "") -> Iterator[bool]:
    """Hold a lock of a directory: wait for it, or raise BusyError with the text `busy`.

    Yields whether there is a lock at all.
    """
    if sys.platform == "win32" or not isinstance(filesystem, fs.LocalFileSystem):
        yield False
        return
    Path(root).mkdir(parents=True, exist_ok=True)
    with (Path(root) / name).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
        except BlockingIOError:
            raise BusyError(busy) from None
        yield True
