"""The files that were ever read, in order. Offsets of the stream count them.

Rules:
- An entry never changes. References of packets and the state of connections contain its index, the identity
  of connections contains its capture set.
- A file that grew after it was read has a second entry, for the packets that came since, with an equal index.
- The registry is written before Spark receives an offset that counts its entries. After a crash there may be
  entries that no offset counts: they are next.
- A capture set keeps its first name and number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, overload

from kdissect.capture.rotation import Key, set_labels
from kdissect.model.wording import path_text
from kdissect.pipeline.inputs import Input
from kdissect.pipeline.table_files.whole_object import names_in, read_whole, write_whole

_DIRECTORY = "files"
_SUFFIX = ".json"


class Taken(NamedTuple):
    """A file that was read, or a part that was added to one. `file` is its index.

    `number` is its position among the files of its capture set that have packets. `first_ns` is a time at or
    before that of the first packet read, None without one. `packets` counts the packets of the whole file, of
    which `skip` were read before. `end_ns` is the time of the last one. `mtime_ns` and `size` show whether
    the path has another file by now, and `head` shows whether the file was added to.
    """

    file: int
    path: str
    capture_set: int
    set_name: str
    set_key: Key
    number: int
    size: int
    mtime_ns: int
    content: str
    head: str
    first_ns: int | None
    end_ns: int | None
    packets: int
    skip: int = 0

    @property
    def name(self) -> str:
        """The path as rows have it."""
        return path_text(self.path)

    def input(self) -> Input:
        """Return the file as tasks read it."""
        return Input(
            self.file, self.path, self.name, self.capture_set, self.set_name, self.size, None, self.path
        )  # fmt: skip


class Registry:
    """All entries. `add` writes. `refresh` reads entries of other writers. Methods raise OSError."""

    def __init__(self, filesystem: Any, root: str) -> None:
        self._filesystem = filesystem
        self._root = f"{root}/{_DIRECTORY}"
        self._read: set[str] = set()
        self.entries: list[Taken] = []

    def refresh(self) -> None:
        """Read the entries that came since."""
        for name in names_in(self._filesystem, self._root, _SUFFIX):
            if name in self._read:
                continue
            self._read.add(name)
            for fields in json.loads(read_whole(self._filesystem, f"{self._root}/{name}") or b"[]"):
                fields[4] = tuple(fields[4])
                self.entries.append(Taken(*fields))

    def add(self, entries: Sequence[Taken]) -> None:
        """Store entries after the existing entries. They stay for ever."""
        name = f"{len(self.entries):010}{_SUFFIX}"
        write_whole(self._filesystem, f"{self._root}/{name}", json.dumps(entries).encode())
        self._read.add(name)
        self.entries += entries

    def sets(self) -> dict[Key, tuple[int, str]]:
        """Return number and name of each capture set by its key."""
        return {entry.set_key: (entry.capture_set, entry.set_name) for entry in self.entries}

    def files_in_sets(self) -> dict[int, int]:
        """Return the number of files with packets, by capture set."""
        counts: dict[int, int] = {}
        for entry in self.entries:
            is_new = entry.first_ns is not None and not entry.skip
            counts[entry.capture_set] = counts.get(entry.capture_set, 0) + is_new
        return counts


def named_sets(
    known: dict[Key, tuple[int, str]], seen: Iterable[Key], chosen: Iterable[Key]
) -> dict[Key, tuple[int, str]]:
    """Return number and name of the known capture sets, and of the chosen ones among all that were seen.

    A new one gets its name in `pipeline run`, if no other set has that name yet.
    """
    named = dict(known)
    taken = {name for _, name in named.values()}
    labels = set_labels({*named, *seen})
    for key in sorted(set(chosen) - named.keys()):
        name = labels[key]
        if name in taken:  # a set that had the short name first keeps it
            name = "/".join(key)
        taken.add(name)
        named[key] = len(named), name
    return named


class Catalogue(Sequence[str]):
    """The names of all files by index, and their numbers. It reads the registry on demand."""

    def __init__(self, filesystem: Any, root: str) -> None:
        self._registry = Registry(filesystem, root)
        self._by_index: dict[int, Taken] = {}

    def number_of(self, index: int) -> int:
        """Return the number of a file within its capture set."""
        return self._entry(index).number

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        return self._entry(index).name

    def __len__(self) -> int:
        if not self._by_index:
            self._refresh()
        return len(self._by_index)

    def __iter__(self) -> Iterator[str]:
        return (self[number] for number in range(len(self)))

    def _entry(self, index: int) -> Taken:
        if index not in self._by_index:
            self._refresh()
        return self._by_index[index]

    def _refresh(self) -> None:
        self._registry.refresh()
        self._by_index.update((entry.file, entry) for entry in self._registry.entries)
