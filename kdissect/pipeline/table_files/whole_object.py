"""Small files that are there as a whole, before and after they are written.

Rules:
- A file is written under another name and renamed, so that a reader finds the old one or the new one. Object
  stores show an object when it is complete and cannot rename: there it is written at once.
- If renaming cannot replace a file (HDFS), there is none for a moment. Then the other name has it.
"""

from __future__ import annotations

from typing import Any

from pyarrow import fs

NEXT = ".next"
# As `type_name` in pyarrow's file systems.
_OBJECT_STORES = frozenset({"s3", "gcs", "abfs"})


def read_whole(filesystem: Any, path: str) -> bytes | None:
    """Return the content of a file, or None if there is none. Raises OSError."""
    return _read(filesystem, path) if is_file(filesystem, path) else None


def read_named(filesystem: Any, path: str) -> bytes:
    """Return the content of a file that must exist, as another file names it. Raises OSError."""
    return _read(filesystem, path)


def write_whole(filesystem: Any, path: str, content: bytes) -> None:
    """Put a file in the place of the one that is there. Raises OSError: then the old one is there.

    Makes the directory it is to be in.
    """
    filesystem.create_dir(path.rpartition("/")[0], recursive=True)
    if filesystem.type_name in _OBJECT_STORES:
        _write(filesystem, path, content)
        return
    _write(filesystem, path + NEXT, content)
    settle(filesystem, path)


def settle(filesystem: Any, path: str) -> None:
    """Rename what was written completely. Raises OSError."""
    try:
        filesystem.move(path + NEXT, path)
    except OSError:
        if not is_file(filesystem, path):
            raise
        filesystem.delete_file(path)
        filesystem.move(path + NEXT, path)


def is_file(filesystem: Any, path: str) -> bool:
    """Return whether there is a file of this name."""
    return bool(filesystem.get_file_info(path).type == fs.FileType.File)


def names_in(filesystem: Any, directory: str, suffix: str) -> list[str]:
    """Return a directory's file names with a suffix, sorted, or none if there is no directory."""

    found = filesystem.get_file_info(fs.FileSelector(directory, allow_not_found=True))
    return sorted(info.base_name for info in found if info.base_name.endswith(suffix))


def _read(filesystem: Any, path: str) -> bytes:
    with filesystem.open_input_stream(path) as stream:
        content: bytes = stream.read()
    return content


def _write(filesystem: Any, path: str, content: bytes) -> None:
    with filesystem.open_output_stream(path) as stream:
        stream.write(content)
