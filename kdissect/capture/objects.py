"""Captures that a URL names: `s3://bucket/traces/`, `hdfs://...`, `file://...`.

Read through pyarrow or fsspec (`filesystems`), which find credentials where their users expect them: in the
environment, a profile, the role of the machine. A URL appears in rows and logs, so that one with credentials
is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from kdissect.capture.byte_source import CHUNK, FileSource
from kdissect.capture.filesystems import filesystem_of, is_url
from kdissect.capture.rotation import natural_order
from kdissect.model.extras import how_to_install

# A request to an object store costs some ten milliseconds: bytes asked for at once.
_REQUEST = 4 << 20
_INSTALL = f"a URL is read by pyarrow ({how_to_install('arrow')}) or, where that knows none, by fsspec"
_CREDENTIALS = r"://[^/]*@"


class Place(NamedTuple):
    """A file: its URL, its size in bytes, when it was written in nanoseconds since 1970 (0: not known)."""

    url: str
    size: int | None
    mtime_ns: int


class ObjectSource(FileSource):
    """A file that a URL names. Without `keep_open` it is opened again for each request."""

    __slots__ = ()

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes from the start, never an empty chunk. Raises OSError."""
        self.bytes_read = 0
        handle = None
        try:
            while True:
                handle = handle or _guarded(_opened, self.path, self.bytes_read)
                data = _guarded(handle.read, self.chunk_size if self.chunk_size < CHUNK else _REQUEST)
                if not data:
                    return
                if not self.keep_open:
                    handle = handle.close()
                for start in range(0, len(data), self.chunk_size):
                    piece = data[start : start + self.chunk_size]
                    self.bytes_read += len(piece)
                    yield piece
        finally:
            if handle is not None:
                handle.close()


def objects_at(url: str, recursive: bool) -> tuple[list[Place], bool]:
    """Return the files of a URL, and whether it names one file.

    A directory means the files in it, hidden ones left out, in natural order. `*` and `[...]` in the last
    part of a URL match names. Raises OSError with the reason.
    """
    if re.search(_CREDENTIALS, url):
        raise OSError("credentials in a URL would be printed: give them by the environment or a profile")
    found: tuple[list[Place], bool] = _guarded(_listed, url, recursive)
    return found


def without_credentials(url: str) -> str:
    """Return a URL that can be printed."""
    return re.sub(_CREDENTIALS, "://***@", url)


def _listed(url: str, recursive: bool) -> tuple[list[Place], bool]:
    from pyarrow import fs  # an extra

    bare, mark, options = url.partition("?")
    base, pattern = bare.rstrip("/"), None
    if re.search(r"[*\[][^/]*$", base):
        base, _, pattern = base.rpartition("/")
    filesystem, path = filesystem_of(base + mark + options)
    facts = filesystem.get_file_info(path)
    if facts.is_file and pattern is None:
        return [Place(url, facts.size, facts.mtime_ns or 0)], True
    infos = filesystem.get_file_info(fs.FileSelector(path, recursive=recursive))
    found = {info.path.removeprefix(path).lstrip("/"): info for info in infos if info.is_file}
    names = [name for name in found if pattern is None or fnmatchcase(name, pattern)]
    return [
        Place(f"{base}/{name}{mark}{options}", found[name].size, found[name].mtime_ns or 0)
        for name in sorted(names, key=_files_first)
        if not name.startswith(".") and "/." not in name
    ], False


def _files_first(name: str) -> list[tuple[bool, list[tuple[int, int, str]]]]:
    *directories, last = name.split("/")
    return [*((True, natural_order(part)) for part in directories), (False, natural_order(last))]


def source_of(place: str) -> FileSource:
    """Return the source that reads a path or a URL."""
    return ObjectSource(place) if is_url(place) else FileSource(place)


def piece_of(place: str, start: int, size: int) -> bytes:
    """Return `size` bytes from an offset on of a path or a URL, fewer at its end. Raises OSError."""
    if is_url(place):
        with _guarded(_opened, place, start) as handle:
            found: bytes = _guarded(handle.read, size)
            return found
    with open(place, "rb") as file:  # noqa: PTH123  paths stay strings, as in capture
        file.seek(start)
        return file.read(size)


def _opened(url: str, position: int) -> Any:
    filesystem, path = filesystem_of(url)
    handle = filesystem.open_input_file(path)
    handle.seek(position)
    return handle


def _guarded(act: Any, *of: object) -> Any:
    """Return the answer of a file system. Raises OSError for any exception of the file system."""
    try:
        return act(*of)
    except ImportError as error:
        raise OSError(_INSTALL) from error
    except OSError:
        raise
    except Exception as error:
        raise OSError(str(error) or type(error).__name__) from error
