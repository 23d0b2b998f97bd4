"""What a person at a terminal sees, and what a closed pipe, a full disk and Ctrl-C do."""

import os
import re
import select
import signal
import subprocess
from pathlib import Path

import pytest

from kdissect.cli.formats.text_table import TableFormat
from kdissect.report.cells import Cell, TableColumn
from tests.support.console import CAPTURES, CHECKOUT, TXN, command, run, run_on_terminal
from tests.support.messages.traffic import Conversation, request, response
from tests.support.packets.pcaps import pcap_bytes, write_pcap
from tests.support.patience import PATIENCE_S

COLOUR = re.compile("\x1b\\[[0-9;]*m")
OUR_STYLES = {f"\x1b[{code}m" for code in ("0", "1", "2", "1;31", "32", "33", "36")}
HOSTILE = "evil\x1b]0;owned\x07\x9b2J\r\n\u202e"


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    """Write a capture with escape sequences where a client can put them: client id, topic, host name."""
    name = HOSTILE.encode()
    text = len(name).to_bytes(2) + name
    talk = Conversation().handshake()
    for key, version, body in ((3, 0, b"\0\0\0\x01" + text), (10, 0, text), (99, 1, text)):
        talk.client(request(key, version, key, body, client_id=name))
    talk.broker(
        response(
            3, b"\0\0\0\x01\0\0\0\x01" + text + b"\0\0\x23\x84" + b"\0\0\0\x01\0\x03" + text + b"\0\0\0\0"
        )
    )
    talk.broker(response(10, b"\0\x0f\0\0\0\x01" + text + b"\0\0\x23\x84"))
    return write_pcap(tmp_path / "hostile.pcap", talk.packets)


FORMS = [
    "",
    "--bodies",
    "--format tsv",
    "--format tree",
    "--format csv",
    "--format jsonl",
    "--format jsonl --bodies",
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("options", [form.split() for form in FORMS], ids=FORMS)
@pytest.mark.parametrize("which", ["inspect", "connections"])
def test_nothing_from_the_wire_commands_the_terminal(which: str, options: list[str], hostile: str) -> None:
    if which == "connections" and ("tree" in options or "--bodies" in options):
        options = []
    ran = run_on_terminal([which, hostile, "--port", "9092", *options])
    assert ran.code == 0
    assert "evil" in ran.out
    own = "\t" if "tsv" in options else ""  # what the format itself puts between fields
    dangerous = set(map(chr, [*range(32), *range(0x7F, 0xA0), 0x202E])) - {"\n", own}
    assert not dangerous & set(COLOUR.sub("", ran.out))
    assert all(code in OUR_STYLES for code in COLOUR.findall(ran.out))


def test_table_on_a_terminal_tsv_in_a_pipe() -> None:
    table = run_on_terminal(["inspect", TXN])
    heading = COLOUR.sub("", table.out.splitlines()[0])
    assert re.split(" {2,}", heading.strip()) == (
        [
            "#",
            "time (UTC)",
            "client",
            "broker",
            "client id",
            "api",
            "req",
            "resp",
            "latency",
            "outcome",
            "topics",
        ]
    )
    assert COLOUR.search(table.out)
    assert run("inspect", TXN).out.startswith("number\t")


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_lines_fit_the_terminal(columns: int) -> None:
    lines = COLOUR.sub("", run_on_terminal(["inspect", TXN], columns=columns).out).splitlines()
    if columns < 200:
        (at,) = (at for at, line in enumerate(lines) if line.startswith("… no room for "))
        assert " ".join(lines[at:]).endswith("--wide shows all")
        assert max(map(len, lines[at:])) <= columns
        del lines[at:]
    assert len(lines) == 99
    assert max(map(len, lines)) <= columns
    assert "#" in lines[0] or columns < 200


@pytest.mark.parametrize(
    ("options", "environment", "coloured"),
    [
        ([], {}, True),
        ([], {"NO_COLOR": "1"}, False),
        ([], {"TERM": "dumb"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
    ],
)
def test_colour_on_a_terminal(options: list[str], environment: dict[str, str], coloured: bool) -> None:
    ran = run_on_terminal(["inspect", TXN, "--limit", "5", *options], **environment)
    assert bool(COLOUR.search(ran.out)) is coloured


@pytest.mark.parametrize(
    ("options", "environment", "coloured"),
    [([], {}, False), ([], {"FORCE_COLOR": "1"}, True), ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
     (["--color", "always"], {}, True)],
)  # fmt: skip
def test_colour_in_a_pipe(options: list[str], environment: dict[str, str], coloured: bool) -> None:
    ran = run("inspect", TXN, "--format", "table", "--limit", "5", *options, **environment)
    assert bool(COLOUR.search(ran.out)) is coloured


def test_wide_characters_keep_columns_straight() -> None:
    columns = [TableColumn("a", lambda row: Cell(row["a"])), TableColumn("b", lambda row: Cell("|"))]
    table = TableFormat(columns, colour=False, width=None, header=False, sample=10)
    for text in ("plain", "日本語", "é"):
        assert table.line({"a": text}) == b""
    assert table.tail().decode().splitlines() == ["plain   |", "日本語  |", "é       |"]


def test_a_table_streams_behind_its_sample() -> None:
    table = TableFormat([TableColumn("a", lambda row: Cell(row["a"]))], False, 5, True, sample=2)
    assert table.line({"a": "1"}) == b""
    assert table.line({"a": "2"}) == b"a\n1\n2\n"
    assert table.line({"a": "123456789"}) == "1234…\n".encode()
    assert table.tail() == b""


def test_closed_pipe_is_silent() -> None:
    paths = map(str, CAPTURES.glob("*.pcap"))
    process = subprocess.Popen(
        command("inspect", *paths, "--format", "jsonl", "--bodies"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=CHECKOUT,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    with process.stderr as stderr:
        assert stderr.read() == b""
    assert process.wait() == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk_is_told() -> None:
    for arguments in (["inspect", TXN], ["info", TXN], ["schema"], ["inspect", TXN, "-o", "/dev/full"]):
        with Path("/dev/full").open("wb") as full:
            ran = subprocess.run(
                command(*arguments), stdout=full, stderr=subprocess.PIPE, cwd=CHECKOUT, check=False
            )
        assert ran.returncode == 3
        assert ran.stderr.startswith(b"kdissect: ")
        assert b"No space left" in ran.stderr
        assert ran.stderr.count(b"\n") == 1


def _lines_within(handle: int, count: int) -> list[bytes]:
    data = b""
    while data.count(b"\n") < count and select.select([handle], [], [], PATIENCE_S)[0]:
        data += os.read(handle, 1 << 16)
    return data.splitlines()


def test_live_input_comes_out_line_by_line_and_ctrl_c_ends_it() -> None:
    talk = Conversation().handshake()
    talk.client(request(3, 0, 1, bytes(4))).broker(response(1, bytes(8)))
    talk.client(request(3, 0, 2, bytes(4))).broker(response(2, bytes(8)))
    process = subprocess.Popen(
        command("inspect", "-", "--format", "tsv", "--no-header"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, cwd=CHECKOUT,
        # Ctrl-C works in the child, even if the shell that runs these tests ignores it for its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  no threads here
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process, process.stdin, process.stdout, process.stderr:
        os.write(process.stdin.fileno(), pcap_bytes(talk.packets))
        lines = _lines_within(process.stdout.fileno(), 2)  # while standard input stays open
        process.send_signal(signal.SIGINT)
        assert [line.split(b"\t")[8] for line in lines] == [b"1", b"2"]
        assert process.wait(timeout=PATIENCE_S) == 130
        told = process.stderr.read()
        assert re.fullmatch(
            rb"kdissect: interrupted: what is printed is partial: [0-9.]+ MB were read\n", told
        )


def test_standard_input() -> None:
    whole = run("inspect", TXN, "-e", "client,api,state").out
    assert run("inspect", "-", "-e", "client,api,state", stdin=Path(TXN).read_bytes()).out == whole
