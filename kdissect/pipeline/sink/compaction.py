"""Compaction of small files from batches into large ones. Rows and their order within a partition stay.

Rules:
- Files of the last batch are left alone: it may be committed again and must find its files then.
- Files of parts are left alone too, because the next batch replaces them.
- Only consecutive files are joined, else rows would change their order.
- A file that outweighs all smaller ones after it waits until they have caught up: rewriting it for every
  handful of rows would write it a hundred times until it is large. This way it is written some seven times.
- Groups are swapped in portions: a crash in the middle of a large directory costs one portion.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from kdissect.pipeline.sink.entry import Entry, Swap
from kdissect.pipeline.sink.lock import BusyError
from kdissect.pipeline.sink.rewriting import Rewriting
from kdissect.pipeline.sink.table_directory import StreamDirectory
from kdissect.pipeline.table_files.parquet_parts import WrittenFile
from kdissect.pipeline.table_files.small_files import LARGE_BYTES, plan

# Bytes staged at a time: the extra disk space, and the work lost if the process is killed.
_PORTION_BYTES = 1 << 30
_FACT = "compacted"
"""The manifest's name for the last batch at the latest compaction."""


class Compacted(NamedTuple):
    """Result of a compaction: the number of files before and after, and their bytes."""

    before: int = 0
    after: int = 0
    bytes: int = 0


def compact(directory: StreamDirectory, whole: bool = True) -> Compacted:
    """Join the small files of a directory. With `whole`, join also files that would wait for more. Raises
    OSError.
    """
    manifest = directory.manifest() or {}
    last = manifest.get("batch")
    entries = [
        entry for entry in directory.entries() if not entry.part and (last is None or entry.batch != last)
    ]
    done = Compacted()
    for portion in _portions(groups_of(entries, whole)):
        with Rewriting(directory) as rewriting:
            made = rewriting.swap([rewriting.write(group) for group in portion])
        done = _added(done, made)
    directory.tidy()
    return done


def compact_every(
    directory: StreamDirectory, batches: int, warn: Callable[[str], None] | None = None
) -> Compacted | None:
    """Compact if that was not done for `batches` batches. Return None if it was, or if it failed.

    For streams, after `commit_batch`. After a failure the tables are as before, and the next attempt comes
    `batches` batches later. `warn` receives one line about it. Raises OSError if the manifest cannot be
    written.
    """
    manifest = directory.manifest() or {}
    last = manifest.get("batch", -1)
    if last - manifest.get(_FACT, -1) < batches:
        return None
    done: Compacted | None
    try:
        done = compact(directory, whole=False)
    except BusyError:  # by hand, or by a cron job: next time
        return None
    except (OSError, ValueError) as error:  # Arrow also raises ValueError: for a damaged file
        done = None
        if warn is not None:
            warn(f"small files were not joined: {error}")
    directory.swap("", (), {_FACT: last})
    return done


def groups_of(entries: Iterable[Entry], whole: bool = True) -> Iterator[Sequence[Entry]]:
    """Yield files that are to become one, in the order of their rows."""
    partitions: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        partitions[entry.table, entry.directory].append(entry)
    for partition in partitions.values():
        for is_small, run in groupby(partition, key=lambda entry: entry.bytes < LARGE_BYTES):
            if is_small:
                yield from _groups_of_run(list(run), whole)


def _groups_of_run(run: list[Entry], whole: bool) -> Iterator[Sequence[Entry]]:
    if not whole:
        run = _caught_up(run)
    by_path = {entry.path: entry for entry in run}
    for group in plan(WrittenFile(e.table, e.directory, e.path, e.rows, e.bytes, False) for e in run)[1]:
        yield [by_path[file.path] for file in group.files]


def _caught_up(run: list[Entry]) -> list[Entry]:
    """Return a run without files at its beginning that outweigh all files after them.

    Such files are few, because each has more than half of the remaining rows. Rows are weighed: most bytes in
    a small file are not rows.
    """
    while run and run[0].rows > sum(entry.rows for entry in run[1:]):
        run = run[1:]
    return run


def _portions(groups: Iterable[Sequence[Entry]]) -> Iterator[list[Sequence[Entry]]]:
    held: list[Sequence[Entry]] = []
    size = 0
    for group in groups:
        held.append(group)
        size += sum(entry.bytes for entry in group)
        if size >= _PORTION_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


def _added(done: Compacted, swaps: Sequence[Swap]) -> Compacted:
    before = sum(len(swap.old) for swap in swaps)
    size = sum(swap.new.bytes for swap in swaps if swap.new is not None)
    return Compacted(done.before + before, done.after + len(swaps), done.bytes + size)
