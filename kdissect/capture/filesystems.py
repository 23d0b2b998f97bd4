"""File systems that are named by a URL: object stores, HDFS, and what else pyarrow or fsspec reaches."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any


def is_url(place: str) -> bool:
    """Return whether a place is a URL rather than a path of this machine."""
    return "://" in place


def without_options(place: str) -> str:
    """Return a URL without the options of its file system (`?region=...`), or a path as it is."""
    return place.partition("?")[0] if is_url(place) else place


def absolute(place: str) -> str:
    """Return a place as every process can name it: tasks have working directories of their own.

    As it is if the working directory was removed.
    """
    try:
        return place if is_url(place) else os.path.abspath(place)  # noqa: PTH100  see paths.py
    except FileNotFoundError:
        return place


def filesystem_of(url: str) -> tuple[Any, str]:
    """Return a `pyarrow.fs` file system and the path in it, of a URL or a path of this machine.

    pyarrow itself knows local paths, `s3://`, `gs://`, `abfss://` and `hdfs://`. Other file systems come
    through fsspec if that is installed. Raises ValueError, OSError, ImportError.
    """
    from pyarrow import fs  # an extra

    if not is_url(url):
        from pathlib import Path  # start-up

        return fs.LocalFileSystem(), str(Path(url).absolute())
    try:
        found, path = fs.FileSystem.from_uri(url)
    except (ValueError, NotImplementedError):
        # An optional package, which depends on the URL of the user, and has no types.
        other, path = import_module("fsspec.core").url_to_fs(url)
        found = fs.PyFileSystem(fs.FSSpecHandler(other))
    except OSError as error:  # HDFS without a Java VM: pyarrow adds a line for each place where it looked
        raise OSError(str(error).partition("\n")[0]) from error
    return found, path.rstrip("/")
