"""The tables `causes` and `stalls` have the results of `why` and `stats`, and reports read causes back."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.causes.cause_stage import CauseStage
from kdissect.cli import main
from kdissect.cli.diagnostics import USAGE
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.anomaly import AnomalyKind
from kdissect.report.html.causes import causes_section
from kdissect.stages.rows.cause_rows import diagnosis_of
from tests.causes.diagnosing import capture, diagnosed
from tests.pipeline.conftest import CHECKOUT
from tests.pipeline.parquet import of_run

REFUSED, REJOINS, GOOD = map(capture, ("kafka44_java_refused", "kafka44_java_rejoins", "kafka44_kp3_produce"))


HANG = str(CHECKOUT / "captures" / "faults" / "recorded" / "duplicate-writes-1.pcapng.gz")


def written(tmp_path: Path, *words: str, table: str = "causes") -> list[dict[str, Any]]:
    assert main(["tables", *words, "--output", str(tmp_path / "t"), "--tables", table]) == 0
    return of_run(tmp_path / "t", table)


def test_rows_are_what_why_tells(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = written(tmp_path, REFUSED)
    capfd.readouterr()
    assert main(["why", REFUSED, "--format", "json", "--all"]) == 0
    told = json.loads(capfd.readouterr().out)["causes"]
    assert len(rows) == len(told) == 2
    for row, one in zip(rows, told, strict=True):
        same = ("rank", "id", "title", "severity", "sentence", "who", "parties", "times", "cost", "certainty",
                "why_not_surer", "command", "help", "effects")  # fmt: skip
        assert {name: row[name] for name in same} == {name: one[name] for name in same}
        assert row["cites"] == [each["source"] for each in one["cites"]]
        for mine, its in zip(row["evidence"], one["evidence"], strict=True):
            assert {name: mine[name] for name in its if name != "time"} == {
                name: value for name, value in its.items() if name != "time"
            }
        assert str(row["since_ns"])[:10] == str(int(row["since"].timestamp()))
        assert one["since"].startswith(row["since"].isoformat()[:19])


def test_stalls_are_those_of_stats(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = written(tmp_path, HANG, GOOD, table="stalls")
    capfd.readouterr()
    assert main(["stats", HANG, "--table", "stalls", "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)["rows"]
    assert len(rows) == len(found) == 2
    for row, one in zip(rows, found, strict=True):
        same = ("capture_set", "brokers", "until_ns", "took_ns", "share", "waited_by", "clients", "requests",
                "waited_ns", "others_sent", "connection", "exchange")  # fmt: skip
        assert {name: row[name] for name in same} == {name: one[name] for name in same}
        assert row["since_ns"] == one["from_ns"]
        assert dict(row["apis"]) == one["apis"]
        assert str(row["until_ns"])[:10] == str(int(row["until"].timestamp()))


def test_each_capture_set_has_its_own(tmp_path: Path) -> None:
    rows = written(tmp_path, REFUSED, REJOINS, GOOD)
    assert [(row["capture_set"], row["rank"]) for row in rows] == [
        ("kafka44_java_refused", 1), ("kafka44_java_refused", 2),
        ("kafka44_java_rejoins", 1), ("kafka44_java_rejoins", 2),
    ]  # fmt: skip
    assert {row["command"].count(".pcapng") for row in rows} == {1}


def test_it_is_made_when_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", REFUSED, "--output", str(tmp_path / "t")]) == 0
    printed = capfd.readouterr().out
    assert "causes" not in printed
    assert "stalls" not in printed
    assert main(["tables", REFUSED, "--output", str(tmp_path / "u"), "--tables", "topics",
                 "--report", f"html={tmp_path / 'report.html'}"]) == 0  # fmt: skip
    assert "causes" in capfd.readouterr().out
    assert 'id="causes"' in (tmp_path / "report.html").read_text()


def test_rows_are_read_back(tmp_path: Path) -> None:
    found = diagnosed(REFUSED)
    again = diagnosis_of(written(tmp_path, REFUSED), [REFUSED])
    assert causes_section(again) == causes_section(found)
    assert [cause._replace(command="") for cause in again.causes] == [
        cause._replace(command="") for cause in found.causes
    ]


@pytest.mark.parametrize("table", ["causes", "stalls"])
def test_a_stream_has_none(table: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["pipeline", "watch", str(tmp_path), "--output", str(tmp_path / "t"), "--tables", table]
    pytest.importorskip("pyspark", reason="needs the extra spark")
    assert main([*words, "--checkpoint", str(tmp_path / "c")]) == USAGE
    assert "watch has no tables causes, stalls and personal" in capfd.readouterr().err


@pytest.mark.parametrize(("capture_set", "went_back"), [("a", True), ("b", False)])
def test_the_table_of_a_capture_set_knows_its_own_clock(capture_set: str, went_back: bool) -> None:
    back = SimpleNamespace(kind=AnomalyKind.TIME_STEP_BACK)
    files = [
        SimpleNamespace(index=at, capture_set=name, anomalies=[back] * (name == "a"))
        for at, name in enumerate("ab")
    ]
    captures = SimpleNamespace(files=files)
    dissection: Any = SimpleNamespace(topics=TopicNames(), file_names=["a", "b"], captures=captures)
    stage = CauseStage(dissection, capture_set, frozenset({"causes"}))
    assert list(stage.close()) == []
    assert stage._gathering.clock.went_back is went_back
