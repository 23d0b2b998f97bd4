"""Rows about files: the table `files`, and what of `anomalies` is theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kdissect.capture.capture_file import CaptureFile
from kdissect.engine.exchange_rows import Row
from kdissect.model.packets.link_types import link_name
from kdissect.model.packets.packet import NUMBER_MASK


def file_rows(files: Iterable[CaptureFile], names: Sequence[str]) -> Iterator[Row]:
    """Yield rows of `files` that were read, or could not be."""
    for file, name in zip(files, names, strict=True):
        yield file_row(file, name)


def file_row(file: CaptureFile, name: str) -> Row:
    """Return one of them."""
    return {
        "capture_set": file.capture_set,
        "file": name,
        "format": file.format,
        "compression": str(file.compression),
        "link_types": [link_name(number) for number in file.link_types],
        "size": file.size,
        "packets": file.packets,
        "bytes": file.captured_bytes,
        "dropped": file.drops,
        "first_time_ns": file.first_time_ns,
        "last_time_ns": file.last_time_ns,
        "error": None if file.error is None else file.error.why,
        "anomalies": [{"kind": str(found.kind), "detail": found.detail} for found in file.anomalies],
    }


def file_anomaly_rows(files: Iterable[CaptureFile], names: Sequence[str]) -> Iterator[Row]:
    """Yield rows of `anomalies` about files."""
    for file, name in zip(files, names, strict=True):
        for index, found in enumerate(file.anomalies):
            yield {
                "capture_set": file.capture_set,
                "scope": "file",
                "index": index,
                "kind": str(found.kind),
                "detail": found.detail,
                "file": name,
                "packet": found.ref & NUMBER_MASK or None,
                "time_ns": found.time_ns or None,
            }


EMPTY = "no packets, only a file header"


class FileRows(NamedTuple):
    """The file's row of `files`, and its rows of `anomalies`.

    `is_tap`: a stream saw that `kdissect tap` wrote the file.
    """

    file: dict[str, Any]
    anomalies: tuple[Row, ...]
    is_tap: bool = False

    @classmethod
    def of(cls, file: CaptureFile, name: str) -> FileRows:
        """Return the rows of a file that was read, or could not be."""
        return cls(file_row(file, name), tuple(file_anomaly_rows([file], [name])))


def note_empty(told: Iterable[FileRows]) -> None:
    """Say of whole files without packets that they have none, as `capture.files` does once all are read."""
    rows = [one.file for one in told]
    alive = {row["capture_set"] for row in rows if row["packets"]}
    for row in rows:
        if not (row["packets"] or row["error"] or row["anomalies"]) and row["capture_set"] not in alive:
            row["error"] = EMPTY
