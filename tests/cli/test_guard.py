"""A fault of kdissect itself ends the input at which it shows: the others are read, the exit code is 3."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.capture.capture_file import CaptureFile
from kdissect.cli import COMMANDS, main
from kdissect.engine.analyzer import Analyzer
from kdissect.model import faults
from kdissect.model.packets.packet import ref_number
from kdissect.rules.judge import Judge
from kdissect.session.connection import ConnectionAnalyzer
from kdissect.session.exchange import Exchange
from tests.support.console import CAPTURES, CHECKOUT
from tests.support.messages.traffic import Conversation, request, response
from tests.support.packets.pcaps import write_pcap, write_side_by_side

FAULTS_ARE_TOLD = True  # elsewhere they fail the test (`conftest`)
FILES = {
    "a": "kafka44_java_produce.pcapng",
    "b": "kafka44_aiokafka_groups.pcapng",
    "c": "kafka44_aiokafka_produce.pcapng",
}
READING = (
    "inspect", "inspect --bodies", "inspect --format tree --bodies", "inspect --format jsonl",
    "inspect --format jsonl --bodies --records", "info", "info --deep", "connections", "records",
    "records --format jsonl", "records --format parquet -o {}/o", "stats", "topics", "topics --sizes",
    "groups", "producers", "fetch-sessions", "logins", "changes", "access", "offsets", "delay", "mirror",
    "upgrade --target 4.0",
    "check", "check --format json",
    "inspect -Y 'has~finding'", "extract -o {}/o", "extract --connections -o {}/o", "tables --output {}/o",
)  # fmt: skip


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Three captures of different sets, whose packets are read in turns."""
    write_side_by_side({tmp_path / f"{name}.pcapng": CAPTURES / file for name, file in FILES.items()})
    return tmp_path


def raising(method: Callable[..., Any], when: Callable[..., bool]) -> Callable[..., Any]:
    def wrapped(self: Any, *arguments: Any) -> Any:
        if when(self, *arguments):
            raise RuntimeError("the fault\nthat was put in")
        return method(self, *arguments)

    return wrapped


def _is_later(exchange: Exchange) -> bool:
    return exchange.connection.capture_set == "b" and exchange.ordinal >= 2


# Where something raises, and the words of the line that say where in the capture.
INJECTED: dict[str, tuple[list[tuple[type, str, Callable[..., bool]]], str]] = {
    "reader": ([(CaptureFile, "_note_times", lambda file, _: file.capture_set == "b")], "behind packet "),
    "connection": ([(Analyzer, "_slow", lambda self, *_: self._capture_set == "b")], "at packet "),
    "frames": (
        [(ConnectionAnalyzer, "undecided", lambda self, *_: self.info.capture_set == "b")],
        "at packet ",
    ),
    "end": ([(ConnectionAnalyzer, "close", lambda self, *_: self.info.capture_set == "b")], "at "),
    "decoder": (
        [
            (Exchange, name, lambda self, *_: _is_later(self))
            for name in ("bodies", "request_body", "response_body", "request_summary", "response_summary")
        ],
        "at packet ",
    ),
    "rule": (
        [(Judge, "add", lambda _, event: isinstance(event, Exchange) and _is_later(event))],
        "at packet ",
    ),
}  # fmt: skip


def inject(monkeypatch: pytest.MonkeyPatch, where: str) -> str:
    found, words = INJECTED[where]
    for owner, name, when in found:
        monkeypatch.setattr(owner, name, raising(getattr(owner, name), when))
    return words


def arguments(command: str, folder: Path, *paths: Path) -> list[str]:
    return [*(word.replace("~", " ").strip("'").format(folder) for word in command.split()), *map(str, paths)]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("where", ["reader", "connection", "frames"])
@pytest.mark.parametrize("command", READING)
def test_one_bad_input_is_told_and_ends_no_other(
    command: str, where: str, three: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = inject(monkeypatch, where)
    code = main(arguments(command, three, three))
    told = [line for line in capfd.readouterr().err.splitlines() if "a fault of kdissect" in line]
    assert code == 3
    (line,) = told
    assert line.startswith(f"kdissect: {three / 'b.pcapng'}: given up {words}")
    assert "a fault of kdissect: RuntimeError (" in line


LISTED = {
    "inspect --format jsonl": ("connection", "correlation_id", "client_id", "state"),
    "inspect --format jsonl --bodies": ("connection", "correlation_id", "client_id", "state"),
    "records --format jsonl": ("topic", "partition", "offset", "key", "value"),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("where", INJECTED)
@pytest.mark.parametrize("command", LISTED)
def test_the_other_inputs_are_listed_to_their_ends(
    command: str, where: str, three: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def listed(*names: str) -> list[str]:
        main(arguments(command, three, *(three / f"{name}.pcapng" for name in names)))
        rows = map(json.loads, capfd.readouterr().out.splitlines())
        return [json.dumps([row[field] for field in LISTED[command]]) for row in rows]

    wanted, whole = listed("a", "c"), listed("a", "b", "c")
    inject(monkeypatch, where)
    got = listed("a", "b", "c")
    rest = iter(whole)
    assert all(row in rest for row in got)  # in the order in which they are without the fault
    rest = iter(got)
    assert all(row in rest for row in wanted)


@pytest.mark.parametrize(
    ("where", "command"),
    [
        ("decoder", "inspect --bodies"), ("decoder", "stats"), ("decoder", "check"),
        ("decoder", "topics"), ("decoder", "groups"), ("decoder", "tables --output {}/o"),
        ("rule", "check"), ("rule", "tables --output {}/o"), ("end", "connections"), ("end", "check"),
        ("end", "inspect"),
    ],
)  # fmt: skip
def test_a_fault_where_exchanges_are_used_is_told(
    where: str, command: str, three: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = inject(monkeypatch, where)
    assert main(arguments(command, three, three)) == 3
    err = capfd.readouterr().err
    assert [line for line in err.splitlines() if "a fault of kdissect" in line] == err.splitlines()[-1:]
    assert f"b.pcapng: given up {words}" in err


def test_debug_shows_where(
    three: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    inject(monkeypatch, "frames")
    assert main(["info", "--debug", str(three)]) == 3
    err = capfd.readouterr().err
    assert "Traceback (most recent call last):" in err
    assert err.splitlines()[-1].startswith(f"kdissect: {three / 'b.pcapng'}: given up at packet ")


def test_the_packet_told_is_the_one_at_hand(
    three: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    refs: list[int] = []
    undecided = ConnectionAnalyzer.undecided

    def fail(self: ConnectionAnalyzer, direction: int, payload: bytes, ref: int, time_ns: int) -> None:
        if self.info.capture_set == "b":
            refs.append(ref & ((1 << 40) - 1))
            if len(refs) == 4:
                raise RuntimeError
        undecided(self, direction, payload, ref, time_ns)

    monkeypatch.setattr(ConnectionAnalyzer, "undecided", fail)
    # With a port, Python begins all connections.
    assert main(["info", "--port", "19512", str(three / "b.pcapng")]) == 3
    assert (
        f"given up at packet {refs[3]}: a fault of kdissect: RuntimeError (--debug" in capfd.readouterr().err
    )


def test_the_library_raises(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kdissect.api import Dissection

    inject(monkeypatch, "reader")
    assert faults.in_force() is None
    with pytest.raises(RuntimeError):
        list(Dissection([str(three / "b.pcapng")]))


@pytest.mark.parametrize("command", COMMANDS)
def test_what_leaves_a_command_is_a_line(
    command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from kdissect import cli

    class Failing:
        def run(self, _arguments: object) -> int:
            print("what was printed before")
            raise ZeroDivisionError

    monkeypatch.setattr(cli, "command_of", lambda _name: Failing())
    assert main([command]) == 3
    out, err = capfd.readouterr()
    assert out == "what was printed before\n"
    assert err == "kdissect: a fault of kdissect: ZeroDivisionError (--debug shows where)\n"


@pytest.mark.exhaustive
def test_workers_bound_faults_too(three: Path) -> None:
    (three / "site").mkdir()
    (three / "site" / "sitecustomize.py").write_text(
        "from kdissect.engine.analyzer import Analyzer\n"
        "slow = Analyzer._slow\n"
        "def fail(self, *arguments):\n"
        "    if self._capture_set == 'b':\n"
        "        raise RuntimeError('put in')\n"
        "    return slow(self, *arguments)\n"
        "Analyzer._slow = fail\n"
    )
    files = [str(three / f"{name}.pcapng") for name in FILES]
    said = []
    for extra in ([], ["--jobs", "3"]):
        ran = subprocess.run(
            [sys.executable, "-m", "kdissect", "inspect", "--format", "jsonl", *extra, *files],
            capture_output=True,
            env=os.environ | {"PYTHONPATH": f"{three / 'site'}:{os.environ['PYTHONPATH']}"},
            cwd=CHECKOUT,
            check=False,
        )
        said.append((ran.returncode, ran.stdout, ran.stderr))
    assert said[0][:2] == said[1][:2]
    for code, _, err in said:
        assert code == 3
        assert err.startswith(f"kdissect: {files[1]}: given up at packet ".encode())
        assert err.count(b"\n") == 1


@pytest.mark.parametrize("number", [0, 3, 20])
def test_nothing_comes_of_packets_behind_the_one_at_hand(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where exchanges come in blocks: those that are made already are not given."""
    path = CAPTURES / FILES["b"]
    completed = [(exchange.response or exchange.request) for exchange in Dissection(str(path))]
    last = completed[number]
    assert last is not None
    monkeypatch.setattr(faults, "_listener", [lambda _: None])
    dissection, taken = Dissection(str(path)), list[Exchange]()

    def take(exchange: Exchange) -> None:
        if exchange.connection.close is None:
            taken.append(exchange)
            if len(taken) == number + 1:
                raise RuntimeError("the fault that was put in")

    dissection.guard.each(dissection, take)
    (file,) = dissection.captures.files
    assert file.error is not None
    assert f"given up at packet {ref_number(last.last_ref)}: " in str(file.error)
    assert len(taken) == number + 1


@pytest.mark.parametrize("number", [0, 3, 20])
def test_the_others_of_a_block_go_on_behind_the_one_at_hand(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for port, name in enumerate(FILES):
        talk = Conversation(ports=(40000 + port, 9092)).handshake()
        for asked in range(40):
            talk.client(request(3, 1, asked, b"\0\0\0\0")).broker(response(asked, bytes(8)))
        write_pcap(tmp_path / f"{name}.pcap", talk.packets)

    def place(exchange: Exchange) -> tuple[str, str, int]:
        return exchange.connection.capture_set, exchange.connection.id, exchange.ordinal

    whole = [place(exchange) for exchange in Dissection(str(tmp_path)) if exchange.response is not None]
    last = [one for one in whole if one[0] == "b"][number]
    behind = whole[whole.index(last) + 1 :]
    assert {one[0] for one in behind} == set(FILES)
    monkeypatch.setattr(faults, "_listener", [lambda _: None])
    dissection, taken = Dissection(str(tmp_path)), list[tuple[str, str, int]]()

    def take(exchange: Exchange) -> None:
        if exchange.response is not None:
            taken.append(place(exchange))
            if taken[-1] == last:
                raise RuntimeError("the fault that was put in")

    dissection.guard.each(dissection, take)
    assert taken == [*whole[: whole.index(last) + 1], *(one for one in behind if one[0] != "b")]
