"""One JSON object a line, for rows that are dicts: with bodies, chosen fields, or of connections."""

from collections.abc import Sequence
from typing import Any

import orjson

from kdissect.cli.formats.named_fields import Room, as_columns
from kdissect.engine.row_columns import Column
from kdissect.report.printable import inert_json, terminal_json

_TEXTS = ("request.time", "response.time")  # which have quotes, among the values that differ on all lines
# Keys of bodies are strings; StrEnum values are written as their strings.
_OPTIONS = orjson.OPT_APPEND_NEWLINE


class JsonFormat:
    """Rows unchanged, or only `columns` under their dotted names, with `and_rows` after the rows."""

    end = b"}\n"
    is_stripped = False

    def __init__(self, columns: Sequence[str | Column], for_terminal: bool, and_rows: bool = False) -> None:
        self._columns = list({column.name: column for column in as_columns(columns)}.values())
        self._for_terminal = for_terminal
        self._and_rows = and_rows
        self.values = None if and_rows else [column.place for column in self._columns] or None

    def head(self) -> bytes:
        """Nothing."""
        return b""

    def line(self, row: dict[str, Any]) -> bytes:
        """Return one row."""
        if self._columns:
            chosen = {column.name: column.value(row) for column in self._columns}
            row = row | chosen if self._and_rows else chosen
        return self._shown(json_bytes(row, _OPTIONS))

    def cell(self, at: int, row: dict[str, Any]) -> bytes:
        """Name and value."""
        return self._name(at) + self._shown(json_bytes(self._columns[at].value(row)))

    def room(self, at: int, row: dict[str, Any]) -> Room:
        """Return the name before a number, or a text in quotes."""
        if self._columns[at].name in _TEXTS:
            return Room(self._name(at) + b'"', b'"')
        return Room(self._name(at))

    def _name(self, at: int) -> bytes:
        return b"%b%b:" % (b"," if at else b"{", json_bytes(self._columns[at].name))

    def _shown(self, text: bytes) -> bytes:
        return terminal_json(text) if self._for_terminal else text

    def tail(self) -> bytes:
        """Nothing: every row went out at once."""
        return b""


def json_bytes(value: Any, option: int | None = None) -> bytes:
    """Return a value as compact JSON, inert; `option` is orjson's option for a new line, or None."""
    try:
        text = orjson.dumps(value, option=option)
    except TypeError:  # an integer over 64 bits: a difference between two times in a damaged capture
        text = _slow(value) + (b"\n" if option else b"")
    return text if text.isascii() else inert_json(text.decode()).encode()


def _slow(value: Any) -> bytes:
    import json  # start-up: orjson takes nearly all

    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
