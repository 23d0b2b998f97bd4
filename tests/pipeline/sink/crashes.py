"""A file system that dies at its n-th change, and does nothing any more from then on."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs


class CrashError(Exception):
    """The process was killed here."""


class _File(io.BytesIO):
    """A file that is written when it is closed: whole, or its first half."""

    def __init__(self, path: str, change: Callable[[], None]) -> None:
        super().__init__()
        self._path = Path(path)
        self._change = change

    def close(self) -> None:
        if self.closed:
            return
        content = self.getvalue()
        super().close()
        try:
            self._change()
        except CrashError:
            self._path.write_bytes(content[: len(content) // 2])
            raise
        self._path.write_bytes(content)


class _Handler(fs.FileSystemHandler):  # type: ignore[misc]
    def __init__(self, changes: int, renames_over: bool) -> None:
        self.left = changes
        self._renames_over = renames_over
        self._inner = fs.LocalFileSystem()

    def _change(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise CrashError

    def get_type_name(self) -> str:
        return "crashing"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Any) -> Any:
        return self._inner.get_file_info(paths)

    def get_file_info_selector(self, selector: Any) -> Any:
        return self._inner.get_file_info(selector)

    def create_dir(self, path: str, recursive: bool) -> None:
        self._change()
        self._inner.create_dir(path, recursive=recursive)

    def delete_dir(self, path: str) -> None:
        self._change()
        self._inner.delete_dir(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise NotImplementedError

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def delete_file(self, path: str) -> None:
        self._change()
        self._inner.delete_file(path)

    def move(self, source: str, target: str) -> None:
        self._change()
        if not self._renames_over and Path(target).exists():
            raise FileExistsError(target)
        self._inner.move(source, target)

    def copy_file(self, source: str, target: str) -> None:
        raise NotImplementedError

    def open_input_stream(self, path: str) -> Any:
        return self._inner.open_input_stream(path)

    def open_input_file(self, path: str) -> Any:
        return self._inner.open_input_file(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        self._change()
        return pa.PythonFile(_File(path, self._change), mode="w")

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError


class Crashing:
    """`filesystem` dies at the change after `changes`. `renames_over`: whether a rename replaces files."""

    def __init__(self, changes: int = 1 << 30, renames_over: bool = True) -> None:
        self._handler = _Handler(changes, renames_over)
        self.filesystem: Any = fs.PyFileSystem(self._handler)
        self._changes = changes

    def crash_after(self, changes: int) -> None:
        """Count from here on."""
        self._handler.left = changes

    @property
    def has_crashed(self) -> bool:
        return self._handler.left < 0
