"""Files in folders that other users can write, such as `/tmp`: opened without following or waiting.

Another user may have put a pipe, a link or a folder in the place of a file. Functions here open a folder
first and name files relative to it, so that other users cannot replace the folder between a check and its
use. Linux only.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from kdissect.tap import TapError

# O_NONBLOCK: opening a pipe waits for its other end. O_CLOEXEC: a JVM that kdissect starts inherits no file.
_SAFE = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"))  # not on Windows
# O_PATH: a folder that this user may enter but not list is fine.
_FOLDER = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_DIRECTORY", "O_PATH"))
_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@contextmanager
def opened_folder(path: str, *names: str) -> Iterator[int]:
    """Open a folder below `path`; a symbolic link among `names` is an error. Raises OSError.

    A symbolic link in a container names a path of the container, but Linux would follow it outside.
    """
    handle = os.open(path, _FOLDER)
    try:
        for name in names:
            inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def create(folder: int, name: str, mode: int) -> int:
    """Create a file that does not exist yet, and open it to write. Raises FileExistsError, OSError."""
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, mode, dir_fd=folder)


def read(folder: int, name: str, owners: Sequence[int], size: int) -> bytes:
    """Return up to `size` bytes of a file if these owners have it, else no bytes. Raises OSError."""
    handle = os.open(name, os.O_RDONLY | _SAFE, dir_fd=folder)
    try:
        if objection(os.fstat(handle), owners):
            return b""
        return os.read(handle, size)
    finally:
        os.close(handle)


def found(folder: int, name: str) -> os.stat_result | None:
    """Return the file of this name, or the symbolic link itself, or None. Raises OSError."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def objection(
    what: os.stat_result, owners: Sequence[int], is_kind: Callable[[int], bool] = stat.S_ISREG
) -> str:
    """Return why something is not a file with one of these owners, as the end of a sentence, or an empty text
    if it is.

    `is_kind` is the test of `stat` for the expected kind.
    """
    if not is_kind(what.st_mode):
        return f"is {kind_of(what.st_mode)}"
    if what.st_nlink > 1:
        return "has a hard link with another name"
    if what.st_uid not in owners:
        return f"belongs to {user(what.st_uid)}"
    return ""


def kind_of(mode: int) -> str:
    """Return the kind of a file, with its article."""
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "a regular file")


def user(uid: int) -> str:
    """Return the name of a user, or the number if it has no name."""
    import pwd  # not on Windows

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def open_private(path: str) -> int:
    """Open a file to write, and let no other user read it. Raises TapError, OSError.

    Raises what `create_or_open` raises. The file's content stays. A pipe or device keeps its mode.
    """
    handle = create_or_open(path)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        os.fchmod(handle, 0o600)
    return handle


def create_or_open(path: str) -> int:
    """Open a file to write, and create it with mode 0600. Raises TapError for a planted file, OSError.

    A named pipe of this user waits for its reader, as it does for every other writer. In a folder that other
    users can write, what exists must belong to this user or to the folder's owner: the rule of Linux's
    fs.protected_regular, fs.protected_fifos and fs.protected_symlinks (proc(5)), which not every system has
    on.
    """
    name = os.path.basename(path)  # noqa: PTH119
    with opened_folder(os.path.dirname(path) or ".") as folder:  # noqa: PTH120
        try:
            return create(folder, name, 0o600)
        except FileExistsError:
            pass
        shared = os.fstat(folder)
        if shared.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            existing = found(folder, name)
            owners = (os.geteuid(), shared.st_uid)
            if existing is not None and existing.st_uid not in owners:
                raise TapError(
                    f"{path} is {kind_of(existing.st_mode)} of {user(existing.st_uid)} in a folder that other"
                    " users can write: remove it, or write elsewhere"
                )
            if existing is not None and stat.S_ISREG(existing.st_mode) and existing.st_nlink > 1:
                raise TapError(f"{path} {objection(existing, owners)}: remove it, or write elsewhere")
        return os.open(name, os.O_WRONLY | os.O_CLOEXEC, dir_fd=folder)
