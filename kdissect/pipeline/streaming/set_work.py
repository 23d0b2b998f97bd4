"""What is done for a capture set in a batch when its shards are through: one task for each set."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any, NamedTuple

from kdissect.capture.filesystems import filesystem_of
from kdissect.model.limits import use
from kdissect.pipeline.file_rows import FileRows
from kdissect.pipeline.parquet_parts import ParquetParts, WrittenFile
from kdissect.pipeline.reduction import parts_in
from kdissect.pipeline.streaming.freezer import Freezer
from kdissect.pipeline.streaming.registry import Catalogue
from kdissect.pipeline.streaming.set_state import SetState, rows_of
from kdissect.pipeline.streaming.settings import Settings
from kdissect.pipeline.streaming.shard import TOO_LATE, Report, judgement_of
from kdissect.pipeline.whole_object import read_whole, write_whole
from kdissect.stages.first import OF_JUDGES, OF_STATES, RELAY
from kdissect.stages.names import Names
from kdissect.stages.second import Ordered
from kdissect.stages.table_rows import TableRows


class SetTask(NamedTuple):
    """`reports` are those of the set's shards; `before` is where its state is, None in its first batch.

    `after` and `judgement` are where state and judgement go.
    """

    reports: tuple[Report, ...]
    before: str | None
    after: str
    judgement: str


class SetReport(NamedTuple):
    """Files that add rows, and those that hold until the next batch of the set; what could not be read."""

    capture_set: int
    files: tuple[WrittenFile, ...]
    open_files: tuple[WrittenFile, ...]
    unread: tuple[tuple[str, str], ...]
    state_bytes: int


REPORT_DDL = "report BINARY"


class SetWork:
    """The function of the task, for `mapInArrow`: rows hold pickled `SetTask`s in the column `task`."""

    def __init__(self, settings: Settings, staging: str, names: Names) -> None:
        self._settings = settings
        self._staging = staging
        self._names = names

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        use(self._settings.limits)
        for batch in batches:
            for task in batch.column("task").to_pylist():
                report = pickle.dumps(self.do(pickle.loads(task)))
                yield pa.RecordBatch.from_arrays([pa.array([report], pa.binary())], names=["report"])

    def do(self, task: SetTask) -> SetReport:
        """Work through the batch of one set."""
        filesystem, _ = filesystem_of(self._settings.own)
        facts = task.reports[0].facts
        names = self._names.topics
        freezer = Freezer({"names": names})
        frozen = None if task.before is None else read_whole(filesystem, task.before)
        state = (
            SetState(facts.set_name, self._settings.tables, names) if frozen is None else freezer.thaw(frozen)
        )
        state.judgement.merge(judgement_of(report.judgement for report in task.reports))
        told, late = self._told(task)
        final_rows = state.files.take(told, late)
        if self._settings.tables & (OF_JUDGES | OF_STATES):
            state.take(self._relayed(file for report in task.reports for file in report.files))
        frozen = freezer.freeze(state)
        write_whole(filesystem, task.after, frozen)
        files = self._files(final_rows)
        open_files = self._open(task, state) if facts.is_last else ()
        unread = tuple((row.file["file"], row.file["error"]) for row in told if row.file["error"] is not None)
        return SetReport(facts.capture_set, files, open_files, unread, len(frozen))

    def _open(self, task: SetTask, state: SetState) -> tuple[WrittenFile, ...]:
        """What holds until the next batch; it uses the state up."""
        parts = self._parts()
        reports = task.reports
        state.judgement.merge(judgement_of(report.open_judgement for report in reports))
        if self._settings.tables & (OF_JUDGES | OF_STATES):
            state.take(self._relayed(file for report in reports for file in report.open_files))
            for table, batch in state.close():
                parts.add(table, batch)
        self._add_rows(parts, state.files.open())
        filesystem, _ = filesystem_of(self._settings.own)
        write_whole(filesystem, task.judgement, pickle.dumps(state.judgement))
        return tuple(parts.close())

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

    def _relayed(self, files: Iterable[WrittenFile]) -> list[Ordered]:
        import pyarrow.parquet as pq

        filesystem, root = filesystem_of(self._staging)
        found: list[Ordered] = []
        for file in files:
            if file.table != RELAY:
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
