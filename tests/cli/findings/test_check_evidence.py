"""`check --evidence`: files that Wireshark opens, that say what they show, and that stay the same."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kdissect.cli import main
from kdissect.cli.findings.check_evidence import file_names
from tests.support.console import CAPTURES, run
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

ACKS = str(CAPTURES / "tansu_rdk216_acks.pcap")  # FRM006, PAI004, PAI009, BDY012
NAMES = ["BDY012-001.pcapng", "FRM006-001.pcapng", "PAI004-001.pcapng", "PAI009-001.pcapng"]


@pytest.fixture
def folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    """Return the evidence of a capture."""
    path = tmp_path / "evidence"
    assert main(["check", ACKS, "--evidence", str(path)]) == 1
    capfd.readouterr()
    return path


def test_one_file_for_each_finding(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert sorted(path.name for path in folder.iterdir()) == NAMES
    for name in NAMES:
        main(["check", str(folder / name), "--format", "json"])
        found = [finding["code"] for finding in json.loads(capfd.readouterr().out)["findings"]]
        assert name[:6] in found


def test_reports_name_the_files(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main(["check", ACKS, "--evidence", str(folder), "--format", "json"])
    named = {finding["evidence"] for finding in json.loads(capfd.readouterr().out)["findings"]}
    assert named == {str(folder / name) for name in NAMES}
    main(["check", ACKS, "--evidence", str(folder)])
    assert f"  evidence  {folder / NAMES[0]}\n" in capfd.readouterr().out


def test_files_are_the_same_again_and_old_ones_go(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "XXX001-001.pcapng").touch()
    (folder / "mine.pcapng").touch()
    main(["check", ACKS, "--evidence", str(folder)])
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert after == before | {"mine.pcapng": b""}


def tshark(*arguments: str) -> str:
    """Return what tshark prints; a name server, a preference or a lua script of the machine has no say."""
    program = shutil.which("tshark")
    if program is None:
        pytest.skip("tshark is not installed")
    ran = subprocess.run([program, "-n", *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_wireshark_opens_them(folder: Path) -> None:
    path = str(folder / "FRM006-001.pcapng")
    rows = tshark(
        "-r", path, "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields",
        "-e", "tcp.checksum.status", "-e", "ip.checksum.status", "-e", "tcp.analysis.flags",
        "-e", "kafka.api_key", "-e", "frame.comment",
    ).splitlines()  # fmt: skip
    cells = [row.split("\t") for row in rows]
    assert all(cell[:3] == ["1", "1", ""] for cell in cells)  # good, good, nothing lost or sent again
    assert [cell[3] for cell in cells if cell[3]] == ["18", "18", "3", "3"]
    comments = [cell[4] for cell in cells if cell[4]]
    assert len(comments) == 4  # one for each frame: exchange, API, latency
    assert comments[0].endswith(" ApiVersions v3 request, correlation id 1")
    assert re.search(r"Metadata v12 response, correlation id 3; latency \d+\.\d{3} ms$", comments[3])
    what = "FRM006 trailing-bytes: expected MetadataRequest v12 to end with its frame; seen 3 bytes left over"
    assert [what in text for text in comments] == [False, False, True, False]


def test_the_file_says_what_it_shows(folder: Path) -> None:
    data = (folder / "FRM006-001.pcapng").read_bytes()
    for text in ("FRM006 trailing-bytes  error, must, malformed", "packet 126 of", "overwritten with x"):
        assert text.encode() in data


def test_times_are_those_of_the_capture(folder: Path) -> None:
    times = tshark("-r", ACKS, "-T", "fields", "-e", "frame.time_epoch").splitlines()
    kept = tshark("-r", str(folder / "FRM006-001.pcapng"), "-T", "fields", "-e", "frame.time_epoch")
    assert set(kept.splitlines()) <= set(times)


def test_a_stream_cannot_be_read_again(tmp_path: Path) -> None:
    ran = run("check", "-", "--evidence", tmp_path, stdin=Path(ACKS).read_bytes())
    assert ran.code == 2
    assert "--evidence needs files" in ran.err


def test_a_place_that_cannot_be_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    assert main(["check", ACKS, "--exit-zero", "--evidence", str(taken)]) == 3
    assert str(taken) in capfd.readouterr().err


def test_nothing_found_gives_no_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    quiet = write_pcap(tmp_path / "empty.pcap", Conversation().handshake().packets)
    assert main(["check", quiet, "--evidence", str(tmp_path / "none")]) == 4
    assert list((tmp_path / "none").iterdir()) == []


def test_names_count_within_a_rule(capfd: pytest.CaptureFixture[str]) -> None:
    class Coded:
        def __init__(self, code: str) -> None:
            self.code = code

    found = [Coded("BDY003"), Coded("FRM001"), Coded("BDY003")]
    assert file_names(found) == ["BDY003-001.pcapng", "FRM001-001.pcapng", "BDY003-002.pcapng"]  # type: ignore[arg-type]
