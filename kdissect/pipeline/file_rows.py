"""Rows of the table of files."""

from collections.abc import Iterable
from typing import Any

from kdissect.capture.capture_file import CaptureFile
from kdissect.model.link import link_name

EMPTY = "no packets, only a file header"


def file_row(file: CaptureFile, name: str) -> dict[str, Any]:
    """The row of a file that was read, or could not be."""
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
        "anomalies": [{"kind": str(a.kind), "detail": a.detail} for a in file.anomalies],
    }


def note_empty(rows: Iterable[dict[str, Any]]) -> None:
    """Say of whole files without packets that they have none, as `capture.files` does once all are read."""
    kept = list(rows)
    alive = {row["capture_set"] for row in kept if row["packets"]}
    for row in kept:
        if not (row["packets"] or row["error"] or row["anomalies"]) and row["capture_set"] not in alive:
            row["error"] = EMPTY
