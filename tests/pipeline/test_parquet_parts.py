"""What waits for its row group: bounded, also over all tables, and nothing of it is lost."""

from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from kdissect.pipeline.table_files import parquet_parts
from kdissect.pipeline.table_files.parquet_parts import ParquetParts


def rows(number: int, noise: int = 0) -> pa.RecordBatch:
    """Return a thousand rows that are much the same, and `noise` bytes in each that no codec shortens."""
    dice = Random(number)
    return pa.record_batch(
        {
            "at": pa.array(range(number * 1000, number * 1000 + 1000), pa.int64()),
            "client": [f"10.0.0.{row % 7}:40000" for row in range(1000)],
            "tags": [["a", None] for _ in range(1000)],
            "noise": [dice.randbytes(noise) for _ in range(1000)],
        }
    )


def test_rows_wait_for_one_row_group(tmp_path: Path) -> None:
    parts = ParquetParts(fs.LocalFileSystem(), str(tmp_path), (), "a")
    before, most, given = pa.total_allocated_bytes(), 0, 0
    for number in range(400):
        batch = rows(number)
        given += batch.nbytes
        parts.add("exchanges", batch)
        del batch
        most = max(most, pa.total_allocated_bytes() - before)
    assert given > 2 * parquet_parts.GROUP_BYTES
    assert most < parquet_parts.GROUP_BYTES + (2 << 20)
    (file,) = parts.close()
    assert pq.ParquetFile(tmp_path / file.path).num_row_groups == -(-given // parquet_parts.GROUP_BYTES)


def test_what_waits_is_bounded_over_all_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_parts, "WAITING_BYTES", 1 << 20)
    parts = ParquetParts(fs.LocalFileSystem(), str(tmp_path), (), "a")
    most = 0
    for number in range(30):
        parts.add("exchanges" if number % 3 else "connections", rows(number, 150))
        most = max(most, parts._waiting)
    assert 1 << 19 < most <= 1 << 20
    written = parts.close()
    assert parts._waiting == 0
    found = {file.table: pq.read_table(tmp_path / file.path) for file in written}
    for table, numbers in (("exchanges", range(30)), ("connections", range(0, 30, 3))):
        wanted = [n for n in numbers if bool(n % 3) == (table == "exchanges")]
        assert found[table].equals(pa.Table.from_batches([rows(n, 150) for n in wanted]))


def test_a_table_without_rows_is_a_file(tmp_path: Path) -> None:
    parts = ParquetParts(fs.LocalFileSystem(), str(tmp_path), (), "a")
    parts.add("exchanges", rows(0)[:0])
    (file,) = parts.close()
    assert pq.read_table(tmp_path / file.path).schema == rows(0).schema


def test_texts_have_dictionaries_and_numbers_have_none(tmp_path: Path) -> None:
    parts = ParquetParts(fs.LocalFileSystem(), str(tmp_path), (), "a")
    schema = pa.schema(
        [
            ("time_ns", pa.int64()),
            ("client", pa.string()),
            ("order", pa.binary()),
            ("topics", pa.list_(pa.string())),
            ("response", pa.struct([("bytes", pa.int32()), ("file", pa.string())])),
            ("events", pa.list_(pa.struct([("what", pa.string()), ("at", pa.int64())]))),
            ("errors", pa.map_(pa.string(), pa.int64())),
        ]
    )
    row = {
        "time_ns": 1, "client": "a", "order": b"b", "topics": ["t"], "response": {"bytes": 2, "file": "f"},
        "events": [{"what": "w", "at": 3}], "errors": [("E", 4)],
    }  # fmt: skip
    parts.add("exchanges", pa.RecordBatch.from_pylist([row], schema=schema))
    (file,) = parts.close()
    group = pq.ParquetFile(tmp_path / file.path).metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    with_dictionary = {column.path_in_schema for column in columns if column.has_dictionary_page}
    assert with_dictionary == {
        "client", "topics.list.element", "response.file", "events.list.element.what", "errors.key_value.key"
    }  # fmt: skip
