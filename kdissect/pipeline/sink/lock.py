"""One writer of a manifest at a time, where the file system can see to it.

A lock of the kernel goes with its process, also when that is killed. Object stores have none: there tables
must have one writer, which compacts and forgets by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LOCK = "_kdissect.lock"


@contextmanager
def locked(filesystem: Any, root: str) -> Iterator[bool]:
    """Wait for the lock of a directory and hold it. Gives whether there is one."""
    from pyarrow import fs

    if not isinstance(filesystem, fs.LocalFileSystem):
        yield False
        return
    try:
        import fcntl
    except ImportError:  # Windows
        yield False
        return
    Path(root).mkdir(parents=True, exist_ok=True)
    with (Path(root) / LOCK).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield True
