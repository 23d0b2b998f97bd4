"""`kdissect check` and `kdissect rules`: options, exit codes, reports."""

import gzip
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from kdissect.cli import main
from tests.support.console import CAPTURES
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

ACKS = str(CAPTURES / "tansu_rdk216_acks.pcap")
GROUPS = str(CAPTURES / "tansu_kp3_groups.pcap")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([ACKS], 1),
        ([ACKS, "--exit-zero"], 0),
        ([ACKS, "--fail-on", "never"], 0),
        ([ACKS, "--ignore", "FRM006,acks0-response"], 0),
        ([ACKS, "--ignore", "FRM,PAI"], 0),
        ([ACKS, "--select", "PAI", "--ignore", "PAI004"], 0),
        ([ACKS, "--judge", "client", "--ignore", "FRM006"], 0),
        ([ACKS, "--judge", "broker", "--ignore", "FRM006"], 1),
        ([ACKS, "--select", "no-such-rule"], 2),
        ([ACKS, "--label", "nonsense"], 2),
        ([GROUPS], 0),
        ([GROUPS, "missing.pcap"], 3),
    ],
)
def test_exit_codes(arguments: list[str], code: int, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *arguments]) == code


def test_nothing_to_judge_is_not_green(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", write_pcap(tmp_path / "empty.pcap", Conversation().handshake().packets)]) == 4


def test_json_report(capfd: pytest.CaptureFixture[str]) -> None:
    main(["check", ACKS, "--format", "json", "--label", "broker=tansu"])
    report = json.loads(capfd.readouterr().out)
    keys = {"findings", "not_exercised", "inconclusive", "coverage", "capture_quality", "software"}
    assert keys | {"kafka_schema_version", "report_version"} <= set(report)
    (answered,) = [finding for finding in report["findings"] if finding["code"] == "PAI004"]
    assert answered["who"]["label"] == "tansu"
    assert answered["count"] == 2
    assert answered["where"]["bytes"]["hex"] == "00000003"
    assert report["capture_quality"]["verdict"] == "good"
    assert len(report["captures"][0]["sha256"]) == 64


@pytest.mark.parametrize("end", [None, -7])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_files_are_hashed_as_they_are_read(
    end: int | None,
    pack: Callable[[bytes], bytes],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The hash is that of the bytes that were judged, and costs no second reading."""
    path = tmp_path / "capture"
    path.write_bytes(pack(Path(ACKS).read_bytes())[:end])
    monkeypatch.setattr("kdissect.report.verdict._sha256_of", lambda path: f"read again: {path}")
    main(["check", str(path), "--format", "json"])
    captures = json.loads(capfd.readouterr().out)["captures"]
    assert captures == [{"path": str(path), "sha256": sha256(path.read_bytes()).hexdigest()}]


def test_the_command_of_a_finding_shows_its_exchange(capfd: pytest.CaptureFixture[str]) -> None:
    main(["check", ACKS, "--format", "json", "--select", "FRM006"])
    command = json.loads(capfd.readouterr().out)["findings"][0]["command"]
    assert main(command.split()[1:]) == 0
    assert "MetadataRequest" in capfd.readouterr().out


def test_output_and_statistics(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.txt"
    assert main(["check", ACKS, "--statistics", "-o", str(path)]) == 1
    assert "       2  PAI004  acks0-response" in path.read_text()
    assert capfd.readouterr().out == ""


def test_strict_counts_shoulds_as_errors(capfd: pytest.CaptureFixture[str]) -> None:
    admin = str(CAPTURES / "tansu_kp202_admin.pcap")
    assert main(["check", admin, "--select", "BDY025"]) == 0
    assert main(["check", admin, "--select", "BDY025", "--strict"]) == 1


def test_rules_are_listed_and_explained(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    assert "FRM006  error" in capfd.readouterr().out
    assert main(["rules", "trailing-bytes"]) == 0
    assert "What to do:" in capfd.readouterr().out
    assert main(["rules", "XXX999"]) == 2
