"""A request log that a broker writes, as a live capture: the interface `log:FILE`, and standard input."""

from __future__ import annotations

import gzip
import os
import threading
from io import BytesIO
from pathlib import Path

import pytest

from kdissect.capture.live.captures import LiveCaptures, open_live
from kdissect.capture.live.followed_log import FollowedLog
from kdissect.capture.live.live_settings import LiveError, LiveSettings
from kdissect.capture.live.recorder import PipeSource
from kdissect.cli import main
from tests.support.console import CAPTURES

LOG = CAPTURES / "kafka44_java_admin.requests.log.gz"


def lines(count: int) -> list[bytes]:
    return gzip.decompress(LOG.read_bytes()).splitlines(keepends=True)[:count]


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_what_is_added_is_read_until_the_end(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"one\n")
    log = FollowedLog(str(path))
    assert log.read() == b"one\n"
    threading.Timer(0.2, add, (path, b"two\n")).start()
    assert log.read() == b"two\n"
    add(path, b"three\n")
    log.stop()
    assert (log.read(), log.read()) == (b"three\n", b"")
    assert (log.failure(), log.drops()) == ("", 0)


def test_the_next_file_of_a_rotation_follows(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"one\n")
    log = FollowedLog(str(path))
    assert log.read() == b"one\n"
    add(path, b"last of the hour, cut")
    path.replace(tmp_path / "kafka-request.log.2026-11-30-08")
    path.write_bytes(b"first of the next\n")
    assert [log.read() for _ in range(3)] == [b"last of the hour, cut", b"\n", b"first of the next\n"]
    path.unlink()  # between two files
    threading.Timer(0.2, lambda: path.write_bytes(b"again\n")).start()
    assert log.read() == b"again\n"


def test_a_file_that_was_cut_to_nothing_begins_again(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"a long first part\n")
    log = FollowedLog(str(path))
    assert log.read() == b"a long first part\n"
    path.write_bytes(b"")
    threading.Timer(0.2, add, (path, b"new\n")).start()
    assert log.read() == b"new\n"


def test_exchanges_come_while_the_broker_writes(tmp_path: Path) -> None:
    path, whole = tmp_path / "kafka-request.log", lines(90)
    path.write_bytes(b"".join(whole[:30]))
    captures = open_live(LiveSettings(interfaces=(f"log:{path}",)))
    found, more = [], iter([whole[30:60], whole[60:90]])
    for batch in captures.batches():
        found += batch
        added = next(more, None)
        if added is None:
            captures.stop()
            continue
        add(path, b"".join(added))
    captures.close()
    expected = sum(b'"isForwarded":false' in line for line in whole)
    assert len({(one[0], one[1]) for one in found}) == 2 * expected
    assert captures.files[0].format == "request log"
    assert captures.errors == []


def test_commands_capture_from_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"".join(lines(40)))
    assert main(["stats", "-i", f"log:{path}", "--duration", "1s", "--json"]) == 0
    captured = capfd.readouterr()
    assert '"api":"ApiVersions"' in captured.out.replace(" ", "")
    assert "a request log does not contain records" in captured.err


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (LiveSettings(interfaces=("log:/no/such/file",)), "No such file"),
        (LiveSettings(interfaces=("log:x", "lo")), "read alone"),
        (LiveSettings(interfaces=("log:x",), path="out.pcapng"), "-w writes packets"),
        (LiveSettings(interfaces=("log:x",), capture_filter="tcp"), "choose packets"),
    ],
)
def test_what_does_not_go_is_refused(settings: LiveSettings, why: str) -> None:
    with pytest.raises(LiveError, match=why):
        open_live(settings)


@pytest.mark.parametrize(
    "options",
    [["-i", "log:x", "-i", "log:y"], ["-i", "log:x", "-w", "out.pcapng"], ["-i", "log:x", "-f", "tcp"]],
)
def test_options_that_contradict_a_log_are_wrong_usage(
    options: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["live", *options]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "log:" in line


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"a text without requests\n", "not a capture, but text"),
        (b"[2026-11-28 00:46:11,461] DEBUG Completed request:{api_key=3} (kafka)\n", "0.11 and earlier"),
    ],
)
def test_a_file_that_cannot_be_read_has_its_own_reason(
    content: bytes, why: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(content)
    assert main(["stats", "-i", f"log:{path}", "--duration", "1s"]) == 3
    said = capfd.readouterr().err
    assert why in said
    assert "empty" not in said


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_only_regular_files_are_followed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path(os.devnull)):
        assert main(["stats", "-i", f"log:{path}", "--duration", "1s"]) == 3
        (line,) = capfd.readouterr().err.splitlines()
        assert f"log:{path}: not a regular file" in line


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_that_takes_the_name_is_no_next_file(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"one\n")
    log = FollowedLog(str(path))
    assert log.read() == b"one\n"
    path.unlink()
    os.mkfifo(path)
    threading.Timer(0.2, log.stop).start()
    assert log.read() == b""


class Stream(BytesIO):
    """Standard input, of a pipe."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.reading, writing = os.pipe()
        threading.Thread(target=self._write, args=(writing, content), daemon=True).start()

    def _write(self, writing: int, content: bytes) -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(content)

    def fileno(self) -> int:
        return self.reading


@pytest.mark.parametrize(
    ("content", "packets", "error"),
    [
        (b"log4j:WARN nothing\n" + b"".join(lines(10)), True, ""),
        (b"a text without requests\n" * 5, False, "not a capture, but text"),
        (b"no", False, "not a capture"),
    ],
)
def test_standard_input(content: bytes, packets: bool, error: str) -> None:
    captures = LiveCaptures(LiveSettings(source="stdin"), PipeSource("-", Stream(content)))
    captures.start()
    assert bool(list(captures.batches())) is packets
    captures.close()
    assert error in captures.trouble
    assert bool(captures.trouble) is bool(error)


def test_a_log_is_not_written_as_packets(tmp_path: Path) -> None:
    settings = LiveSettings(source="stdin", path=str(tmp_path / "x.pcapng"))
    captures = LiveCaptures(settings, PipeSource("-", Stream(b"".join(lines(10)))))
    captures.start()
    assert list(captures.batches()) == []
    captures.close()
    assert "-w writes packets, and a request log has none" in captures.trouble
