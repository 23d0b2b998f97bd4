"""Turns staged files of tasks into the tables of a run: it moves them to their place and writes a manifest.

Rules:
- Tasks write below `_staging/RUN`, which readers of Parquet skip, as they do all names with an underscore. A
  task that was tried twice wrote twice. Only files that the successful attempt reported are moved.
- The manifest is written last: with it, the tables are complete. An earlier run's manifest names that run's
  files.
- Files that are being moved in, or deleted, are listed in a file of their own before the first of them is
  touched: a run that is killed leaves tables that are whole, or files that the next run deletes.
- Logs of Delta tables (`delta_logs`) are written after the files that they name, and deleted before them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyarrow import fs

from kdissect.capture.whole_file import abandoned, claimed
from kdissect.engine.tables.all_tables import TABLES_VERSION
from kdissect.model.version import __version__
from kdissect.pipeline.table_files.delta_logs import FIRST_VERSION, LOG, DeltaLogs
from kdissect.pipeline.table_files.manifest_file import (
    MANIFEST,
    Manifest,
    ManifestError,
    forget_next,
    read_manifest,
    write_manifest,
)
from kdissect.pipeline.table_files.parquet_parts import WrittenFile
from kdissect.pipeline.table_files.whole_object import NEXT, names_in

PENDING = "_kdissect.pending.json"  # files that are being moved to their places, or deleted
STAGING = "_staging"
_LOGGED = "delta"
"""The manifest's name for the tables that have a log."""


class OutputExistsError(Exception):
    """Tables in the output of a run that may not replace them."""


class OutputDirectory:
    """A directory of tables on a file system of pyarrow. Methods raise OSError.

    That is also what a manifest of a newer kdissect is (`manifest_file.NewerTablesError`).
    """

    def __init__(self, filesystem: Any, root: str) -> None:
        self.filesystem = filesystem
        self.root = root

    def staging_of(self, run: str) -> str:
        """Return the directory in which the tasks of a run write."""
        return f"{self.root}/{STAGING}/{run}"

    def manifest(self) -> Manifest | None:
        """Return the manifest, or None if there is none."""
        return read_manifest(self.filesystem, self.root)

    def begin(self, replaces: bool, logs: DeltaLogs | None = None) -> Manifest | None:
        """Return the manifest of the tables that a run replaces, or None if there are none.

        Deletes what a killed run left. Raises OutputExistsError if the run may not replace tables, and
        OSError if it cannot.
        """
        if self.filesystem.get_file_info(self.root).type == fs.FileType.File:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        self.undo_killed()
        before = self.manifest()
        if before is not None and not replaces:
            raise OutputExistsError(self.root)
        delta = logged_tables(before)
        for table in delta:
            if names_in(self.filesystem, f"{self.root}/{table}/{LOG}", "") not in ([], [FIRST_VERSION]):
                raise ManifestError(f"another program changed the Delta table {table}: use another directory")
        if logs is not None:
            logs.check(delta)
        return before

    def clear(self, manifest: Manifest) -> None:
        """Delete only the files that an earlier run wrote: its manifest first."""
        self.filesystem.move(f"{self.root}/{MANIFEST}", f"{self.root}/{PENDING}")
        self._delete_all(manifest)

    def undo_killed(self) -> None:
        """Delete the files that a killed run left half-way, if there are any. Call it before any other
        method.
        """
        forget_next(self.filesystem, self.root)
        self._forget_staged()
        pending = read_manifest(self.filesystem, self.root, PENDING)
        whole = self.manifest()
        if pending is None or (whole is not None and whole["run"] == pending["run"]):
            self._forget_pending()
        else:
            self._delete_all(pending)

    def _forget_staged(self) -> None:
        """Delete what runs of this machine staged that were killed."""
        if self._is_local:
            for run, mark in abandoned(f"{self.root}/{STAGING}"):
                self.delete_directory(self.staging_of(run))
                Path(mark).unlink(missing_ok=True)

    @property
    def _is_local(self) -> bool:
        return isinstance(self.filesystem, fs.LocalFileSystem)

    def _delete_all(self, manifest: Manifest) -> None:
        for table in logged_tables(manifest):
            self.delete_directory(f"{self.root}/{table}/{LOG}")
        self.delete_files(file["path"] for file in (*manifest["files"], *manifest.get("gone", ())))
        self._forget_pending()

    def _forget_pending(self) -> None:
        self.delete_files((PENDING + NEXT, PENDING))

    @contextmanager
    def staged(self, run: str) -> Iterator[str]:
        """Make a directory in which a run writes. It is removed afterwards, or by the next run if this one is
        killed.
        """
        staging = self.staging_of(run)
        try:
            if self._is_local:
                self.filesystem.create_dir(f"{self.root}/{STAGING}", recursive=True)
                with claimed(staging):
                    yield staging
            else:
                yield staging
        finally:
            self.discard(run)

    def commit(
        self, run: str, files: Sequence[WrittenFile], facts: dict[str, Any], logs: DeltaLogs | None = None
    ) -> None:
        """Move the files to their places, and write logs of Delta tables and the manifest."""
        manifest = {"run": run, **facts, "files": [manifest_row(file) for file in files]}
        if logs is not None:
            manifest[_LOGGED] = logs.tables
        write_manifest(self.filesystem, self.root, manifest, PENDING)
        try:
            self.move_in(run, [(file.path, file.path) for file in files])
            if logs is not None:
                logs.write(files)
        except (OSError, KeyboardInterrupt):
            with suppress(OSError):  # then the next run deletes them
                self._delete_all(manifest)
            raise
        self.write(manifest)
        self._forget_pending()

    def move_in(self, run: str, moves: Sequence[tuple[str, str]]) -> None:
        """Move staged files, given as (path when staged, path from now on)."""
        staging = self.staging_of(run)
        for directory in sorted({path.rpartition("/")[0] for _, path in moves}):
            self.filesystem.create_dir(f"{self.root}/{directory}", recursive=True)
        for staged, path in moves:
            self.filesystem.move(f"{staging}/{staged}", f"{self.root}/{path}")

    def write(self, manifest: Manifest) -> None:
        """Write a manifest, with the versions of who writes it."""
        versions = {"tables_version": TABLES_VERSION, "kdissect": __version__}
        write_manifest(self.filesystem, self.root, manifest | versions)

    def delete_files(self, paths: Iterable[str]) -> None:
        """Delete the files below the root that exist."""
        for path in paths:
            try:
                self.filesystem.delete_file(f"{self.root}/{path}")
            except FileNotFoundError:
                continue

    def discard(self, run: str) -> None:
        """Forget what the tasks of a run wrote."""
        for directory in (self.staging_of(run), f"{self.root}/{STAGING}"):
            selector = fs.FileSelector(directory, allow_not_found=True)
            is_run = directory.endswith(run)
            if is_run or not self.filesystem.get_file_info(selector):  # another run may be in progress
                self.delete_directory(directory)

    def delete_directory(self, directory: str) -> None:
        """Delete a directory with what is in it, if it is there."""
        if self.filesystem.get_file_info(directory).type == fs.FileType.Directory:
            self.filesystem.delete_dir(directory)


def logged_tables(manifest: Manifest | None) -> list[str]:
    """Return the tables of a manifest that are Delta tables."""
    return list((manifest or {}).get(_LOGGED, ()))


def manifest_row(file: WrittenFile) -> dict[str, Any]:
    """Return a file as manifests list it."""
    return {"table": file.table, "path": file.path, "rows": file.rows, "bytes": file.bytes}
