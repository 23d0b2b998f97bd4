"""Micro-batches without Spark: what it does in between is to deal rows out to shards and to keep their
state.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from kdissect.capture.filesystems import filesystem_of
from kdissect.engine.tables.all_tables import TABLES
from kdissect.pipeline.sink.table_directory import StreamDirectory
from kdissect.pipeline.streaming.arrivals.candidates import Patience
from kdissect.pipeline.streaming.arrivals.known_files import Catalogue, Registry
from kdissect.pipeline.streaming.arrivals.offsets import (
    Offset,
    facts_of,
    may_have_taps,
    next_offset,
    tasks_of,
)
from kdissect.pipeline.streaming.arrivals.scanner import Scanner
from kdissect.pipeline.streaming.batch_facts import StreamMapping
from kdissect.pipeline.streaming.flow_shuffle.run import Run, from_batches, to_batches
from kdissect.pipeline.streaming.flows.shard import Report, work_through
from kdissect.pipeline.streaming.micro_batch import Batches, Done
from kdissect.pipeline.streaming.stream_settings import Settings
from kdissect.stages.per_flow import OF_CAUSES, OF_PERSONAL
from tests.pipeline.frames import Frames

ALL = frozenset(TABLES) - OF_CAUSES - OF_PERSONAL


class Memory:
    """A `Store`, which counts what it is asked for."""

    def __init__(self) -> None:
        self.entries: dict[bytes, tuple[bytes, bytes]] = {}
        self.reads = self.writes = 0
        self.bytes_read = self.bytes_written = 0

    def get(self, key: bytes) -> tuple[bytes, bytes] | None:
        self.reads += 1
        found = self.entries.get(key)
        self.bytes_read += sum(map(len, found or ()))
        return found

    def put(self, key: bytes, first: bytes, second: bytes) -> None:
        self.writes += 1
        self.bytes_written += len(first) + len(second)
        self.entries[key] = first, second

    def remove(self, key: bytes) -> None:
        del self.entries[key]

    @property
    def flows(self) -> int:
        """Entries of flows that go on."""
        return sum(key[:1] == b"F" for key in self.entries)


def settings_of(folder: Path, *paths: Path, **more: Any) -> Settings:
    """Return settings with all tables, which accept files as they are."""
    base = Settings(
        tuple(map(str, paths)),
        str(folder / "tables"),
        str(folder / "checkpoint"),
        ALL,
        patience=Patience(0.0),
    )
    return base._replace(**more)


class Stream:
    """Takes what is ready, batch by batch."""

    def __init__(self, settings: Settings, seed: int = 1) -> None:
        self.settings = settings
        self.offset = Offset()
        self.stores: dict[int, Memory] = {}
        self.reports: list[Report] = []
        """What the shards made of the last batch."""
        self._dice = random.Random(seed)
        self._filesystem, self._root = filesystem_of(settings.own)
        self.registry = Registry(self._filesystem, self._root)
        self.scanner = Scanner(settings.paths, self.registry, settings.patience, settings.recursive)
        self.directory = StreamDirectory(*filesystem_of(settings.output))
        self.batches = Batches(settings, self.directory)

    def catch_up(self, now_s: float = 2e9) -> list[Done]:
        """All batches until nothing is ready."""
        done = []
        while (found := self.step(now_s)) is not None:
            done.append(found)
        return done

    def step(self, now_s: float = 2e9) -> Done | None:
        """Return one batch, or None if nothing is ready."""
        ready = self.scanner.scan(now_s).ready
        if ready:
            self.registry.add(ready)
        start, settings = self.offset, self.settings
        end = next_offset(start, self.registry.entries, settings.max_files, settings.max_bytes)
        if end == start:
            return None
        self.reports = reports = self.shards(start, end)
        done = self.batches.commit(Frames(), reports)  # type: ignore[arg-type]
        self.offset = Offset.of(end.journaled())
        return done

    def shards(self, start: Offset, end: Offset) -> list[Report]:
        """Return what the shards make of a batch."""
        entries = self.registry.entries[start.taken : end.taken]
        mapping = StreamMapping(self.settings.shards)
        has_taps = may_have_taps(self.settings.paths, self.registry.entries[: end.taken])
        runs = [run for facts in facts_of(entries, end, has_taps) for run in facts.runs(self.settings.shards)]
        for task in tasks_of(entries):
            runs += from_batches(to_batches(mapping.runs(task)))
        self._dice.shuffle(runs)
        by_group: dict[int, list[Run]] = {}
        for run in runs:
            by_group.setdefault(run.part % self.settings.shards, []).append(run)
        return [report for group, rows in by_group.items() for report in self._group(group, rows)]

    def _group(self, group: int, rows: list[Run]) -> list[Report]:
        store = self.stores.setdefault(group, Memory())
        catalogue = Catalogue(self._filesystem, self._root)
        return work_through(rows, self.settings, store, catalogue, self.batches.staging)
