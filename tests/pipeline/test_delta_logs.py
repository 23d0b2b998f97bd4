"""Delta tables have the rows of the Parquet ones, as readers of Delta Lake find them by their logs."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")
pytest.importorskip("deltalake", reason="needs the extra delta")

import deltalake.transaction
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError
from pyarrow import fs

from kdissect.cli import main
from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.pipeline.inputs import find
from kdissect.pipeline.job import Job, run
from kdissect.pipeline.sink.readers import dataset_of
from kdissect.pipeline.table_files.commit import PENDING, OutputDirectory
from kdissect.pipeline.table_files.delta_logs import LOG, DeltaLogs
from kdissect.pipeline.table_files.manifest_file import MANIFEST
from kdissect.pipeline.table_files.parquet_parts import ParquetParts
from kdissect.pipeline.task_setup import Setup
from kdissect.query.fields.field_table import table_named
from tests.pipeline.conftest import CHECKOUT
from tests.pipeline.frames import Frames
from tests.pipeline.test_killed import Dying, KilledError
from tests.pipeline.test_partitions import NAMES
from tests.pipeline.test_queries import blocks

CAPTURES = [
    str(CHECKOUT / "captures" / name) for name in ("kafka44_java_racks.pcapng", "mock_rdk216_txn.pcap")
]
FIELDS = ("request.acks", "topic", "latency")
SMALL = ["tables", CAPTURES[0], "--tables", "exchanges,topics,files", "--format", "delta"]
Rows = list[str]


def rows_of(table: pa.Table, columns: list[str]) -> Rows:
    return sorted(json.dumps(row, default=str) for row in table.select(columns).to_pylist())


def read_by_log(place: Path, columns: list[str]) -> dict[str, Rows]:
    """Return the rows of a Delta table as three readers find them."""
    table = DeltaTable(place)
    names = ", ".join(f'"{name}"' for name in columns)
    asked = QueryBuilder().register("t", table).execute(f"select {names} from t")
    # polars has maps as lists of pairs
    has_maps = any(pa.types.is_map(field.type) for field in pa.schema(table.schema().to_arrow()))
    found = {
        "pyarrow": rows_of(table.to_pyarrow_table(), columns),
        "datafusion": rows_of(pa.table(asked.read_all()), columns),
    }
    if not has_maps:
        found["polars"] = rows_of(pl.scan_delta(str(place)).collect().to_arrow(), columns)
    return found


def held_equal(delta: Path, parquet: Path, table: str, columns: list[str]) -> None:
    wanted = rows_of(dataset_of(str(parquet), table).to_table(), columns)
    for reader, rows in read_by_log(delta / table, columns).items():
        assert rows == wanted, f"{table} by {reader}"


@pytest.mark.parametrize(
    ("partition_by", "tables"),
    [
        ("none", TABLES.keys() - {"personal"}),
        ("day,broker", {"exchanges", "findings", "latencies"}),
        # text with nulls, truth values, numbers
        ("client_id,middle_start,partition", {"exchanges", "connections", "batches"}),
    ],
)
def test_rows_equal_those_of_parquet(partition_by: str, tables: set[str], tmp_path: Path) -> None:
    command = ["tables", *CAPTURES, "--tables", ",".join(tables), "--partition-by", partition_by]
    command += ["--fields", ",".join(FIELDS)]
    parquet, delta = tmp_path / "parquet", tmp_path / "delta"
    assert main([*command, "--output", str(parquet)]) == 0
    assert main([*command, "--output", str(delta), "--format", "delta"]) == 0
    by = [] if partition_by == "none" else partition_by.split(",")
    for table in sorted({*tables, "fields"}):
        of = table_named(table, FIELDS)
        held_equal(delta, parquet, table, list(of.columns))
        found = DeltaTable(delta / table)
        assert found.metadata().partition_columns == [name for name in by if of.has(name)]
        assert pa.schema(found.schema().to_arrow()).names == arrow_schema(of).names


def test_the_query_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["tables", *CAPTURES, "--tables", "exchanges", "--output", "out"]
    assert main([*command, "--format", "delta"]) == 0
    (source,) = blocks("Delta Lake by Polars")
    found: dict[str, pl.DataFrame] = {}
    exec(source, found)
    assert found["result"].height == 3
    assert found["result"]["len"].sum() > 100


def test_tasks_of_a_run_write_the_same(tmp_path: Path) -> None:
    inputs = find(CAPTURES)
    tables = frozenset({"exchanges", "groups", "transactions", "stalls"})
    for name, is_delta in (("parquet", False), ("delta", True)):
        job = Job(
            inputs, Setup.of(inputs), str(tmp_path / name), tables, ("day", "broker"), 3, is_delta=is_delta
        )
        assert not run(Frames(), job).unread  # type: ignore[arg-type]
    for table in (*tables, "files"):
        held_equal(tmp_path / "delta", tmp_path / "parquet", table, list(TABLES[table].columns))


def test_names_that_peers_choose_come_back(tmp_path: Path) -> None:
    """Delta Lake has null for an empty text in the place of a partition, but for some readers."""
    root = tmp_path / "a b%#é"
    names = [*NAMES, "[x]~*?{}|^`\"'", None, ""]
    parts = ParquetParts(fs.LocalFileSystem(), str(root / "_staging" / "run"), ("topic",), "a")
    rows = [{"topic": name, "partition_count": number} for number, name in enumerate(names)]
    schema = arrow_schema(TABLES["topics"])
    parts.add("topics", pa.RecordBatch.from_pylist(rows, schema=schema))
    logs = DeltaLogs(str(root), [TABLES["topics"]], ("topic",))
    OutputDirectory(fs.LocalFileSystem(), str(root)).commit("run", parts.close(), {}, logs)
    wanted = dataset_of(str(root), "topics").to_table().to_pylist()
    expected = sorted(json.dumps([row["topic"] or None, row["partition_count"]]) for row in wanted)
    assert len(expected) == len(names)
    found = read_by_log(root / "topics", ["topic", "partition_count"])
    for reader, read in found.items():
        values = [list(json.loads(row).values()) for row in read]
        assert sorted(json.dumps([topic or None, number]) for topic, number in values) == expected, reader


def files_of(place: Path) -> set[str]:
    """Return the Parquet files of a table, and check that they are those that the log names."""
    there = {path.relative_to(place).as_posix() for path in place.rglob("*.parquet")}
    if (place / LOG).exists():
        table = DeltaTable(place)
        assert table.version() == 0
        named = {str(Path(uri).relative_to(place)) for uri in table.file_uris()}
        assert named == there
    return there


def test_another_run_replaces_files_and_logs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    command = [*SMALL, "--output", str(out)]
    assert main(command) == 0
    first = files_of(out / "exchanges")
    assert main(command) == 2
    assert "--overwrite replaces them" in capfd.readouterr().err
    assert files_of(out / "exchanges") == first
    assert main([*command, "--overwrite", "--partition-by", "day"]) == 0
    second = files_of(out / "exchanges")
    assert second and not second & first
    assert main([*command, "--overwrite", "--format", "parquet", "--tables", "exchanges"]) == 0
    assert not [*out.rglob(LOG)], "the log of a table that is Parquet only, or not there, is gone"
    assert not files_of(out / "topics")
    assert main([*command, "--overwrite"]) == 0
    assert DeltaTable(out / "topics").to_pyarrow_table().num_rows > 0


def test_what_others_wrote_or_changed_stays(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    command = [*SMALL, "--output", str(out)]
    deltalake.write_deltalake(out / "topics", pa.table({"a": [1]}))
    assert main(command) == 3
    assert "topics is a Delta table already, and not of kdissect" in capfd.readouterr().err
    assert {path.relative_to(out).parts[0] for path in out.rglob("*") if path.is_file()} == {"topics"}
    (out / "topics").rename(tmp_path / "elsewhere")
    assert main(command) == 0
    DeltaTable(out / "exchanges").delete("api = 'Fetch'")
    left = DeltaTable(out / "exchanges").to_pyarrow_table()
    for format_ in ("delta", "parquet"):
        assert main([*command, "--overwrite", "--format", format_]) == 3
        assert "another program changed the Delta table exchanges" in capfd.readouterr().err
    assert DeltaTable(out / "exchanges").to_pyarrow_table() == left


@pytest.mark.parametrize("failing", range(3))
def test_a_log_that_cannot_be_written_leaves_no_table(
    failing: int, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    made: list[str] = []
    create = deltalake.transaction.create_table_with_add_actions

    def refusing(uri: str, *arguments: Any, **named: Any) -> None:
        if len(made) == failing:
            raise DeltaError("disk\n  full")
        made.append(uri)
        create(uri, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(deltalake.transaction, "create_table_with_add_actions", refusing)
        assert main([*SMALL, "--output", str(out)]) == 3
    assert capfd.readouterr().err == f"kdissect: {out}: disk full\n"
    assert len(made) == failing
    assert not [path for path in out.rglob("*") if path.is_file()]
    assert main([*SMALL, "--output", str(out)]) == 0


def test_an_interrupted_run_leaves_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(deltalake.transaction, "create_table_with_add_actions", interrupted)
    with suppress(KeyboardInterrupt):
        assert main([*SMALL, "--output", str(tmp_path / "out")]) == 130
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def commit(directory: OutputDirectory, folder: Path, name: str) -> None:
    """Commit as `job.run` does once everything is staged."""
    logs = DeltaLogs(str(folder), [TABLES["topics"], TABLES["files"]], ())
    before = directory.begin(True, logs)
    parts = ParquetParts(fs.LocalFileSystem(), directory.staging_of(name), (), name)
    for table in logs.tables:
        row = {TABLES[table].identity[0]: name}
        parts.add(table, pa.RecordBatch.from_pylist([row], schema=arrow_schema(TABLES[table])))
    files = parts.close()
    if before is not None:
        directory.clear(before)
    directory.commit(name, files, {}, logs)


def test_a_run_killed_at_any_change_leaves_no_log_without_its_files(tmp_path: Path) -> None:
    ends = set()
    for left in range(40):
        folder = tmp_path / str(left)
        commit(OutputDirectory(fs.LocalFileSystem(), str(folder)), folder, "old")
        try:
            commit(OutputDirectory(Dying(left), str(folder)), folder, "new")
            ends.add("done")
        except KilledError:
            ends.add("killed")
        for table in ("topics", "files"):
            files_of(folder / table)
        whole = OutputDirectory(fs.LocalFileSystem(), str(folder))
        whole.undo_killed()
        manifest = whole.manifest()
        assert len([*folder.rglob(LOG)]) == (0 if manifest is None else 2)
        assert not (folder / PENDING).exists()
        ends.add("none" if manifest is None else manifest["run"])
        if manifest is not None:
            read = DeltaTable(folder / "topics").to_pyarrow_table().column(TABLES["topics"].identity[0])
            assert read.to_pylist() == [manifest["run"]]
    assert ends == {"done", "killed", "none", "old", "new"}


@pytest.mark.parametrize("action", [["compact"], ["retain", "--before", "2200-01-01"]])
def test_files_that_a_log_names_are_not_rewritten(
    action: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    inputs = find(CAPTURES)
    job = Job(inputs, Setup.of(inputs), str(out), frozenset({"exchanges"}), is_delta=True)
    run(Frames(), job)  # type: ignore[arg-type]
    manifest = json.loads((out / MANIFEST).read_text())
    before = files_of(out / "exchanges")
    if action == ["compact"]:  # several small files, as a large run leaves some
        manifest["files"] *= 2
        (out / MANIFEST).write_text(json.dumps(manifest))
    assert main(["pipeline", *action, str(out)]) == 3
    assert "these are Delta tables: use OPTIMIZE and DELETE of Delta Lake" in capfd.readouterr().err
    assert files_of(out / "exchanges") == before


def test_a_column_that_no_directory_can_name_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*SMALL, "--output", str(tmp_path / "out"), "--partition-by", "day,time,event_order"]) == 2
    assert "--format delta cannot partition by time, event_order" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("memory://x", "Unable to recognise URL"),
        ("s3://b/x?region=here", "need a URL without options"),
        ("/tmp/a%20b", "reads %XX in a path as a character"),
        ("/tmp/a\nb", "reads no path with a backslash or a line break"),
    ],
)
def test_a_place_that_deltalake_cannot_write_is_refused_before_a_run(place: str, why: str) -> None:
    with pytest.raises(OSError, match=why) as refused:
        DeltaLogs(place, [TABLES["files"]], ()).check(())
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("command", [["tables"], ["pipeline", "run"]])
def test_without_deltalake_one_line_says_how_to_install_it(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    out = tmp_path / "out"
    assert main([*command, CAPTURES[0], "--output", str(out), "--format", "delta"]) == 2
    assert (
        "--format delta needs deltalake: pip install 'deltalake>=1.6,<2' 'pyarrow>=19'"
        in capfd.readouterr().err
    )
    assert not out.exists()
