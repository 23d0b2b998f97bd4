"""What is done for a capture set in a batch when its shards are through: one task for each set."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kdissect.capture.filesystems import filesystem_of
from kdissect.model.limits import use
from kdissect.pipeline.flow_shuffle.reduction import parts_in
from kdissect.pipeline.streaming.arrivals.known_files import Catalogue
from kdissect.pipeline.streaming.flows.flow import Judged
from kdissect.pipeline.streaming.flows.freezer import Freezer
from kdissect.pipeline.streaming.flows.shard import TOO_LATE, Report
from kdissect.pipeline.streaming.set_log import Segment, SetRecord, Step
from kdissect.pipeline.streaming.set_state import SetState, rows_of
from kdissect.pipeline.streaming.stream_settings import Settings
from kdissect.pipeline.table_files.parquet_parts import ParquetParts, WrittenFile
from kdissect.pipeline.table_files.whole_object import read_whole, write_whole
from kdissect.stages.file_rows import FileRows
from kdissect.stages.per_capture_set import Ordered
from kdissect.stages.per_flow import FORWARDED, OF_JUDGES, OF_STATES
from kdissect.stages.table_rows import TableRows
from kdissect.stages.topic_names import Names


class SetTask(NamedTuple):
    """`reports` are those of the set's shards; none where only `since` makes it go again from that batch.

    `record` is the set before the batch, with the marks from now on; the paths are where things go.
    """

    batch: int
    capture_set: int
    reports: tuple[Report, ...]
    record: SetRecord
    since: int | None
    after: str
    segment: str
    open_: str
    judgement: str

    @property
    def is_last(self) -> bool:
        """Whether it is told what is open: nothing more of the set waits."""
        return self.reports[0].facts.is_last if self.reports else self.record.open_ is not None


class SetReport(NamedTuple):
    """Files that add rows, and those that hold until the next batch of the set; what could not be read.

    `segment_bytes` are those of what the batch brought.
    """

    capture_set: int
    files: tuple[WrittenFile, ...]
    open_files: tuple[WrittenFile, ...]
    unread: tuple[tuple[str, str], ...]
    state_bytes: int
    segment_bytes: int


REPORT_DDL = "report BINARY"


class SetWork:
    """The function of the task, for `mapInArrow`: rows hold pickled `SetTask`s in the column `task`."""

    def __init__(self, settings: Settings, staging: str, names: Names) -> None:
        self._settings = settings
        self._staging = staging
        self._names = names

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        use(self._settings.limits)
        for batch in batches:
            for task in batch.column("task").to_pylist():
                report = pickle.dumps(self.do(pickle.loads(task)))
                yield pa.RecordBatch.from_arrays([pa.array([report], pa.binary())], names=["report"])

    def do(self, task: SetTask) -> SetReport:
        """Work through the batch of one set."""
        filesystem, _ = filesystem_of(self._settings.own)
        freezer = Freezer({"names": self._names.topics})
        uncounted = task.record.marks.keys()
        state = self._begun(task, freezer)
        told, late = self._told(task) if task.reports else ([], frozenset[str]())
        final_rows = state.files.take(told, late)
        segment_bytes = self._go_on(task, state, uncounted) if task.reports else 0
        frozen = freezer.freeze(state)
        write_whole(filesystem, task.after, frozen)
        files = self._files(final_rows)
        open_files = self._open(task, state, uncounted) if task.is_last else ()
        unread = tuple((row.file["file"], row.file["error"]) for row in told if row.file["error"] is not None)
        return SetReport(task.capture_set, files, open_files, unread, len(frozen), segment_bytes)

    def _begun(self, task: SetTask, freezer: Freezer) -> SetState:
        """The state behind the batch before, with the marks and names of now."""
        filesystem, _ = filesystem_of(self._settings.own)
        first, rest = task.record.begin(task.since)
        state = self._state(task, freezer, first)
        if rest:
            state.files = self._state(task, freezer, task.record.steps[-1]).files
        for step in rest:
            if step.segment is not None:
                data = read_whole(filesystem, step.segment) or b""
                state.take(Segment.unpacked(data), task.record.marks.keys())
        return state

    def _state(self, task: SetTask, freezer: Freezer, step: Step) -> SetState:
        filesystem, _ = filesystem_of(self._settings.own)
        frozen = None if step.state is None else read_whole(filesystem, step.state)
        if frozen is None:
            return SetState(task.record.set_name, self._settings.tables, self._names.topics)
        found: SetState = freezer.thaw(frozen)
        return found

    def _go_on(self, task: SetTask, state: SetState, uncounted: Collection[str]) -> int:
        """Take what the batch brought, and keep it; gives its bytes."""
        files = [file for report in task.reports for file in report.files]
        segment = self._segment(files, (one for report in task.reports for one in report.judged))
        state.take(segment, uncounted)
        return self._kept(task.segment, segment)

    def _open(self, task: SetTask, state: SetState, uncounted: Collection[str]) -> tuple[WrittenFile, ...]:
        """What holds until the next batch; it uses the state up."""
        filesystem, _ = filesystem_of(self._settings.own)
        parts = self._parts()
        if task.reports:
            files = [file for report in task.reports for file in report.open_files]
            segment = self._segment(files, (one for report in task.reports for one in report.open_judged))
        else:
            segment = Segment.unpacked(read_whole(filesystem, task.record.open_ or "") or b"")
        self._kept(task.open_, segment)
        state.take(segment, uncounted)
        if self._settings.tables & (OF_JUDGES | OF_STATES):
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
        """The rows of the batch's files in their order, and names of those that came too late."""
        filesystem, root = filesystem_of(self._settings.own)
        catalogue = Catalogue(filesystem, root)
        late = frozenset(catalogue[file] for file in task.reports[0].late)
        order = {catalogue[file]: file for file in task.reports[0].facts.first_ns}
        told = [rows for report in task.reports for rows in report.told]
        told.sort(key=lambda rows: order.get(rows.file["file"], -1))
        kept = [
            FileRows(rows.file | {"error": TOO_LATE}, ()) if rows.file["file"] in late else rows
            for rows in told
        ]
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
