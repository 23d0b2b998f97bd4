"""The table `personal`: the rows of `personal-data`, in one process and in the tasks of a run."""

import json
from pathlib import Path

import pytest

pytest.importorskip("phonenumbers", reason="needs the extra personal")
pytest.importorskip("stdnum", reason="needs the extra personal")
pytest.importorskip("pyarrow", reason="needs the extra arrow")

import pyarrow.parquet as pq

from kdissect.cli import main
from kdissect.model import extras
from kdissect.pipeline.job import MissingPackagesError
from kdissect.serdes.schema_files import load_schemas
from tests.pipeline.parquet import compare, of_run
from tests.support.console import CAPTURES

PERSONAL = CAPTURES / "personal" / "personal.pcap.gz"
SCHEMAS = CAPTURES / "schemas"


def test_its_rows_are_those_of_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", str(PERSONAL), "--tables", "personal", "-o", str(tmp_path / "out")]) == 0
    assert capfd.readouterr().out.startswith("personal")
    rows = pq.read_table(tmp_path / "out" / "personal").to_pylist()
    assert main(["personal-data", str(PERSONAL), "--json"]) == 0
    printed = json.loads(capfd.readouterr().out)["personal_data"]
    assert len(printed) > 100
    for row in printed:
        assert row.pop("stored") == 0  # of log segments
    assert rows == [{"capture_set": rows[0]["capture_set"], **row} for row in printed]


def test_a_run_on_spark_has_the_same_rows(tmp_path: Path) -> None:
    compare([PERSONAL], tmp_path / "one", tables={"personal"})
    assert len(of_run(tmp_path / "one", "personal")) > 100


def test_a_run_on_spark_decodes_by_schemas(tmp_path: Path) -> None:
    captures = sorted(SCHEMAS.glob("*.pcap*"))
    schemas = load_schemas([str(SCHEMAS)])
    compare(captures, tmp_path / "with", tables={"personal"}, schemas=schemas)
    compare(captures, tmp_path / "without", tables={"personal"})
    counts = [sum(row["hits"] for row in of_run(tmp_path / name, "personal")) for name in ("with", "without")]
    assert counts[0] > counts[1]


def test_it_is_made_only_when_named(tmp_path: Path) -> None:
    assert main(["tables", str(CAPTURES / "mock_avro.pcap"), "-o", str(tmp_path / "out")]) in (0, 3)
    assert not (tmp_path / "out" / "personal").exists()


def test_it_needs_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extras, "are_installed", lambda *_: False)
    assert main(["tables", str(PERSONAL), "--tables", "personal", "-o", str(tmp_path / "out")]) == 2
    assert "phonenumbers" in capfd.readouterr().err


def test_a_worker_needs_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver has the packages, a worker lacks them: nothing is committed."""
    monkeypatch.setattr(extras, "are_installed", lambda *_: False)
    with pytest.raises(MissingPackagesError, match=r"^on \S+, personal data needs phonenumbers"):
        compare([PERSONAL], tmp_path / "out", tables={"files", "personal"})
    assert list((tmp_path / "out").rglob("*.parquet")) == []
    compare([PERSONAL], tmp_path / "others", tables={"files", "connections"})
