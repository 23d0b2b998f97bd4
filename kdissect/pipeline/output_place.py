"""Where tables are written: a directory on any file system that pyarrow or fsspec reaches."""

from __future__ import annotations

from typing import Any


def absolute(place: str) -> str:
    """A place as tasks name it, which have working directories of their own."""
    from pathlib import Path

    return place if "://" in place else str(Path(place).absolute())


def filesystem_of(url: str) -> tuple[Any, str]:
    """A `pyarrow.fs` file system and the path in it.

    pyarrow itself knows local paths, `s3://`, `gs://`, `abfss://` and `hdfs://`; what else there is comes
    through fsspec where that is installed. Raises ValueError, OSError, ImportError.
    """
    from pyarrow import fs

    if "://" not in url:
        from pathlib import Path

        return fs.LocalFileSystem(), str(Path(url).absolute())
    try:
        found, path = fs.FileSystem.from_uri(url)
    except (ValueError, NotImplementedError):
        from importlib import import_module

        # An optional package that is asked for by what the user names, and that has no types.
        other, path = import_module("fsspec.core").url_to_fs(url)
        found = fs.PyFileSystem(fs.FSSpecHandler(other))
    return found, path.rstrip("/")
