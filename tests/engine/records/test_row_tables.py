"""Rows of records as Arrow tables."""

import pytest

from kdissect.engine.exchange_rows import Row
from kdissect.engine.records import row_tables

pa = pytest.importorskip("pyarrow")
SCHEMA = pa.schema([("file", pa.string()), ("value", pa.binary())])


def rows(count: int, size: int, file: str = "a.pcap") -> list[Row]:
    return [
        row_tables.arrow_row({"file": file, "value": bytes(size), "value_bytes": size}) for _ in range(count)
    ]


def test_tables_are_bounded_by_rows_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_tables, "_ROWS_AT_ONCE", 3)
    monkeypatch.setattr(row_tables, "_BYTES_AT_ONCE", 100)
    found = [table.num_rows for table in row_tables.in_tables([*rows(7, 1), *rows(4, 50)], SCHEMA)]
    assert found == [3, 3, 3, 2]


def test_no_rows_no_table() -> None:
    assert not list(row_tables.in_tables([], SCHEMA))


def test_names_of_files_that_are_no_utf_8() -> None:
    (table,) = row_tables.in_tables(rows(1, 1, "caf\udce9.pcap"), SCHEMA)
    assert table["file"].to_pylist() == ["caf?.pcap"]
