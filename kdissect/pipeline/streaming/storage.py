"""Small files of ours in the checkpoint: each is there whole, or not at all."""

from __future__ import annotations

from typing import Any

# As `type_name` of file systems of pyarrow: they show an object when it is complete, and cannot rename.
_OBJECT_STORES = frozenset({"s3", "gcs", "abfs"})


def write_whole(filesystem: Any, path: str, data: bytes) -> None:
    """Write a file of a file system of pyarrow, over what is there. Raises OSError."""
    directory = path.rpartition("/")[0]
    filesystem.create_dir(directory, recursive=True)
    beside = path if filesystem.type_name in _OBJECT_STORES else f"{path}.part"
    with filesystem.open_output_stream(beside) as stream:
        stream.write(data)
    if beside != path:
        filesystem.move(beside, path)


def read_whole(filesystem: Any, path: str) -> bytes | None:
    """The bytes of a file; None if there is none. Raises OSError."""
    from pyarrow import fs

    if filesystem.get_file_info(path).type != fs.FileType.File:
        return None
    with filesystem.open_input_stream(path) as stream:
        found: bytes = stream.read()
    return found


def names_in(filesystem: Any, directory: str, suffix: str) -> list[str]:
    """Names of the files of a directory with a suffix, sorted; none where there is no directory."""
    from pyarrow import fs

    found = filesystem.get_file_info(fs.FileSelector(directory, allow_not_found=True))
    return sorted(info.base_name for info in found if info.base_name.endswith(suffix))
