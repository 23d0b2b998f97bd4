"""Input that cannot be read: one clear line on stderr, exit code 3, everything readable printed before."""

import gzip
import json
import random
from pathlib import Path

import pytest

from kdissect.cli import main
from tests.support.console import TXN

WHOLE = Path(TXN).read_bytes()
HEADER = 24  # bytes of a pcap file header
# What the files hold, and a word of the reason.
BAD = {
    "empty": (b"", "empty"),
    "text": (b"Dear reader, this is no capture.\n" * 9, ""),
    "magic": (b"\xde\xad\xbe\xef" + WHOLE[4:], ""),
    "header-only": (WHOLE[:HEADER], "no packets"),
    "half-a-header": (WHOLE[:10], "header"),
    "zero-length-packets": (WHOLE[:HEADER] + bytes(16) * 4, "length"),
    "html": (b"<!DOCTYPE html><html><body>404</body></html>", ""),
    "gzip-of-text": (gzip.compress(b"hello, hello, hello"), ""),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["inspect", "info", "connections"])
def test_no_capture_at_all(
    command: str, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(BAD[name][0])
    code = main([command, str(path)])
    captured = capfd.readouterr()
    lines = captured.err.splitlines()
    assert lines[0].startswith("kdissect: ")
    assert str(path) in lines[0]
    assert BAD[name][1] in lines[0]
    assert len(lines) == 1
    assert "Traceback" not in captured.err
    assert code == 3


def test_missing_file_and_directory_without_captures(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    assert main(["inspect", str(tmp_path / "missing.pcap")]) == 3
    assert capfd.readouterr().err == f"kdissect: {tmp_path / 'missing.pcap'}: No such file or directory\n"
    assert main(["inspect", str(tmp_path)]) == 3
    assert f"kdissect: {tmp_path}: no captures" in capfd.readouterr().err


def test_control_characters_in_a_file_name_are_escaped(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a\x1b[31m\n.pcap"
    path.write_bytes(b"")
    assert main(["inspect", str(path)]) == 3
    error = capfd.readouterr().err
    assert "\\x1b[31m\\n.pcap" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("tail", ["random", "zeros", "text"])
def test_everything_before_the_damage_is_printed(
    tail: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tails = {"random": random.Random(1).randbytes(5000), "zeros": bytes(5000), "text": b"garbage " * 600}
    path = tmp_path / "damaged.pcap"
    path.write_bytes(WHOLE + tails[tail])
    assert main(["inspect", TXN, "--format", "jsonl"]) == 0
    whole = capfd.readouterr().out
    assert main(["inspect", str(path), "--format", "jsonl"]) == 3
    damaged = capfd.readouterr()
    assert damaged.err.startswith(f"kdissect: {path}: ")
    assert _content(damaged.out) == _content(whole)


def test_a_good_file_beside_a_bad_one_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.pcap"
    bad.write_bytes(b"no capture")
    assert main(["inspect", TXN, str(bad), "--format", "jsonl"]) == 3
    captured = capfd.readouterr()
    assert len(captured.out.splitlines()) == 98
    assert str(bad) in captured.err


@pytest.mark.parametrize("lost", [1, 20, 60])
def test_cut_last_packet_is_an_input_not_read_to_its_end(
    lost: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(WHOLE[:-lost])
    assert main(["inspect", str(path), "--format", "jsonl"]) == 3
    captured = capfd.readouterr()
    assert captured.err.startswith(f"kdissect: {path}: ")
    assert captured.err.count("\n") == 1
    assert len(captured.out.splitlines()) >= 97
    assert main(["info", str(path), "--format", "json"]) == 3
    assert json.loads(capfd.readouterr().out)["anomalies"]["cut_capture"] == 1


def _content(text: str) -> list[tuple[object, ...]]:
    """Return rows without what depends on the file: its name, and the identity of connections."""
    rows = [json.loads(line) for line in text.splitlines()]
    return [(row["exchange"], row["client"], row["api"], row["state"], row["latency_ns"]) for row in rows]
