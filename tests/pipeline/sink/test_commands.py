"""`kdissect pipeline files`, `compact` and `retain` as people call them."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from kdissect.cli import main
from kdissect.cli.parquet_tables.committed_tables import first_day
from kdissect.engine.tables.all_tables import TABLES_VERSION
from kdissect.pipeline.table_files.manifest_file import MANIFEST
from tests.pipeline.sink.directories import DAY_ONE, DAY_TWO, commit, directory_at

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def grown(tmp_path: Path) -> Path:
    directory = directory_at(tmp_path / "out", grace_s=0)
    for batch in range(4):
        commit(directory, batch, [batch], "a", DAY_ONE if batch < 2 else DAY_TWO)
    return tmp_path / "out"


def test_files_are_listed_for_shells_and_for_programs(grown: Path, capfd: Capture) -> None:
    assert main(["pipeline", "files", f"{grown}/", "--table", "rates"]) == 0
    rows = [line.split("\t") for line in capfd.readouterr().out.splitlines()]
    assert [row[3] for row in rows] == ["0", "1", "2", "3"]
    assert [Path(row[0]).stat().st_size for row in rows] == [int(row[2]) for row in rows]
    assert {row[1] for row in rows} == {"1"}
    assert main(["pipeline", "files", str(grown), "--format", "json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["batch"] == 3
    assert [file["path"] for file in document["files"] if file["table"] == "rates"] == [
        row[0] for row in rows
    ]
    assert {file["table"] for file in document["files"]} == {"rates", "topics"}


def test_compact_and_retain_say_what_they_did(grown: Path, capfd: Capture) -> None:
    assert main(["pipeline", "compact", str(grown), "--grace", "0"]) == 0
    assert capfd.readouterr().out == "2 files became 1 of 0.0 MB together\n"
    assert main(["pipeline", "retain", str(grown), "--before", DAY_TWO.isoformat(), "--grace", "0"]) == 0
    assert capfd.readouterr().out == "2 rows before 2026-03-02 went: 1 file as a whole, 0 written again\n"
    assert len(list((grown / "rates").rglob("*.parquet"))) == 2


def test_days_count_today() -> None:
    from argparse import Namespace

    assert first_day(Namespace(before=None, days=1), date(2026, 3, 1)) == date(2026, 3, 1)
    assert first_day(Namespace(before=None, days=7), date(2026, 3, 1)) == date(2026, 2, 23)
    assert first_day(Namespace(before=None, days=699_999), date(2026, 3, 1)) < date(200, 1, 1)


@pytest.mark.parametrize("action", [["files"], ["compact"], ["retain", "--days", "1"]])
def test_what_is_wrong_with_a_directory_is_one_line(
    action: list[str], tmp_path: Path, capfd: Capture
) -> None:
    name, *options = action
    out = tmp_path / "out"
    for text, why in (
        (None, "no tables are there"),
        ("{", f"its {MANIFEST} is damaged: not the JSON that kdissect writes"),
        (
            json.dumps({"files": [], "tables_version": 9, "kdissect": "3.0"}),
            "written by kdissect 3.0 with tables of version 9; this kdissect knows them "
            f"up to {TABLES_VERSION}: update it, or choose another directory",
        ),
    ):
        if text is not None:
            out.mkdir(exist_ok=True)
            (out / MANIFEST).write_text(text)
        assert main(["pipeline", name, str(out), *options]) == 3
        assert capfd.readouterr().err == f"kdissect: {out}: {why}\n"
        assert out.exists() == (text is not None)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["retain", "x"], "one of the arguments --days --before is required"),
        (["retain", "x", "--days", "0"], "'0' is not a day count"),
        (["retain", "x", "--days", "9999999999"], "is not a day count"),
        (["retain", "x", "--before", "soon"], "'soon' is no day such as 2026-05-01"),
        (["compact", "x", "--grace", "-1"], "'-1' is not a duration in seconds"),
        (["compact", "x", "--grace", "nan"], "'nan' is not a duration in seconds"),
        (["--output", "x", "compact", "y"], "compact goes first, its options after it"),
    ],
)
def test_options_that_make_no_sense(arguments: list[str], why: str, capfd: Capture) -> None:
    assert main(["pipeline", *arguments]) == 2
    assert why in capfd.readouterr().err


def test_a_newer_directory_is_refused_by_those_that_write_there_too(tmp_path: Path, capfd: Capture) -> None:
    from tests.support.console import TXN

    (tmp_path / MANIFEST).write_text(json.dumps({"files": [], "tables_version": 9, "kdissect": "3.0"}))
    assert main(["tables", TXN, "--output", str(tmp_path), "--overwrite", "--tables", "files"]) == 3
    assert "written by kdissect 3.0 with tables of version 9" in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST]
