"""What a file says of itself, on its way to the tables of files and anomalies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kdissect.capture.capture_file import CaptureFile
from kdissect.engine.exchange_rows import Row
from kdissect.stages.file_rows import file_anomaly_rows, file_row

EMPTY = "no packets, only a file header"


class FileRows(NamedTuple):
    """The row of `files`, and those of `anomalies` about the file."""

    file: dict[str, Any]
    anomalies: tuple[Row, ...]

    @classmethod
    def of(cls, file: CaptureFile, name: str) -> FileRows:
        """The rows of a file that was read, or could not be."""
        return cls(file_row(file, name), tuple(file_anomaly_rows([file], [name])))


def note_empty(told: Iterable[FileRows]) -> None:
    """Say of whole files without packets that they have none, as `capture.files` does once all are read."""
    rows = [one.file for one in told]
    alive = {row["capture_set"] for row in rows if row["packets"]}
    for row in rows:
        if not (row["packets"] or row["error"] or row["anomalies"]) and row["capture_set"] not in alive:
            row["error"] = EMPTY
