"""Small files of ours in the checkpoint: each is there whole, or not at all."""

from __future__ import annotations

from typing import Any

from kdissect.pipeline import whole_object
from kdissect.pipeline.whole_object import read_whole

__all__ = ["names_in", "read_whole", "write_whole"]


def write_whole(filesystem: Any, path: str, data: bytes) -> None:
    """Write a file of a file system of pyarrow, over what is there. Raises OSError."""
    filesystem.create_dir(path.rpartition("/")[0], recursive=True)
    whole_object.write_whole(filesystem, path, data)


def names_in(filesystem: Any, directory: str, suffix: str) -> list[str]:
    """Names of the files of a directory with a suffix, sorted; none where there is no directory."""
    from pyarrow import fs

    found = filesystem.get_file_info(fs.FileSelector(directory, allow_not_found=True))
    return sorted(info.base_name for info in found if info.base_name.endswith(suffix))
