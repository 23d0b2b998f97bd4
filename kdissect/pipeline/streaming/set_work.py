"""The work for a capture set in a batch after its shards: one task for each set."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from kdissect.capture.filesystems import filesystem_of
from kdissect.engine.exchange_rows import Row
from kdissect.model.limits import use
from kdissect.pipeline.streaming.arrivals.known_files import Catalogue
from kdissect.pipeline.streaming.flows.ends_digest import Ordered
from kdissect.pipeline.streaming.flows.flow import Judged
from kdissect.pipeline.streaming.flows.freezer import Freezer
from kdissect.pipeline.streaming.flows.settled_flows import Group
from kdissect.pipeline.streaming.flows.shard import TOO_LATE, Report
from kdissect.pipeline.streaming.set_log import Segment, SetRecord, Step
from kdissect.pipeline.streaming.set_state import SetState
from kdissect.pipeline.streaming.settled_ends import settled_ends
from kdissect.pipeline.streaming.stream_settings import Settings
from kdissect.pipeline.table_files.parquet_parts import ParquetParts, WrittenFile, parts_in
from kdissect.pipeline.table_files.whole_object import read_named, write_whole
from kdissect.stages.per_flow import FORWARDED, OF_JUDGES, OF_STATES
from kdissect.stages.rows.file_rows import FileRows
from kdissect.stages.rows.table_rows import TableRows
from kdissect.stages.topic_id_names import Names


class SetTask(NamedTuple):
    """A task for a set. `reports` are the reports of the set's shards, empty if only `since` makes the set go
    again from that batch.

    `record` is the set before the batch, with the marks from now on. The paths are targets.
    """

    batch: int
    capture_set: int
    reports: tuple[Report, ...]
    record: SetRecord
    since: int | None
    after: str
    silent: str
    segment: str
    open_: str
    judgement: str

    @property
    def is_last(self) -> bool:
        """Whether the set also receives open flows, because no file of it waits."""
        return self.reports[0].facts.is_last if self.reports else self.record.open_ is not None

    @property
    def settled(self) -> tuple[Group, ...]:
        """The open flows of which nothing came."""
        if not self.reports:
            return self.record.settled
        return tuple(group for report in self.reports for group in report.settled)


class SetReport(NamedTuple):
    """Files that add rows, and files that hold until the next batch of the set. `unread` lists what could not
    be read.

    `segment_bytes` is the size of the batch's segment. `silent` are the files that the state names.
    """

    capture_set: int
    files: tuple[WrittenFile, ...]
    open_files: tuple[WrittenFile, ...]
    unread: tuple[tuple[str, str], ...]
    state_bytes: int
    segment_bytes: int
    silent: tuple[str, ...]
    is_tap: bool = False


class SetWork:
    """The function of a task: works through the batch of one set."""

    def __init__(self, settings: Settings, staging: str, names: Names) -> None:
        self._settings = settings
        self._staging = staging
        self._names = names

    def __call__(self, task: SetTask) -> SetReport:
        use(self._settings.limits)
        filesystem, _ = filesystem_of(self._settings.own)
        shared: dict[str, Any] = {"names": self._names.topics, "read": self._read}
        if self._settings.schemas is not None:
            shared["schemas"] = self._settings.schemas
        freezer = Freezer(shared)
        uncounted = task.record.marks.keys()
        state = self._begun(task, freezer)
        told, late = self._told(task) if task.reports else ([], frozenset[str]())
        final_rows = state.files.take(told, late)
        segment_bytes = self._go_on(task, state, uncounted) if task.reports else 0
        silent = state.set_aside(task.silent)
        if silent is not None:
            write_whole(filesystem, task.silent, silent)
        frozen = state.frozen(freezer)
        write_whole(filesystem, task.after, frozen)
        files_of_silent = state.silent.paths
        files = self._files(final_rows)
        open_files = self._open(task, state, uncounted) if task.is_last else ()
        unread = tuple((row.file["file"], row.file["error"]) for row in told if row.file["error"] is not None)
        state_bytes = len(frozen) + len(silent or b"")
        return SetReport(
            task.capture_set, files, open_files, unread, state_bytes, segment_bytes, files_of_silent,
            any(row.is_tap for row in told),
        )  # fmt: skip

    def _begun(self, task: SetTask, freezer: Freezer) -> SetState:
        """Return the state after the batch before, with the marks and names of now."""
        filesystem, _ = filesystem_of(self._settings.own)
        first, rest = task.record.begin(task.since)
        state = self._state(task, freezer, first)
        if rest:
            state.files = self._state(task, freezer, task.record.steps[-1]).files
        for step in rest:
            if step.segment is not None:
                segment = Segment.unpacked(read_named(filesystem, step.segment))
                state.take(segment, task.record.marks.keys())
        return state

    def _state(self, task: SetTask, freezer: Freezer, step: Step) -> SetState:
        filesystem, _ = filesystem_of(self._settings.own)
        if step.state is None:
            names = self._names.topics
            settings = self._settings
            return SetState(task.record.set_name, settings.tables, names, self._read, settings.schemas)
        return SetState.thawed(read_named(filesystem, step.state), freezer)

    def _read(self, path: str) -> bytes:
        """Read a file of silent connections."""
        filesystem, _ = filesystem_of(self._settings.own)
        return read_named(filesystem, path)

    def _go_on(self, task: SetTask, state: SetState, uncounted: Collection[str]) -> int:
        """Take the batch's segment, and store it. Return its size in bytes."""
        files = [file for report in task.reports for file in report.files]
        segment = self._segment(files, (one for report in task.reports for one in report.judged))
        state.take(segment, uncounted)
        return self._kept(task.segment, segment)

    def _open(self, task: SetTask, state: SetState, uncounted: Collection[str]) -> tuple[WrittenFile, ...]:
        """Return the files that hold until the next batch. This uses the state up."""
        filesystem, _ = filesystem_of(self._settings.own)
        parts = self._parts()
        if task.reports:
            files = [file for report in task.reports for file in report.open_files]
            segment = self._segment(files, (one for report in task.reports for one in report.open_judged))
        else:
            assert task.record.open_ is not None  # `SetTask.is_last`
            segment = Segment.unpacked(read_named(filesystem, task.record.open_))
        self._kept(task.open_, segment)
        for judged in segment.judged:
            state.merge(judged, uncounted)
        if self._settings.tables & (OF_JUDGES | OF_STATES):
            settled = settled_ends(task.settled, uncounted, self._read)
            state.end(segment.forwarded, settled, uncounted)
            for table, batch in state.close():
                parts.add(table, batch)
        self._add_rows(parts, state.files.open())
        write_whole(filesystem, task.judgement, pickle.dumps(state.judgement))
        return tuple(parts.close())

    def _kept(self, path: str, segment: Segment) -> int:
        filesystem, _ = filesystem_of(self._settings.own)
        data = segment.packed()
        write_whole(filesystem, path, data)
        return len(data)

    def _segment(self, files: Iterable[WrittenFile], judged: Iterable[Judged]) -> Segment:
        wanted = self._settings.tables & (OF_JUDGES | OF_STATES)
        return Segment(tuple(self._forwarded(files)) if wanted else (), tuple(judged))

    def _told(self, task: SetTask) -> tuple[list[FileRows], frozenset[str]]:
        """Return the rows of the batch's files in their order, and names of late files."""
        filesystem, root = filesystem_of(self._settings.own)
        catalogue = Catalogue(filesystem, root)
        late = frozenset(catalogue[file] for file in task.reports[0].late)
        order = {catalogue[file]: file for file in task.reports[0].facts.first_ns}
        told = [rows for report in task.reports for rows in report.told]
        told.sort(key=lambda rows: order.get(rows.file["file"], -1))
        kept = [_too_late(rows) if rows.file["file"] in late else rows for rows in told]
        return kept, late

    def _forwarded(self, files: Iterable[WrittenFile]) -> list[Ordered]:
        filesystem, root = filesystem_of(self._staging)
        found: list[Ordered] = []
        for file in files:
            if file.table != FORWARDED:
                continue
            with pq.ParquetFile(f"{root}/{file.path}", filesystem=filesystem) as opened:
                for batch in opened.iter_batches():
                    columns = [batch.column(name).to_pylist() for name in ("event_order", "blob")]
                    found += zip(*columns, strict=True)
        found.sort(key=itemgetter(0))
        return found

    def _files(self, told: list[FileRows]) -> tuple[WrittenFile, ...]:
        parts = self._parts()
        self._add_rows(parts, told)
        return tuple(parts.close())

    def _add_rows(self, parts: ParquetParts, told: Iterable[FileRows]) -> None:
        tables = (self._settings.tables | {"files"}) & {"files", "anomalies"}
        rows = TableRows(tables)
        for table, row in rows_of(told):
            if table in tables:
                rows.add(table, row)
        for table, batch in rows.close():
            parts.add(table, batch)

    def _parts(self) -> ParquetParts:
        return parts_in(self._staging, self._settings.partition_by)


def rows_of(told: Iterable[FileRows]) -> Iterator[tuple[str, Row]]:
    """Yield rows of the tables `files` and `anomalies`."""
    for rows in told:
        yield "files", rows.file
        yield from (("anomalies", row) for row in rows.anomalies)


def _too_late(rows: FileRows) -> FileRows:
    return rows._replace(file=rows.file | {"error": TOO_LATE}, anomalies=())
