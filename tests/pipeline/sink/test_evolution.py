"""Tables of versions that were released, read, added to and compacted by this one and by a later one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kdissect.engine.exchange_rows import RowField
from kdissect.engine.tables.all_tables import TABLES, TABLES_VERSION
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.engine.tables.evolution import breaches, conform, schema_text
from kdissect.engine.tables.table import Table
from kdissect.pipeline.sink.compaction import compact
from kdissect.pipeline.sink.readers import committed, committed_files, dataset_of
from kdissect.pipeline.sink.table_directory import Recovered
from kdissect.pipeline.table_files.manifest_file import NewerTablesError, OlderTablesError
from kdissect.stages.from_tables import TableDirectory
from tests.pipeline.released.freeze import HERE, schema_with_version
from tests.pipeline.sink.directories import directory_at, staged

RELEASED = sorted(path.stem for path in HERE.glob("*.schema"))
UNCHANGED = schema_text(TABLES.values())


def frozen(version: str) -> str:
    return (HERE / f"{version}.schema").read_text()


def test_there_is_a_release() -> None:
    assert "0.1.0" in RELEASED


@pytest.mark.parametrize("version", RELEASED)
def test_nothing_that_was_released_is_renamed_dropped_or_retyped(version: str) -> None:
    assert breaches(frozen(version), UNCHANGED) == []


@pytest.mark.parametrize("version", RELEASED)
def test_what_is_new_has_a_new_version(version: str) -> None:
    """If this fails: TABLES_VERSION in `engine/tables/all_tables.py` has to be one more."""
    first, _, text = frozen(version).partition("\n")
    grown = breaches(UNCHANGED, text) != []
    assert int(first.removeprefix("version ")) < TABLES_VERSION or not grown


def edited(table: str, edit: Callable[[Table], Table | None]) -> str:
    held = {name: edit(each) if name == table else each for name, each in TABLES.items()}
    return schema_text(each for each in held.values() if each is not None)


def retyped(name: str, type_: str) -> Callable[[Table], Table]:
    return lambda table: table._replace(
        fields=tuple(f._replace(type=type_) if f.name == name else f for f in table.fields)
    )


def renamed(name: str, to: str) -> Callable[[Table], Table]:
    return lambda table: table._replace(
        fields=tuple(f._replace(name=to) if f.name == name else f for f in table.fields)
    )


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda table: None, "rates: the table does not exist any more"),
        (retyped("errors", "int32"), "rates: no longer has 'errors: int64'"),
        (renamed("errors", "faults"), "rates: no longer has 'errors: int64'"),
        (lambda table: table._replace(fields=table.fields[:-1]), "rates: no longer has 'errors: int64'"),
        (
            lambda table: table._replace(identity=("time_ns",)),
            "rates: no longer has 'by: capture_set time_ns'",
        ),
        (
            lambda table: table._replace(order=("time_ns",)),
            "rates: no longer has 'sorted: capture_set time_ns'",
        ),
    ],
)
def test_what_breaks_the_rules_is_told(edit: Callable[[Table], Table | None], told: str) -> None:
    assert breaches(UNCHANGED, edited("rates", edit)) == [told]


def test_inside_of_structs_the_rules_hold_too() -> None:
    text = edited("exchanges", retyped("request.bytes", "string"))
    assert breaches(UNCHANGED, text) == ["exchanges: no longer has 'request.bytes: int64'"]


def test_columns_and_fields_may_be_added() -> None:
    for table, name in (("rates", "retries"), ("exchanges", "request.colour")):
        text = edited(
            table, lambda old, name=name: old._replace(fields=(*old.fields, RowField(name, "string", "")))
        )  # type: ignore[misc]
        assert text != UNCHANGED
        assert breaches(UNCHANGED, text) == []


@pytest.fixture(params=RELEASED)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a directory as the release left it."""
    copytree(HERE / request.param, tmp_path / "old")
    return tmp_path / "old"


def test_tables_of_a_release_are_read(old: Path, request: pytest.FixtureRequest) -> None:
    there = frozen(request.node.callspec.params["old"])
    for name, table in TABLES.items():
        if f"\ntable {name}\n" not in there:
            continue  # it came later
        (entry,) = committed(str(old), name)
        found = dataset_of(str(old), name).to_table()
        assert found.schema.equals(arrow_schema(table))
        assert found.num_rows == entry.rows > 0
        assert (
            len(duckdb.execute("from read_parquet(?)", [committed_files(str(old), name)]).fetchall())
            == entry.rows
        )


def test_reports_are_made_from_tables_of_a_release(old: Path) -> None:
    directory = directory_at(old)
    tables = TableDirectory(directory.filesystem, directory.root)
    assert len(list(tables.rows("findings"))) == committed(str(old), "findings")[0].rows
    assert tables.verdict().findings


def grow(monkeypatch: pytest.MonkeyPatch, table: str, *fields: RowField) -> None:
    held = TABLES[table]
    monkeypatch.setitem(TABLES, table, held._replace(fields=(*held.fields, *fields)))


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have this kdissect write as a later version."""
    grow(monkeypatch, "rates", RowField("retries", "int64", "new"))
    grow(
        monkeypatch,
        "exchanges",
        RowField("request.colour", "string", "in a struct"),
        RowField("seen_by", "list<struct>", "new"),
        RowField("seen_by.host", "string", "new"),
    )
    grow(monkeypatch, "files", RowField("anomalies.count", "int32", "in a list of structs"))
    for module in ("commit", "manifest_file"):
        monkeypatch.setattr(f"kdissect.pipeline.table_files.{module}.TABLES_VERSION", TABLES_VERSION + 1)
    yield


def column(root: Path, table: str, name: str) -> list[Any]:
    return dataset_of(str(root), table).to_table().column(name).to_pylist()


def add_later(root: Path, batch: int) -> None:
    """Commit a batch of the later version."""
    directory = directory_at(root, grace_s=0)
    rows = {
        "rates": {"exchanges": 5, "retries": 7},
        "exchanges": {"exchange": 1, "request": {"bytes": 9, "colour": "red"}, "seen_by": [{"host": "a"}]},
        "files": {"file": "new.pcap", "anomalies": [{"kind": "gap", "detail": "-", "count": 3}]},
    }
    made = []
    for name, row in rows.items():
        made += staged(
            directory, batch, name, pa.RecordBatch.from_pylist([row], schema=arrow_schema(TABLES[name]))
        )
    directory.commit_batch(batch, made, {}, {})


def old_rows(root: Path, table: str) -> int:
    return committed(str(root), table)[0].rows


@pytest.mark.usefixtures("later")
def test_a_later_version_adds_to_what_a_release_wrote(old: Path) -> None:
    before = {name: dataset_of(str(old), name).to_table() for name in TABLES}
    rates, exchanges, files = (old_rows(old, name) for name in ("rates", "exchanges", "files"))
    assert directory_at(old).recover() == Recovered()
    add_later(old, 1)
    for _ in range(2):  # before it is compacted, and after it
        assert column(old, "rates", "retries") == [None] * rates + [7]
        requests = column(old, "exchanges", "request")
        assert [row["colour"] for row in requests if row] == [None] * (exchanges) + ["red"]
        assert column(old, "exchanges", "seen_by") == [None] * exchanges + [[{"host": "a"}]]
        *_, new = column(old, "files", "anomalies")
        assert new == [{"kind": "gap", "detail": "-", "count": 3}]
        for name, rows in before.items():
            found = dataset_of(str(old), name).to_table()
            assert found.slice(0, rows.num_rows).equals(rows)
        query = "select retries from read_parquet(?, union_by_name=true)"
        assert duckdb.execute(query, [committed_files(str(old), "rates")]).fetchall() == [(None,)] * rates + [
            (7,)
        ]
        if len(committed(str(old), "rates")) == 2:
            add_later(old, 2)
            directory = directory_at(old, grace_s=0)
            directory.commit_batch(2, [], {}, {})  # the last batch has nothing: all others may be joined
            compact(directory)
    (joined,) = committed_files(str(old), "rates")
    assert pq.read_schema(joined).equals(arrow_schema(TABLES["rates"]))
    (joined,) = committed_files(str(old), "exchanges")
    assert pq.read_schema(joined).equals(arrow_schema(TABLES["exchanges"]))
    assert files == 1


def test_what_a_later_version_wrote_is_refused_by_this_one(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        for module in ("commit", "manifest_file"):
            context.setattr(f"kdissect.pipeline.table_files.{module}.TABLES_VERSION", TABLES_VERSION + 1)
        directory_at(old).commit_batch(1, [], {}, {})
        assert dataset_of(str(old), "rates").count_rows()
    for attempt in (
        lambda: dataset_of(str(old), "rates"),
        lambda: directory_at(old).recover(),
        lambda: directory_at(old).commit_batch(2, [], {}, {}),
        lambda: compact(directory_at(old)),
    ):
        with pytest.raises(NewerTablesError, match="update it, or choose another directory"):
            attempt()


def test_what_was_written_before_the_first_release_is_refused(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = "kdissect.pipeline.table_files.manifest_file.FIRST_VERSION"
    monkeypatch.setattr(version, TABLES_VERSION + 1)
    with pytest.raises(OlderTablesError, match="before the first release"):
        dataset_of(str(old), "rates")


def test_columns_that_no_version_has_are_not_dropped_in_silence() -> None:
    rows = pa.RecordBatch.from_pylist([{"x": 1, "y": 2}])
    with pytest.raises(ValueError, match="columns of no known version: y"):
        conform(rows, pa.schema([("x", pa.int64())]))


def test_structs_that_got_fields_in_every_depth() -> None:
    inner = pa.struct([("a", pa.int64())])
    grown = pa.struct([("a", pa.int64()), ("b", pa.map_(pa.string(), pa.int64()))])
    rows = [
        {"s": {"t": {"a": 1}}, "l": [{"a": 2}, None]},
        {"s": None, "l": None},
        {"s": {"t": None}, "l": []},
    ]
    old = pa.schema([("s", pa.struct([("t", inner)])), ("l", pa.list_(inner))])
    new = pa.schema([("s", pa.struct([("t", grown)])), ("l", pa.list_(grown))])
    found = conform(pa.RecordBatch.from_pylist(rows, schema=old).slice(0, 3), new)
    assert found.schema.equals(new)
    assert found.to_pylist() == [
        {"s": {"t": {"a": 1, "b": None}}, "l": [{"a": 2, "b": None}, None]},
        {"s": None, "l": None},
        {"s": {"t": None}, "l": []},
    ]


def test_the_text_is_that_of_the_registry() -> None:
    assert schema_with_version() == f"version {TABLES_VERSION}\n{UNCHANGED}"
    assert UNCHANGED.startswith(
        "table files\n  by capture_set file\n  sorted capture_set first_time_ns file\n"
    )
