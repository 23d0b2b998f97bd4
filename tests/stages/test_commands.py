"""Tables of one process tell what the commands tell, and reports made from tables are those of `check`."""

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from tests.support.told import compare, is_in_tables

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from pyarrow import dataset, parquet

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = ("kafka44_franz_transactions.pcapng", "kafka44_java_kip848.pcapng", "kafka28_scala_consumer.pcapng",
         "kafka44_java_redelivery.pcapng", "kafka44_java_waiting.pcapng")  # fmt: skip


def _told(capfd: pytest.CaptureFixture[str], *arguments: str) -> Any:
    main([*arguments, "--format", "json"])
    return json.loads(capfd.readouterr().out)


@pytest.fixture(scope="module", params=NAMES)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return a capture and the directory of its tables and reports."""
    place = tmp_path_factory.mktemp("tables")
    path = str(CAPTURES / request.param)
    reports = [f"--report={name}={place / name}.out" for name in ("json", "html", "sarif", "stats")]
    assert main(["tables", path, "--output", str(place / "t"), "--tables", ",".join(TABLES), *reports]) == 0
    return path, place


def _rows(place: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = dataset.dataset(place / "t" / table).to_table().to_pylist()
    return found


@pytest.mark.exhaustive
def test_reports_from_tables_are_those_of_check(
    written: tuple[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    path, place = written
    for name in ("json", "html", "sarif"):
        main(["check", path, "--format", name])
        assert capfd.readouterr().out == (place / f"{name}.out").read_text(), name


def test_statistics_from_tables_are_those_of_stats(
    written: tuple[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    path, place = written
    assert json.loads((place / "stats.out").read_text()) == _told(capfd, "stats", path)


def test_states_are_those_of_the_commands(
    written: tuple[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    path, place = written
    topics = _told(capfd, "topics", path)["topics"]
    assert _plain(_rows(place, "topics"), topics) == topics
    groups = _told(capfd, "groups", path)["groups"]
    rows = _rows(place, "groups")
    for row in rows:
        for one in row["rebalances"]:
            one["reasons"] = {reason["member"]: reason["reason"] for reason in one["reasons"]}
    assert _plain(rows, groups) == groups
    facts = _told(capfd, "producers", path)
    rows = [row for row in _rows(place, "producers") if row["producer_id"] is not None]
    for row in rows:
        for one in row["partitions"]:
            one["partition"] = f"{one['topic']}-{one['partition']}"
    assert _plain(rows, facts["producers"]) == facts["producers"]
    ids = _rows(place, "transactions")
    assert _plain(ids, facts["transactional_ids"]) == facts["transactional_ids"]


def _plain(rows: Any, like: Any) -> Any:
    """Return rows as the JSON of a command has them: maps as objects, and nothing that it does not have."""
    if isinstance(like, dict):
        held = dict(rows) if isinstance(rows, list) else rows
        return {name: _plain(held.get(name), value) for name, value in like.items()}
    if isinstance(like, list) and isinstance(rows, list) and len(rows) == len(like):
        return [_plain(row, one) for row, one in zip(rows, like, strict=True)]
    if isinstance(rows, datetime) and isinstance(like, str):
        assert rows == datetime.fromisoformat(like)  # up to microseconds
        return like
    return rows


def test_exchanges_and_connections_are_those_of_the_commands(
    written: tuple[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    path, place = written
    for command, table in (("inspect", "exchanges"), ("connections", "connections")):
        main([command, path, "--format", "jsonl"])
        told = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        rows = sorted(_rows(place, table), key=lambda row: row["event_order"])
        assert len(rows) == len(told) > 0
        for row, one in zip(rows, told, strict=True):
            for name, value in one.items():
                if is_in_tables(name):
                    compare(row[name], value, name)


def test_files_have_the_schema(written: tuple[str, Path]) -> None:
    _, place = written
    for name, table in TABLES.items():
        for path in (place / "t" / name).glob("*.parquet"):
            assert parquet.read_schema(path).equals(arrow_schema(table)), name


def test_tables_are_not_written_over_unless_asked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(CAPTURES / NAMES[2])
    command = ["tables", path, "--output", str(tmp_path / "t"), "--tables", "exchanges,files"]
    assert main([*command, "--partition-by", "day,broker"]) == 0
    before = sorted((tmp_path / "t").rglob("*.parquet"))
    assert any("day=" in str(place) for place in before)
    assert main(command) == 2
    assert "--overwrite" in capfd.readouterr().err
    assert main([*command, "--overwrite"]) == 0
    assert not set(before) & set((tmp_path / "t").rglob("*.parquet"))


@pytest.mark.parametrize(
    "option",
    [["--tables", "nothing"], ["--partition-by", "nothing"], ["--report", "json"], ["--report", "x=y"]],
)
def test_options_that_make_no_sense_are_refused(option: list[str], tmp_path: Path) -> None:
    assert main(["tables", "x.pcap", "--output", str(tmp_path), *option]) == 2


def test_what_cannot_be_read_is_a_row(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no capture")
    command = ["tables", str(text), str(CAPTURES / NAMES[2]), "--output", str(tmp_path / "t")]
    assert main(command) == 3
    rows = _rows(tmp_path, "files")
    assert {bool(row["error"]) for row in rows} == {True, False}


def test_all_names_every_table(tmp_path: Path) -> None:
    from kdissect.engine.tables.all_tables import TABLES

    assert main(["tables", str(CAPTURES / NAMES[2]), "--output", str(tmp_path / "t"), "--tables", "all"]) == 0
    assert {place.parent.name for place in (tmp_path / "t").rglob("*.parquet")} == set(TABLES)


def test_describe_prints_the_page(capfd: pytest.CaptureFixture[str]) -> None:
    from kdissect.engine.tables.all_tables import tables_page

    assert main(["tables", "--describe"]) == 0
    assert capfd.readouterr().out == tables_page()


def test_tables_come_without_numpy_and_pandas_in_a_process_of_their_own(tmp_path: Path) -> None:
    """They take longer to load than a small capture to read, and nothing here needs them."""
    code = (
        "import sys; from kdissect.cli import main; main();"
        "assert 'pyarrow' in sys.modules; assert not {'numpy', 'pandas'} & sys.modules.keys()"
    )
    command = [
        sys.executable,
        "-c",
        code,
        "tables",
        str(CAPTURES / NAMES[0]),
        "--output",
        str(tmp_path / "out"),
    ]
    ran = subprocess.run(command, cwd=CAPTURES.parent, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert list((tmp_path / "out" / "exchanges").iterdir())
