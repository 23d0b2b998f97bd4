"""A file that a manifest names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kdissect.pipeline.table_files.manifest_file import Manifest


class Entry(NamedTuple):
    """A committed file. `path` is below the root, and `batch` is the last batch that has rows in it.

    `batch` is None for a file of a run without batches. `part` names the files that are replaced together.
    """

    table: str
    path: str
    rows: int
    bytes: int
    batch: int | None = None
    part: str | None = None

    @property
    def directory(self) -> str:
        """The directory of its partition below the table's directory, empty without partitions."""
        return "/".join(self.path.split("/")[1:-1])

    @property
    def replaced_as(self) -> str:
        """The name under which `commit_batch` replaces it: its part, or its table."""
        return self.part or self.table

    def manifest_row(self) -> dict[str, Any]:
        """Return the entry as the manifest has it."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Swap(NamedTuple):
    """Consecutive files of one partition, and their replacement: None for no file."""

    old: tuple[Entry, ...]
    new: Entry | None


def swapped(entries: Iterable[Entry], swaps: Sequence[Swap]) -> list[Entry]:
    """Return files with some of them swapped: a new file is at the position of the first old one."""
    news = {swap.old[0].path: swap.new for swap in swaps}
    gone = {entry.path for swap in swaps for entry in swap.old}
    found = (news.get(entry.path, None if entry.path in gone else entry) for entry in entries)
    return [entry for entry in found if entry is not None]


def entries_of(manifest: Manifest) -> list[Entry]:
    """Return the files of a manifest, in its order, which is the order of their rows."""
    return [Entry(*(file.get(name) for name in Entry._fields)) for file in manifest["files"]]


def manifest_rows(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return files as a manifest has them."""
    return [entry.manifest_row() for entry in entries]
