"""Records as lines of TSV, CSV and JSON, written by the compiled hot path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kdissect.cli.formats import Format
from kdissect.engine.records.compiled_records import CompiledRecords
from kdissect.engine.records.record_fields import RECORD_FIELDS, SCHEMA_COLUMNS
from kdissect.engine.records.record_rows import RecordRows, TopicNames
from kdissect.engine.records.record_sets import RecordSet
from kdissect.engine.times import second_text
from kdissect.model.anomaly import Anomaly
from kdissect.model.native import native
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from kdissect.engine.records.compiled_values import CompiledValues

# Number of characters that one call of `printables` covers, as in native/src/records/cells.rs.
_BLOCK = 256
# Columns of JSON rows that only Python creates.
_OF_PYTHON = {"acquired", "delivery_count", "decoded"}
# The name there of the member `decoded` of a JSON line, which rows without a decoded content do not have.
_DECODED_MEMBER = "decoded?"


class CompiledLines:
    """Lines of a `style` with these columns (none: all of JSON), each piece some of them.

    `rows` and `form` format fields that are left to Python, and `report` receives their faults. The other
    parameters are those of `CompiledRecords`. `forms` are the forms of key and value.
    """

    def __init__(
        self,
        style: str,
        columns: Sequence[str],
        forms: tuple[str, str],
        files: Sequence[str],
        rows: RecordRows,
        form: Format,
        report: Callable[[list[Anomaly]], None],
        note: Callable[[Exception, Exchange], None],
        topic_name: TopicNames | None = None,
        wants: Callable[[str], bool] | None = None,
        values: CompiledValues | None = None,
    ) -> None:
        names = columns or _usual(values is not None)
        self._rows = rows
        self._form = form
        self._report = report
        self._lines = native.RecordLines(style, list(names), *forms, second_text, printables)
        self.records: CompiledRecords[bytes] = CompiledRecords(
            self._lines, files.__getitem__, self._taken, self._by_rows, note, topic_name, wants, values
        )

    def _by_rows(self, records: RecordSet) -> Iterator[bytes]:
        anomalies: list[Anomaly] = []
        self._rows.count = self._lines.count
        try:
            for row in self._rows.rows(records, anomalies):
                yield self._form.line(row)
        finally:
            self._lines.count = self._rows.count
        self._report(anomalies)

    def _taken(self, _is_last: bool) -> Iterator[bytes]:
        lines = self._lines.take()
        if lines:
            yield lines


def _usual(with_schemas: bool) -> list[str]:
    """Return all members of a JSON line."""
    left_out = _OF_PYTHON if with_schemas else _OF_PYTHON | SCHEMA_COLUMNS
    names = [field.name for field in RECORD_FIELDS if "." not in field.name and field.name not in left_out]
    return [*names, _DECODED_MEMBER] if with_schemas else names


def printables(block: int) -> bytes:
    """Return 1 for each of 256 characters that may be printed unchanged, else 0."""
    first = block * _BLOCK
    return bytes(chr(code).isprintable() for code in range(first, first + _BLOCK))


def first_lines(pieces: Iterator[bytes], most: int) -> Iterator[bytes]:
    """Yield the first `most` lines of pieces that end with a line each."""
    left = most
    for piece in pieces:
        lines = piece.splitlines(keepends=True) if piece.count(b"\n") > left else ()
        yield b"".join(lines[:left]) if lines else piece
        left -= piece.count(b"\n")
        if left <= 0:
            return
