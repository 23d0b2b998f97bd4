"""A third of all captures in one run on Spark: tables and output of commands are those of one process.

Each third takes minutes, most of them for one process that judges everything twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")
pytest.importorskip("pyspark", reason="needs the extra spark")

from pyarrow import parquet

from kdissect.capture.filesystems import filesystem_of
from kdissect.cli import main
from kdissect.cli.findings.report_files import render
from kdissect.cli.parquet_tables.table_reports import statistics
from kdissect.engine.tables.all_tables import TABLES
from kdissect.pipeline.inputs import find
from kdissect.pipeline.task_setup import Setup
from kdissect.stages.from_tables import TableDirectory
from tests.pipeline.conftest import CHECKOUT
from tests.pipeline.parquet import Rows, of_one_process, of_run
from tests.support.once import made_once
from tests.support.told import compare, is_in_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THIRDS = 3
TWICE = "kafka44_nat.pcapng"  # in each third: both sides of a NAT
pytestmark = [pytest.mark.exhaustive, pytest.mark.rotated(THIRDS)]

# Lines of `inspect` have them; in the tables the row of the connection does.
CAPTURES = CHECKOUT / "captures"
# What a record is in one form there, and in another here, or not at all.
_NOT_COMPARED = ("number", "time", "timestamp", "decoded")


class Ran(NamedTuple):
    """A run over the corpus."""

    paths: list[Path]
    keys: list[str]
    output: Path
    tables: dict[str, Rows]


@pytest.fixture(scope="module", params=range(THIRDS))
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Return a third of the captures of the repository, and rotated ones of the reference material where that
    is there. One worker of the tests runs them.
    """
    pytest.importorskip("cryptography", reason="needs the extra tls")
    from kdissect.pipeline.job import Job, run

    reference = Path(os.environ.get("KDISSECT_REFERENCE", CHECKOUT.parent / "shared"))
    whole = sorted(path for path in CAPTURES.glob("*.pcap*") if path.name != TWICE)
    paths = [CAPTURES / TWICE, *whole[request.param :: THIRDS]]
    if not request.param:
        paths += sorted(reference.glob("captures/tansu_rdk216_rotated.pcap*"))
    keys = [str(path) for path in sorted(CAPTURES.glob("*.keys"))]

    def make(folder: Path) -> None:
        inputs = find([str(path) for path in paths])
        setup = Setup.of(inputs, key_logs=tuple(keys))
        spark: SparkSession = request.getfixturevalue("spark")
        summary = run(spark, Job(inputs, setup, str(folder / "tables"), frozenset(TABLES)))
        assert not summary.unread

    output = made_once(tmp_path_factory, f"corpus{request.param}", make) / "tables"
    return Ran(paths, keys, output, {table: of_run(output, table) for table in TABLES})


def _arguments(ran: Ran) -> list[str]:
    return [*map(str, ran.paths), *(f"--keylog={key}" for key in ran.keys)]


def _rows(ran: Ran, table: str) -> Rows:
    """Return rows by connection, those of one in their canonical order, which does not span capture sets."""
    columns = ("connection", *TABLES[table].order)
    return sorted(ran.tables[table], key=lambda row: [row[name] for name in columns])


def _lines(capfd: pytest.CaptureFixture[str], *arguments: str) -> Iterator[dict[str, Any]]:
    main(list(arguments))
    return map(json.loads, capfd.readouterr().out.splitlines())


def test_every_table_is_that_of_one_process(ran: Ran) -> None:
    one = of_one_process(ran.paths, ran.keys)
    for table in TABLES:
        assert ran.tables[table] == one[table], table
    assert len(one["exchanges"]) > 5_000


def test_exchanges_and_connections_are_those_listed(ran: Ran, capfd: pytest.CaptureFixture[str]) -> None:
    for command, table in (("inspect", "exchanges"), ("connections", "connections")):
        lines = _lines(capfd, command, *_arguments(ran), "--format", "jsonl")
        told = sorted(lines, key=itemgetter("connection"))
        for row, one in zip(_rows(ran, table), told, strict=True):
            for name, value in one.items():
                if is_in_tables(name):
                    compare(row[name], value, name)


def _record_key(row: dict[str, Any]) -> list[str]:
    """Return a key without `section`, which the command lacks, for an order within an exchange."""
    names = ("connection", "exchange", "topic", "topic_id", "partition", "batch", "record", "offset")
    return [str(row[name]) for name in names]


def test_records_are_what_the_command_writes(ran: Ran, tmp_path: Path) -> None:
    """But those of traffic that was captured twice: the table has both, the command one."""
    twice = {
        (row["connection"], row["exchange"]) for row in ran.tables["exchanges"] if row["same_as"] is not None
    }
    once = [row for row in ran.tables["records"] if (row["connection"], row["exchange"]) not in twice]
    assert len(once) < len(ran.tables["records"]), "a capture has both sides of a NAT"
    path = tmp_path / "records.parquet"
    main(["records", *_arguments(ran), "--format", "parquet", "-o", str(path), "--show-secrets"])
    told = parquet.read_table(path)
    names = [name for name in told.column_names if name not in _NOT_COMPARED]
    secret = 0
    written = sorted(told.select(names).to_pylist(), key=_record_key)
    for row, one in zip(sorted(once, key=_record_key), written, strict=True):
        masked = {name for name in ("key", "value") if row[name] == b"***"}
        secret += len(masked)
        for name in names:
            assert name in masked or row[name] == one[name], name
    assert secret < 1000 < len(written), "nearly all are compared"


def test_reports_and_statistics_are_those_of_check_and_stats(
    ran: Ran, capfd: pytest.CaptureFixture[str]
) -> None:
    directory = TableDirectory(*filesystem_of(str(ran.output)))
    main(["check", *_arguments(ran), "--format", "json"])
    assert render("json", directory.verdict()).decode() == capfd.readouterr().out
    main(["stats", *_arguments(ran), "--format", "json"])
    assert json.loads(statistics(directory, ("api",))) == json.loads(capfd.readouterr().out)
