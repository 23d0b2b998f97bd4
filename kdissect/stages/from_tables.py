"""Inputs of reports and statistics, read from written tables. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyarrow import dataset, fs

from kdissect.config.suppression import Suppression
from kdissect.engine.exchange_rows import Row
from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.cause import Diagnosis
from kdissect.report.baseline import Baseline
from kdissect.report.verdict import Verdict
from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.stages.rows.cause_rows import diagnosis_of
from kdissect.stages.rows.judgement_rows import judgement_of
from kdissect.stages.rows.latency_rows import traffic_of
from kdissect.stats.traffic import Traffic


class TableDirectory:
    """The tables in a directory of a pyarrow file system.

    `files` are the paths below it that belong to them, by table: what the manifest names. Without it all that
    lies there does.
    """

    def __init__(self, filesystem: Any, root: str, files: Mapping[str, Sequence[str]] | None = None) -> None:
        self._filesystem = filesystem
        self._root = root
        self._files = files

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table, batch by batch; no row if the table was not written."""
        if not self._has(table):
            return
        path = f"{self._root}/{table}"
        source: str | list[str] = path
        if self._files is not None:
            source = [f"{self._root}/{file}" for file in self._files[table]]
        found = dataset.dataset(
            source,
            schema=arrow_schema(TABLES[table]),
            format="parquet",
            filesystem=self._filesystem,
            partitioning="hive",
            partition_base_dir=path,
        )
        for batch in found.to_batches():
            yield from batch.to_pylist()

    def _has(self, table: str) -> bool:
        """Return whether it was written."""
        if self._files is not None:
            return table in self._files
        found = self._filesystem.get_file_info(f"{self._root}/{table}")
        return bool(found.type != fs.FileType.NotFound)

    def verdict(self, suppressions: Sequence[Suppression] = (), baseline: Baseline | None = None) -> Verdict:
        """Return the verdict, from which every report of `check` is made."""
        files = sorted(self.rows("files"), key=_file_order)
        names = [row["file"] for row in files]
        indexes = {name: index for index, name in enumerate(names)}
        judgement = judgement_of(self.rows("findings"), self.rows("coverage"), indexes)
        cut = str(AnomalyKind.CUT_CAPTURE)
        cut_files = sum(any(found["kind"] == cut for found in row["anomalies"]) for row in files)
        quality = quality_of(judgement.coverage, cut_files, sum(row["dropped"] or 0 for row in files))
        return Verdict(judgement, quality, names, suppressions, baseline)

    def causes(self, files: Sequence[str]) -> Diagnosis | None:
        """Return the causes of all capture sets as `why` reports them; None if the table was not written.
        `files` are the inputs' names by file index.
        """
        return diagnosis_of(self.rows("causes"), files) if self._has("causes") else None

    def traffic(self, by: Sequence[str] = ("api",)) -> Traffic:
        """Return the counts that `stats` prints, by some of `latency_rows.DIMENSIONS`.

        Raises ValueError for another dimension.
        """
        return traffic_of(self.rows("latencies"), self.rows("rates"), by)


def _file_order(row: Row) -> tuple[bool, int]:
    """Sort files as inputs are read: by their first packets, with empty files last."""
    first = row["first_time_ns"]
    return first is None, first or 0
