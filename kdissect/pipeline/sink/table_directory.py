"""A directory of tables that grows by batches. Each batch counts once, whatever process is killed at any
time.

Rules:
- The manifest names the files of the tables. A batch moves its files to their places first and then names all
  of them at once. Files that are there without a name in the manifest are orphans of a crash.
- A batch that is committed again replaces its earlier files. Only the last batch can be committed again:
  earlier batches are joined into larger files (`compaction`).
- Names of files contain the batch and a token of the attempt. A file that was named is never overwritten, so
  a reader with an older manifest reads what it was promised. A file that no manifest names any more waits for
  `grace_s` in its place, as `gone`.
- Names sort as rows do.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from pyarrow import fs
from pyarrow.fs import FileSelector

from kdissect.engine.tables.all_tables import TABLES
from kdissect.pipeline.sink.entry import Entry, Swap, entries_of, manifest_rows, swapped
from kdissect.pipeline.sink.lock import locked
from kdissect.pipeline.table_files.commit import STAGING, OutputDirectory
from kdissect.pipeline.table_files.manifest_file import Manifest, ManifestError, forget_next
from kdissect.pipeline.table_files.parquet_parts import WrittenFile

# Longer than a query of a person takes, shorter than what fills a disk.
GRACE_S = 300.0
_REWRITTEN = re.compile(r"-c[0-9a-f]{8}$")
_OURS = re.compile(r"(b\d{8,}-[0-9a-f]{8}-\d{4,}|.+-c[0-9a-f]{8})\.parquet")


class ForeignTablesError(ManifestError):
    """The directory has tables that were not written batch by batch, or Delta tables."""


class Recovered(NamedTuple):
    """Files that a crash left and `recover` deleted: files moved but not named, and files staged."""

    orphans: int = 0
    orphan_bytes: int = 0
    staged: int = 0


class Rewritten(NamedTuple):
    """Files that were staged under the name `run`, and the files that they replace."""

    run: str
    swaps: Sequence[Swap]


_NOT_REWRITTEN = Rewritten("", ())


def _batch_name(batch: int) -> str:
    """Return the beginning of a batch's names, which is also its directory below `_staging`."""
    return f"b{batch:08}"


def rewritten_path(path: str) -> str:
    """Return a path for the replacement of a file: a new one each time, sorted in the file's place."""
    return f"{_REWRITTEN.sub('', path.removesuffix('.parquet'))}-c{uuid4().hex[:8]}.parquet"


class StreamDirectory(OutputDirectory):
    """The tables of a stream. Methods raise OSError: then what was committed before holds.

    `clock` gives seconds since 1970.
    """

    def __init__(
        self, filesystem: Any, root: str, grace_s: float = GRACE_S, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(filesystem, root)
        self._grace_s = grace_s
        self._clock = clock

    def staging(self, batch: int) -> str:
        """Return the directory in which the tasks of a batch write."""
        return self.staging_of(_batch_name(batch))

    def last_batch(self) -> int | None:
        """Return the last committed batch, or None before the first. Raises ForeignTablesError."""
        manifest = self._of_stream()
        return None if manifest is None else int(manifest["batch"])

    def entries(self, table: str | None = None) -> list[Entry]:
        """Return the committed files, of all tables or one, in the order of their rows."""
        found = entries_of(self.manifest() or {"files": []})
        return found if table is None else [entry for entry in found if entry.table == table]

    def commit_batch(
        self,
        batch: int,
        appended: Sequence[WrittenFile],
        replaced: Mapping[str, Sequence[WrittenFile]],
        facts: Mapping[str, Any],
        rewritten: Rewritten = _NOT_REWRITTEN,
    ) -> None:
        """Make staged files part of the tables, all at once.

        `appended` files add rows. `replaced` maps the name of a table or a part to all its files from now on,
        also if there are none. A part has files of any tables, whose rows are next to other rows. An earlier
        attempt's files of this batch are removed. The earlier attempt has to have replaced the same tables
        and parts, as their former state is forgotten. `facts` are in the manifest next to the facts of
        earlier batches. `rewritten` files of earlier batches, which no other process may rewrite in the
        meantime, are swapped with the commit. Raises ValueError for a batch before the last.
        """
        with locked(self.filesystem, self.root):
            before = self._of_stream() or {"files": []}
            if batch < before.get("batch", 0):
                last = before["batch"]
                raise ValueError(f"batch {batch} behind batch {last}: the checkpoint is of other tables")
            run, swaps = rewritten
            self.move_in(run, [(swap.new.path, swap.new.path) for swap in swaps if swap.new is not None])
            there = swapped(entries_of(before), swaps)
            kept = [e for e in there if e.batch != batch and e.replaced_as not in replaced]
            new = self._moved(batch, [(None, file) for file in appended] + _in_parts(replaced))
            own = {"run": before.get("run") or uuid4().hex[:12], "batch": batch}
            self._replace(before | dict(facts) | own, before, [*kept, *new])
        self.discard(_batch_name(batch))

    def swap(self, run: str, swaps: Sequence[Swap], facts: Mapping[str, Any]) -> list[Swap]:
        """Put files that were staged under the name `run` in the place of other files, all at once.

        Returns the swaps made. A file that another process replaced in the meantime is not swapped.
        """
        with locked(self.filesystem, self.root):
            before = self.manifest() or {"files": []}
            entries = entries_of(before)
            named = set(entries)
            made = [swap for swap in swaps if named.issuperset(swap.old)]
            self.move_in(run, [(swap.new.path, swap.new.path) for swap in made if swap.new is not None])
            self._replace(before | dict(facts), before, swapped(entries, made))
            return made

    def tidy(self) -> None:
        """Delete removed files whose grace time is over, as every commit does."""
        if (self.manifest() or {}).get("gone"):
            self.swap("", (), {})

    def _replace(self, facts: Manifest, before: Manifest, entries: Sequence[Entry]) -> None:
        """Name other files than before. Delete the former files now, or after the readers' grace time."""
        names = {entry.path for entry in entries}
        now = self._clock()
        gone = [file for file in before.get("gone", ()) if file["path"] not in names]
        gone += [{"path": e.path, "since": now} for e in entries_of(before) if e.path not in names]
        due = [file["path"] for file in gone if now - file["since"] >= self._grace_s]
        waiting = [file for file in gone if file["path"] not in set(due)]
        self.write(facts | {"files": manifest_rows(entries), "gone": waiting})
        self._delete(due)

    def recover(self) -> Recovered:
        """Delete files that crashes left. Call it at the start, before any file is staged.

        Other files in the directory stay. Raises ForeignTablesError.
        """
        with locked(self.filesystem, self.root):
            forget_next(self.filesystem, self.root)
            self._of_stream()
            staged = self._listed(STAGING)
            self.delete_directory(f"{self.root}/{STAGING}")
            orphans = self._delete_orphans()
            return Recovered(len(orphans), sum(info.size for info in orphans), len(staged))

    def sweep(self, staged: str) -> None:
        """Delete files that crashes left while another writer works. Delete only the staged files with this
        name.
        """
        with locked(self.filesystem, self.root):
            self._delete_orphans()
        selector = FileSelector(f"{self.root}/{STAGING}", allow_not_found=True)
        for info in self.filesystem.get_file_info(selector):
            if info.base_name.startswith(staged):
                self.discard(info.base_name)

    def _delete_orphans(self) -> list[Any]:
        """Delete files that have our names and that no manifest names. Return them."""
        manifest = self.manifest() or {"files": []}
        known = {file["path"] for file in (*manifest["files"], *manifest.get("gone", ()))}
        at = len(self.root) + 1
        found = [info for info in self._listed("") if _OURS.fullmatch(info.base_name)]
        orphans = [info for info in found if info.path[at:] not in known]
        self.delete_files(info.path[at:] for info in orphans)
        return orphans

    def discard(self, run: str) -> None:
        """Forget what was staged under a name; `_staging` stays, as others may be about to write there."""
        self.delete_directory(self.staging_of(run))

    def _delete(self, paths: Sequence[str]) -> None:
        """Delete files, and the directories of partitions that they leave empty."""
        self.delete_files(paths)
        if not isinstance(self.filesystem, fs.LocalFileSystem):
            return  # object stores have no directories
        for directory in {Path(path).parent for path in paths}:
            for parent in (directory, *directory.parents)[: len(directory.parts) - 1]:
                with suppress(OSError):  # it is not empty
                    (Path(self.root) / parent).rmdir()

    def _of_stream(self) -> Manifest | None:
        manifest = self.manifest()
        if manifest is not None and "batch" not in manifest:
            raise ForeignTablesError("there are tables of a run already: choose another directory")
        return manifest

    def _moved(self, batch: int, files: Sequence[tuple[str | None, WrittenFile]]) -> list[Entry]:
        token = uuid4().hex[:8]
        entries = []
        for number, (part, file) in enumerate(files):
            directory = file.path.rpartition("/")[0]
            path = f"{directory}/{_batch_name(batch)}-{token}-{number:04}.parquet"
            entries.append(Entry(file.table, path, file.rows, file.bytes, batch, part))
        moves = [(file.path, entry.path) for (_, file), entry in zip(files, entries, strict=True)]
        self.move_in(_batch_name(batch), moves)
        return entries

    def _listed(self, directory: str) -> list[Any]:
        selector = fs.FileSelector(
            f"{self.root}/{directory}".rstrip("/"), allow_not_found=True, recursive=True
        )
        return [info for info in self.filesystem.get_file_info(selector) if info.type == fs.FileType.File]


def _in_parts(replaced: Mapping[str, Sequence[WrittenFile]]) -> list[tuple[str | None, WrittenFile]]:
    """Return files with their parts. Files that replace a whole table have no part."""
    return [(None if name in TABLES else name, file) for name, files in replaced.items() for file in files]
