"""The queries of docs/tables.md, on what one process wrote and on what tasks of a run wrote."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from kdissect.cli import main
from kdissect.pipeline.inputs import find
from kdissect.pipeline.job import Job, run
from kdissect.pipeline.task_setup import Setup
from tests.pipeline.conftest import CHECKOUT
from tests.pipeline.frames import Frames

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Groups that lose members, quotas that throttle, and clients with racks.
CAPTURES = [
    str(CHECKOUT / "captures" / name)
    for name in ("kafka44_java_quotas.pcapng", "kafka44_java_racks.pcapng", "mock_rdk216_txn.pcap")
]
PAGE = (CHECKOUT / "docs" / "tables.md").read_text()
MADE = ("tables", "partitions", "run")


def blocks(heading: str) -> list[str]:
    """Return the statements of the block after a line that begins so."""
    found = re.search(rf"^{heading}:.*?```\w+\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, heading
    return [text.strip() for text in found[1].split(";\n") if text.strip()]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which each of MADE holds a directory `out`."""
    folder = tmp_path_factory.mktemp("queries")
    tables = {"exchanges", "groups", "files"}
    command = ["tables", *CAPTURES, "--tables", ",".join(sorted(tables))]
    assert main([*command, "--output", str(folder / "tables" / "out")]) == 0
    partitions = ["--partition-by", "day,broker"]
    assert main([*command, *partitions, "--output", str(folder / "partitions" / "out")]) == 0
    inputs = find(CAPTURES)
    job = Job(inputs, Setup.of(inputs), str(folder / "run" / "out"), frozenset(tables), parts=4)
    assert not run(Frames(), job).unread  # type: ignore[arg-type]
    return folder


def held_equal(made: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[], Any]) -> None:
    """Ask in each directory: there are answers, and they are the same."""
    answers = {}
    for name in MADE:
        monkeypatch.chdir(made / name)
        answers[name] = ask()
    first = answers[MADE[0]]
    assert len(first) > 0
    for name, answer in answers.items():
        assert answer == first, name


def test_directories_are_the_same(made: Path) -> None:
    of_tables, of_run = (
        {str(path.parent.relative_to(made / name)) for path in (made / name).rglob("*.parquet")}
        for name in ("tables", "run")
    )
    assert of_tables == of_run == {"out/exchanges", "out/groups", "out/files"}


@pytest.mark.parametrize("query", blocks("DuckDB"))
def test_duckdb(query: str, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held_equal(made, monkeypatch, lambda: duckdb.execute(query).fetchall())


def python_result(heading: str) -> Any:
    (source,) = blocks(heading)
    names: dict[str, Any] = {}
    exec(source, names)
    return names["result"]


def test_polars(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("polars", reason="needs polars")
    held_equal(made, monkeypatch, lambda: python_result("Polars").rows())


def test_pandas(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas", reason="needs pandas")
    held_equal(made, monkeypatch, lambda: python_result("pandas").to_dict())


@pytest.mark.exhaustive
def test_spark_sql(spark: SparkSession, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (query,) = blocks("Spark SQL")

    def ask() -> Any:  # Spark is in the directory in which it was started
        return spark.sql(query.replace("`out/", f"`{Path.cwd()}/out/")).collect()

    held_equal(made, monkeypatch, ask)
