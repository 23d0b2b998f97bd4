"""Makes what tasks wrote the tables of a run: staged files move to their place, and a manifest says which.

Rules:
- Tasks write below `_staging/RUN`, which readers of Parquet pass over as they do all names with an
  underscore. A task that was tried twice wrote twice; only what the attempt that counts has told is moved.
- The manifest is written last: with it, the tables are complete. What an earlier run wrote is known by its
  own.
- While files move or are deleted, a second manifest names them: what a run that was killed leaves half-way is
  deleted by the next (`recover`). Both come to be by a rename.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from kdissect.engine.tables.registry import TABLES_VERSION
from kdissect.pipeline.parquet_parts import WrittenFile

MANIFEST = "_kdissect.json"
PENDING = "_kdissect.pending.json"  # files that are being moved to their places, or deleted
STAGING = "_staging"


class Place:
    """A directory of tables on a file system of pyarrow. Methods raise OSError."""

    def __init__(self, filesystem: Any, root: str) -> None:
        self.filesystem = filesystem
        self.root = root

    def staging(self, run: str) -> str:
        """Where the tasks of a run write."""
        return f"{self.root}/{STAGING}/{run}"

    def recover(self) -> None:
        """Delete what a run that was killed left half-way, if one did. Before anything else is asked."""
        pending = self._read(PENDING)
        if pending is None:
            return
        whole = self._read(MANIFEST)
        if whole is None or whole["run"] != pending["run"]:
            self._delete_files(pending)
        self.filesystem.delete_file(f"{self.root}/{PENDING}")

    def manifest(self) -> dict[str, Any] | None:
        """The manifest that is there; None if there is none."""
        return self._read(MANIFEST)

    def _read(self, name: str) -> dict[str, Any] | None:
        from pyarrow import fs

        path = f"{self.root}/{name}"
        if self.filesystem.get_file_info(path).type != fs.FileType.File:
            return None
        with self.filesystem.open_input_stream(path) as stream:
            found: dict[str, Any] = json.loads(stream.read())
        return found

    def clear(self, manifest: dict[str, Any]) -> None:
        """Delete what an earlier run wrote, and nothing else: its manifest first."""
        self.filesystem.move(f"{self.root}/{MANIFEST}", f"{self.root}/{PENDING}")
        self._delete_files(manifest)
        self.filesystem.delete_file(f"{self.root}/{PENDING}")

    def _delete_files(self, manifest: dict[str, Any]) -> None:
        for file in manifest["files"]:
            try:
                self.filesystem.delete_file(f"{self.root}/{file['path']}")
            except FileNotFoundError:
                continue

    def commit(self, run: str, files: Sequence[WrittenFile], facts: dict[str, Any]) -> None:
        """Move the files to their places and write the manifest."""
        staging = self.staging(run)
        told = {"run": run, "tables_version": TABLES_VERSION, **facts, "files": _told(files)}
        self._write(PENDING, told)
        for directory in sorted({file.path.rpartition("/")[0] for file in files}):
            self.filesystem.create_dir(f"{self.root}/{directory}", recursive=True)
        for file in files:
            self.filesystem.move(f"{staging}/{file.path}", f"{self.root}/{file.path}")
        self._write(MANIFEST, told)
        self.filesystem.delete_file(f"{self.root}/{PENDING}")
        self.discard(run)

    def discard(self, run: str) -> None:
        """Forget what the tasks of a run wrote."""
        from pyarrow import fs

        for directory in (self.staging(run), f"{self.root}/{STAGING}"):
            selector = fs.FileSelector(directory, allow_not_found=True)
            is_run = directory.endswith(run)
            if is_run or not self.filesystem.get_file_info(selector):  # another run may be under way
                self._delete(directory)

    def _delete(self, directory: str) -> None:
        from pyarrow import fs

        if self.filesystem.get_file_info(directory).type == fs.FileType.Directory:
            self.filesystem.delete_dir(directory)

    def _write(self, name: str, manifest: dict[str, Any]) -> None:
        self.filesystem.create_dir(self.root, recursive=True)
        path = f"{self.root}/{name}"
        with self.filesystem.open_output_stream(f"{path}.part") as stream:
            stream.write(json.dumps(manifest, indent=1).encode())
        self.filesystem.move(f"{path}.part", path)


def _told(files: Iterable[WrittenFile]) -> list[dict[str, Any]]:
    return [
        {"table": file.table, "path": file.path, "rows": file.rows, "bytes": file.bytes} for file in files
    ]
