"""`inspect --jobs`: what several processes print is what one prints, byte for byte."""

import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.cli.jobs import parallel_listing as listing
from kdissect.cli.jobs import shard_process as worker
from kdissect.cli.jobs.worker_pool import Workers, opened
from tests.support.console import CAPTURES, CHECKOUT, TXN
from tests.support.packets.broken_frames import every_broken_frame
from tests.support.packets.pcaps import write_pcap

# All kinds of traffic, but not those that take seconds to print; KDISSECT_SLOW has all of them compared.
LARGEST = 10**9 if os.environ.get("KDISSECT_SLOW") else 110_000
ALL = sorted(
    str(path)
    for path in CAPTURES.iterdir()
    if path.suffixes[:1] in ([".pcap"], [".pcapng"]) and path.stat().st_size < LARGEST
)
IDS = str(CAPTURES / "kafka44_franz_transactions.pcapng")  # topics by id alone, Kafka's own among them
LIST = ("inspect", "--format", "jsonl")
BODIES = (*LIST, "--bodies", "--records")


class Inline(Workers):
    """Workers that are run one after the other, in this process."""

    def _start(self, index: int) -> None:
        self._pipes.append(os.open(os.devnull, os.O_RDONLY))
        messages: deque[Any] = deque()
        self.messages = [*getattr(self, "messages", []), messages]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(worker, "send", lambda *message: messages.append(pickle.dumps(message)))
            patch.setattr(worker, "MESSAGE_BYTES", 3000)
            patch.setattr(worker, "MESSAGE_BATCHES", 2)
            patch.setattr(signal, "signal", lambda *_: None)
            assert worker.main([str(index), str(self._count), "-1", *self._arguments]) == 0

    def _receive(self, index: int) -> tuple[int, list[tuple[Any, ...]], bytes, bytes]:
        _, message, lines = pickle.loads(self.messages[index].popleft())
        return opened(message, memoryview(b"".join(lines)))


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "Workers", Inline)


def printed(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capfd.readouterr()
    return code, out, err


@pytest.mark.sampled(16)
@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("path", ALL, ids=lambda path: Path(path).name)
@pytest.mark.parametrize("arguments", [LIST, BODIES], ids=["list", "bodies"])
def test_prints_what_one_process_prints(
    path: str, arguments: Sequence[str], capfd: pytest.CaptureFixture[str]
) -> None:
    expected = printed(capfd, *arguments, path)
    assert expected[1]
    assert printed(capfd, *arguments, "--jobs", "3", path) == expected


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize(
    "more",
    [
        ("--limit", "1"),
        ("--limit", "17"),
        ("-Y", "api == Fetch and latency > 1ms"),
        ("-Y", "response.**.error_code != NONE", "--limit", "2"),
        ("--api", "Produce,Metadata", "--errors"),
        ("--port", "9092", "--since", "+1s"),
        ("--show-secrets",),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("arguments", [LIST, BODIES], ids=["list", "bodies"])
def test_options(more: Sequence[str], arguments: Sequence[str], capfd: pytest.CaptureFixture[str]) -> None:
    """Filters count what they leave out, and names are learned from it; a limit ends everything."""
    given = (*arguments, *more, TXN, IDS)
    assert printed(capfd, *given, "--jobs", "2") == printed(capfd, *given)


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("arguments", [LIST, BODIES], ids=["list", "bodies"])
def test_brokers_that_other_connections_prove(
    arguments: Sequence[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whoever has the connection that proves the broker, earlier or later."""
    packets = every_broken_frame()
    path = write_pcap(tmp_path / "a.pcap", packets)
    expected = printed(capfd, *arguments, path)
    assert len(expected[1].splitlines()) >= 8
    assert printed(capfd, *arguments, "--jobs", "3", path) == expected


@pytest.mark.usefixtures("inline")
def test_bad_inputs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What cannot be read is told once, in the same words; the rest is printed."""
    data = Path(TXN).read_bytes()
    cut, text, none = tmp_path / "cut.pcapng", tmp_path / "text.txt", tmp_path / "none.pcap"
    cut.write_bytes(data[: len(data) // 2 - 3])
    text.write_text("no capture\n")
    given = (*LIST, str(cut), str(text), str(none), IDS)
    expected = printed(capfd, *given)
    assert expected[0] == 3
    assert len(expected[2].splitlines()) > 2
    assert printed(capfd, *given, "--jobs", "3") == expected


@pytest.mark.usefixtures("inline")
def test_a_limit_leaves_unread_what_one_process_leaves_unread(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """That the end of a file is cut is no concern of who stops before it."""
    cut = tmp_path / "cut.pcap"
    data = Path(IDS).read_bytes()
    cut.write_bytes(data[:-3])
    for limit in ("1", "100000"):
        given = (*LIST, "--limit", limit, str(cut))
        expected = printed(capfd, *given)
        assert printed(capfd, *given, "--jobs", "2") == expected


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--jobs", "0", TXN), "not a process count"),
        (("--jobs", "65", TXN), "not a process count"),
        (("--jobs", "2", "--format", "tsv", TXN), "--format jsonl"),
        (("--jobs", "2", "-e", "api", TXN), "without -e"),
        (("--jobs", "2", "--topic", "a*", TXN), "tests of topics"),
        (("--jobs", "2", "-Y", "topic == a", TXN), "tests of topics"),
        (("--jobs", "2", "-Y", "has finding", TXN), "findings or numbers"),
        (("--jobs", "2", "-"), "several times"),
    ],
)
def test_what_only_one_process_can_do(
    more: Sequence[str], why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, err = printed(capfd, *LIST, *more)
    assert (code, out) == (2, "")
    assert why in err


# With processes.


def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "kdissect", *arguments]
    return subprocess.run(command, capture_output=True, cwd=CHECKOUT, check=False)


def test_processes(tmp_path: Path) -> None:
    expected = run(*BODIES, IDS)
    out = tmp_path / "out.jsonl"
    ran = run(*BODIES, IDS, "--jobs", "2", "-o", str(out))
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert out.read_bytes() == expected.stdout


@pytest.mark.exhaustive
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are told by Linux")
@pytest.mark.parametrize(("ended", "code"), [("worker", 3), ("interrupted", 130)])
def test_the_end_of_a_process(ended: str, code: int, tmp_path: Path) -> None:
    """A worker that is killed is told, Ctrl-C is as ever, and nobody is left behind."""
    for number in range(40):  # more than all pipes hold: everybody waits for us to read
        (tmp_path / f"{number}.pcapng").write_bytes(Path(IDS).read_bytes())
    command = [sys.executable, "-m", "kdissect", *BODIES, "--jobs", "2", str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # Who is started in the background by a shell ignores the signal, and so would the process.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, cwd=CHECKOUT, bufsize=0, **pipes)
    signal.signal(signal.SIGINT, before)
    assert process.stdout is not None
    first = process.stdout.read(1)  # they are at work
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    workers = list(map(int, children.split()))
    assert len(workers) == 2
    if ended == "worker":
        os.kill(workers[0], signal.SIGKILL)
    else:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == code
    told = (
        b"was ended by signal 9"
        if ended == "worker"
        else b"kdissect: interrupted: what is printed is partial"
    )
    assert told in err
    assert (first + out).startswith(b'{"number":1,')
    for worker_id in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker_id, 0)
