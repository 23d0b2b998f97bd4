"""Reports of `check` and the statistics of `stats`, from tables that were written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kdissect.capture.whole_file import WholeFile
from kdissect.cli.findings.report_files import HTML, STATISTICS, render
from kdissect.cli.statistics.stats_command import POINTS_IN_JSON
from kdissect.pipeline.sink.table_directory import StreamDirectory
from kdissect.report.json_pages import json_document
from kdissect.stages.from_tables import TableDirectory
from kdissect.stats.traffic_rows import traffic_facts


def write_reports(filesystem: Any, root: str, wanted: Iterable[tuple[str, str]]) -> None:
    """Write reports, given as (format, file), from the tables below `root`. Raises OSError.

    A file appears when it is complete.
    """
    files: dict[str, list[str]] = {}
    for entry in StreamDirectory(filesystem, root).entries():
        files.setdefault(entry.table, []).append(entry.path)
    directory = TableDirectory(filesystem, root, files)
    for name, path in wanted:
        if name == STATISTICS:
            _write(path, statistics(directory, ("api",)))
        else:
            verdict = directory.verdict()
            _write(
                path, render(name, verdict, causes=directory.causes(verdict.files) if name == HTML else None)
            )


def statistics(directory: Any, by: Sequence[str]) -> bytes:
    """Return the output of `stats --format json`, by the names of `--by` that tables have.

    Raises ValueError.
    """
    facts = traffic_facts(directory.traffic(by), by, None, POINTS_IN_JSON)
    return json_document(facts)


def _write(path: str, content: bytes) -> None:
    with WholeFile(path) as file:
        file.write(content)
