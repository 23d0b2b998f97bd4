"""Log segments and snapshots on disk."""

import os
from collections.abc import Iterator

# In one read: more than most batches, so that few are joined from two reads.
CHUNK = 4 << 20
# Names of files with batches; folders are looked through for them.
SUFFIXES = (".log", ".checkpoint", ".log.deleted", ".log.cleaned", ".log.swap")
MAX_INDEX = 64 << 20  # segment.index.bytes is 10 MiB; a larger file is no index


def find_segments(paths: list[str]) -> Iterator[str]:
    """The files named, and the segments and snapshots in the folders named, sorted. Raises OSError."""
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112  paths stay strings here
            yield from _inside(path)
        else:
            yield path


def _inside(path: str) -> Iterator[str]:
    for folder, folders, names in os.walk(path, onerror=_fail):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(SUFFIXES))  # noqa: PTH118


def _fail(error: OSError) -> None:
    raise error


def chunks(path: str) -> Iterator[bytes]:
    """The bytes of a file. Raises OSError."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        while data := file.read(CHUNK):
            yield data


def beside(path: str, suffix: str) -> bytes | None:
    """The content of the index beside a segment, `suffix` its ending; None where there is none."""
    if not path.endswith(".log"):
        return None
    try:
        with open(path.removesuffix(".log") + suffix, "rb") as file:  # noqa: PTH123
            return file.read(MAX_INDEX)
    except OSError:
        return None


def base_offset(path: str) -> int:
    """The offset in a segment's name; 0 where it has none."""
    name = os.path.basename(path).split(".")[0].split("-")[0]  # noqa: PTH119
    return int(name) if name.isdigit() else 0
