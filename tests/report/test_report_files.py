"""`--report FORMAT=FILE`: several formats in one pass, each file complete or absent."""

import json
import os
from pathlib import Path

import pytest

from kdissect.cli import main
from kdissect.cli.reports import FORMATS
from kdissect.report import sarif
from kdissect.report.verdict import Verdict
from tests.support.console import CAPTURES
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

ACKS = str(CAPTURES / "tansu_rdk216_acks.pcap")


def test_every_format_in_one_pass(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    wanted = [f"--report={name}={tmp_path / name}" for name in FORMATS]
    assert main(["check", ACKS, "--format", "github", *wanted]) == 1
    assert capfd.readouterr().out.startswith("::error")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FORMATS)
    for name in FORMATS:
        assert "PAI004" in (tmp_path / name).read_text()
        assert main(["check", ACKS, "--format", name]) == 1
        assert capfd.readouterr().out == (tmp_path / name).read_text()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("pdf=a", "'pdf' is no format"),
        ("json", "is no FORMAT=FILE"),
        ("json=", "is no FORMAT=FILE"),
        ("json=missing/a.json", "No such file or directory"),
        (f"json={ACKS}", "one of the captures to be read"),
    ],
)
def test_what_cannot_be_written_is_said_at_once(
    value: str, said: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    size = Path(ACKS).stat().st_size
    assert main(["check", ACKS, f"--report={value}"]) == 2
    assert said in capfd.readouterr().err
    assert not list(tmp_path.iterdir())
    assert Path(ACKS).stat().st_size == size


def test_two_reports_cannot_share_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a")
    assert main(["check", ACKS, f"--report=json={path}", f"--report=sarif={path}"]) == 2
    assert main(["check", ACKS, f"--report=json={path}", "-o", path]) == 2
    assert "cannot take two reports" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_report_that_fails_leaves_nothing_and_keeps_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(_: Verdict) -> str:
        raise RuntimeError

    (tmp_path / "old.sarif").write_text("old")
    monkeypatch.setattr(sarif, "report_sarif", fail)
    with pytest.raises(RuntimeError):
        main(["check", ACKS, *(f"--report=sarif={tmp_path / name}" for name in ("old.sarif", "new.sarif"))])
    assert [path.name for path in tmp_path.iterdir()] == ["old.sarif"]
    assert (tmp_path / "old.sarif").read_text() == "old"


def test_a_file_that_cannot_appear_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    path = tmp_path / "a.json"
    assert main(["check", ACKS, "--exit-zero", f"--report=json={path}"]) == 3
    assert f"{path}: No space left on device" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


def test_links_and_pipes_stay_what_they_are(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "real.json")
    reports = [f"--report=json={link}", f"--report=text={os.devnull}"]
    assert main(["check", ACKS, "--exit-zero", *reports]) == 0
    assert link.is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["findings"]
    assert not Path(os.devnull).is_file()


def test_nothing_to_judge_is_reported_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    capture = write_pcap(tmp_path / "empty.pcap", Conversation().handshake().packets)
    reports = [f"--report={name}={tmp_path / name}" for name in FORMATS]
    assert main(["check", capture, *reports]) == 4
    report = json.loads((tmp_path / "json").read_text())
    assert report["capture_quality"]["verdict"] == "nothing to judge"
    assert "nothing to judge" in (tmp_path / "html").read_text()
