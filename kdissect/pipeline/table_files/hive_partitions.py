"""Hive partitions: which directory a row belongs in, as Spark, pyarrow and DuckDB all write and read them."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa

# Hive's text for null (org.apache.hadoop.hive.conf.HiveConf, DEFAULTPARTITIONNAME).
NULL = "__HIVE_DEFAULT_PARTITION__"
_PLAIN = "-_.,+@[]() "  # besides letters and digits
# Characters of a value in the name of a directory. Names on the wire may have 32 KB, names of files 255 bytes
# (NAME_MAX of Linux), of which the column takes some. A longer name is cut, with a checksum that identifies
# it: one client must not make a run fail for all.
LONGEST = 200
_CHECKSUM = 16  # hex digits


def directory_of(names: Sequence[str], values: Sequence[Any]) -> str:
    """Return `day=2024-05-01/broker=10.0.0.1%3A9092`, or an empty text without partitions."""
    return "/".join(f"{name}={_escaped(value)}" for name, value in zip(names, values, strict=True))


def values_of(directory: str) -> dict[str, str | None]:
    """Return the columns that a directory's name contains, as text."""
    pairs = [part.partition("=") for part in directory.split("/") if part]
    return {name: None if value == NULL else unquote(value) for name, _, value in pairs}


def split(batch: Any, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Split the rows of a record batch by directory, without the columns in the directory's name."""
    if not names or not batch.num_rows:
        yield "", batch  # rows that are not there are in no partition: the file has the columns
        return
    rest = batch.drop_columns(list(names))
    columns = [batch.column(name).dictionary_encode() for name in names]
    if all(len(column.dictionary) == 1 and not column.null_count for column in columns):  # nearly always
        yield directory_of(names, [column.dictionary[0].as_py() for column in columns]), rest
        return
    yield from _mixed(names, columns, rest)


def _mixed(names: Sequence[str], columns: list[Any], rest: Any) -> Iterator[tuple[str, Any]]:
    places: dict[tuple[int | None, ...], list[int]] = {}
    for row, codes in enumerate(zip(*(column.indices.to_pylist() for column in columns), strict=True)):
        places.setdefault(codes, []).append(row)
    for codes, rows in places.items():
        values = [
            None if code is None else column.dictionary[code].as_py()
            for code, column in zip(codes, columns, strict=True)
        ]
        yield directory_of(names, values), rest.take(pa.array(rows, pa.int64()))


def _escaped(value: Any) -> str:
    if value is None:
        return NULL
    text = str(value)
    escaped = quote(text, safe=_PLAIN)
    if len(escaped) <= LONGEST:
        return escaped
    kept = text[: LONGEST - _CHECKSUM - 1]
    while len(start := quote(kept, safe=_PLAIN)) > LONGEST - _CHECKSUM - 1:
        kept = kept[: len(kept) * 9 // 10]
    return f"{start}~{sha256(text.encode('utf-8', 'replace')).hexdigest()[:_CHECKSUM]}"
