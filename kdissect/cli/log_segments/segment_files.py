"""Log segments and snapshots on disk."""

import os
from collections.abc import Callable, Iterator

from kdissect.engine.segments.index_kinds import KINDS, SNAPSHOT

# Bytes of one read: more than most batches, so that few batches are joined from two reads.
CHUNK = 4 << 20
# Suffixes that a broker adds to the names of files it is about to delete or to swap in (kafka.log.LocalLog).
_PASSING = (".deleted", ".cleaned", ".swap")
# Names of files with batches, for which folders are searched.
_SUFFIXES = (".log", ".checkpoint", *(f".log{passing}" for passing in _PASSING))
_MAX_INDEX = 64 << 20  # segment.index.bytes is 10 MiB; a larger file is no index
_MAX_OFFSET = (1 << 63) - 1
_MAX_DIGITS = 100  # names have 20; Python refuses numbers of 4300


def find_segments(paths: list[str], cannot: Callable[[OSError], None]) -> Iterator[str]:
    """Yield the files named, and the segments and snapshots in the folders named, sorted.

    `cannot` gets the errors of folders that cannot be searched.
    """
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112  paths stay strings here
            yield from _inside(path, cannot)
        else:
            yield path


def _inside(path: str, cannot: Callable[[OSError], None]) -> Iterator[str]:
    for folder, folders, names in os.walk(path, onerror=cannot):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(_SUFFIXES))  # noqa: PTH118


def chunks(path: str) -> Iterator[bytes]:
    """Yield the bytes of a file. Raises OSError."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        while data := file.read(CHUNK):
            yield data


def index_suffix(path: str) -> str | None:
    """`.index`, `.timeindex` ... for a file of `engine.indexes.kinds`; None for one that holds batches."""
    for passing in _PASSING:
        path = path.removesuffix(passing)
    return next((suffix for suffix in KINDS if path.endswith(suffix)), None)


def beside(path: str, suffix: str, other: str) -> str:
    """Return the path of the file with ending `other` next to a file with ending `suffix`: `5.log` to
    `5.index`; empty if the file has another ending.
    """
    folder, name = os.path.split(path)
    stem, found, passing = name.rpartition(suffix)
    return os.path.join(folder, f"{stem}{other}{passing}") if found else ""  # noqa: PTH118


def content(path: str) -> bytes:
    """Return the content of an index or producer snapshot. Raises OSError."""
    with open(path, "rb") as file:  # noqa: PTH123
        return file.read(_MAX_INDEX)


def producer_snapshots(folder: str) -> list[tuple[int, str]]:
    """Return the offset and path of the producer snapshots in a folder, sorted, or none if it
    cannot be read.
    """
    try:
        names = [name for name in os.listdir(folder or ".") if name.endswith(SNAPSHOT)]  # noqa: PTH208
    except OSError:
        return []
    return sorted((base_offset(name), os.path.join(folder, name)) for name in names)  # noqa: PTH118


def base_offset(path: str) -> int:
    """Return the offset in a file's name; 0 where it has none."""
    name = os.path.basename(path).split(".")[0].split("-")[0]  # noqa: PTH119
    offset = int(name) if name.isascii() and name.isdigit() and len(name) < _MAX_DIGITS else 0
    return offset if offset <= _MAX_OFFSET else 0
