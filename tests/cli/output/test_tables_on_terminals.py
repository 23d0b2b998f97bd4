"""Tables on terminals: nothing wraps, what is left out or cut is said; times as people want them."""

import re
import time
from itertools import pairwise
from pathlib import Path

import pytest

from kdissect.cli import main
from kdissect.cli.output import folded
from tests.cli.output.test_format_matrix import PARTS, RUNS
from tests.support.console import CAPTURES, TXN, run_on_terminal

GROUPS = str(CAPTURES / "kafka44_java_groups.pcapng")
OLDER = str(CAPTURES / "mock_rdk216_txn.pcap")
SIGN = "…"
COMMANDS = [
    ("inspect", TXN), ("connections", TXN), ("connections", GROUPS, "--problems"), ("records", TXN),
    ("stats", TXN, "--by", "api,client_id,broker"), ("topics", TXN), ("groups", GROUPS, "--group", "*"),
    ("producers", TXN), ("fetch-sessions", GROUPS), ("inspect", TXN, "-e", "time,client,broker,api,topics"),
    ("upgrade", TXN, "--target", "4.0", "--all", "--fail-on", "never"),
]  # fmt: skip


def tables_of(text: str) -> list[str]:
    """Lines, but for sentences, which may wrap."""
    return [line for line in text.splitlines() if "  " in line.strip()]


@pytest.mark.parametrize("columns", [80, pytest.param(120, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_line_of_a_table_wraps(arguments: tuple[str, ...], columns: int) -> None:
    narrow = run_on_terminal([*arguments, "--color", "never"], columns).out
    wide = run_on_terminal([*arguments, "--color", "never", "--wide"], columns).out
    assert wide == run_on_terminal([*arguments, "--color", "never"], 2000).out
    assert max(map(len, tables_of(narrow))) <= columns
    if max(map(len, tables_of(wide))) > columns:
        assert SIGN in narrow
        assert narrow != wide


EVERYTHING = [
    *RUNS.values(), *([*RUNS[name], "--table", part] for name, part in PARTS), ["rules", "FRM006"],
    ["--help"], [*RUNS["check"], "--format", "table"], ["inspect", "--help"], ["topics", TXN, "--topic", "*"],
]  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("arguments", EVERYTHING, ids=lambda line: " ".join(line[:1] + line[2:]))
def test_nothing_wraps_inside_a_word(arguments: list[str]) -> None:
    color = [] if "--help" in arguments else ["--color", "never"]
    ran = run_on_terminal([*arguments, *color], 80, COLUMNS="80")
    assert ran.code == 0, ran.err
    for line in ran.out.splitlines():
        is_command = line.startswith("  again")  # to be copied as it is
        last_column = line.strip().split("  ")[-1].strip()  # of one long word nothing can be broken
        assert len(line) <= 80 or is_command or " " not in last_column, line


def test_lines_are_broken_between_words() -> None:
    told = "  seen      a long sentence that goes on beyond the end of the line\nshort\n" + "x" * 50 + " y"
    assert folded(told, 40).split("\n") == [
        "  seen      a long sentence that goes on",
        "            beyond the end of the line",
        "short",
        "x" * 50,
        "y",
    ]
    assert folded(told, 1000) == told
    assert folded("", 10) == ""


def test_what_is_left_out_is_named() -> None:
    ran = run_on_terminal(["inspect", TXN, "--limit", "2", "--color", "never"], 80)
    *rows, last = ran.out.replace("\n  ", " ").splitlines()
    assert len(rows) == 3
    assert re.fullmatch(rf"{SIGN} no room for .*client id.*: --wide shows all", last)
    assert "client id" not in rows[0]
    assert "no room" not in run_on_terminal(["inspect", TXN, "--limit", "2", "--wide"], 80).out


def times(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, list[str]]:
    """Return the heading of the column of times, and what is in it."""
    assert main([*arguments, "--format", "table"]) == 0
    head, *lines = capfd.readouterr().out.splitlines()
    found = re.search(r"(time \([^)]*\)|start \([^)]*\)|since start|delta)", head)
    assert found
    # right or left: a column has two blanks before the next one
    cells = [re.split(r"\s{2,}", line.strip()) for line in lines]
    at = re.split(r"\s{2,}", head.strip()).index(found[1])
    return found[1], [cell[at] for cell in cells]


def test_times_name_their_zone(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        title, utc = times(capfd, "inspect", TXN, "--limit", "1")
        assert (title, utc) == ("time (UTC)", ["09:06:44.929448"])
        assert times(capfd, "inspect", TXN, "--limit", "1", "--time", "local") == (
            "time (IST)",
            ["14:36:44.929448"],
        )
        for command, name in (("records", "time"), ("connections", "start")):
            assert times(capfd, command, TXN, "--limit", "1", "--time", "local")[0] == f"{name} (IST)"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_times_since_the_start_and_since_the_row_above(capfd: pytest.CaptureFixture[str]) -> None:
    _, clock = times(capfd, "inspect", TXN)
    title, since = times(capfd, "inspect", TXN, "--time", "relative")
    assert title == "since start"
    seconds = [int(text[:2]) * 3600 + int(text[3:5]) * 60 + float(text[6:]) for text in clock]
    spans = [float(text) for text in since]
    assert spans == pytest.approx([one - seconds[0] + spans[0] for one in seconds], abs=1e-5)
    title, deltas = times(capfd, "inspect", TXN, "--time", "delta")
    assert title == "delta"
    assert [float(text) for text in deltas[1:]] == pytest.approx(
        [later - one for one, later in pairwise(spans)], abs=3e-6
    )


def test_rows_of_several_days_have_dates(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "other.pcap"
    data = bytearray(Path(TXN).read_bytes())
    at = 24  # a day later: pcap, a header of 16 bytes before each packet, its seconds first
    while at < len(data):
        seconds, length = (int.from_bytes(data[at + off : at + off + 4], "little") for off in (0, 8))
        data[at : at + 4] = (seconds + 86_400).to_bytes(4, "little")
        at += 16 + length
    path.write_bytes(data)
    for command in ("inspect", "connections"):
        _, found = times(capfd, command, TXN, str(path))
        assert {text[:10] for text in found} == {"2026-11-21", "2026-11-22"}
        assert all(len(text) == 26 for text in found)
        assert {len(text) for text in times(capfd, command, TXN)[1]} == {15}


REPORTS = [
    ("changes", "kafka28_java_admin.pcapng", "time"), ("offsets", "kafka44_java_positions.pcapng", "time"),
    ("logins", "kafka44_java_sasl.pcapng", "time"), ("access", "kafka44_java_sasl.pcapng", "last"),
    ("groups --group eager", "kafka44_java_groups.pcapng", "joined"),
    ("producers", "tansu_rdk216_txn.pcap", "began"), ("stats --over-time", "tansu_rdk216_txn.pcap", "time"),
]  # fmt: skip


def column_of(capfd: pytest.CaptureFixture[str], title: str, *arguments: str) -> list[str]:
    """Return the lines below a heading of a report, up to the end of its table."""
    assert main(list(arguments)) == 0
    lines = capfd.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if re.search(rf"(^|  ){re.escape(title)}", line))
    start = lines[at].index(title)
    rows = lines[at + 1 : lines.index("", at) if "" in lines[at:] else None]
    return [line[start : start + len("2026-11-21 09:12:48.929")] for line in rows]


@pytest.mark.parametrize(("command", "capture", "name"), REPORTS)
def test_times_of_reports(
    command: str, capture: str, name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *options = command.split()
    line = [first, str(CAPTURES / capture), *options]
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        utc = column_of(capfd, f"{name} (UTC)", *line)
        local = column_of(capfd, f"{name} (IST)", *line, "--time", "local")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert len(utc) == len(local) > 0
    clock = re.compile(r"(\d\d):(\d\d):(\d\d\.\d{3})")
    for one, other in zip(utc, local, strict=True):
        found, here = clock.search(one), clock.search(other)
        assert found and here
        ahead = int(here[1]) * 60 + int(here[2]) - int(found[1]) * 60 - int(found[2])
        assert (ahead % (24 * 60), here[3]) == (5 * 60 + 30, found[3])
    for way, title in (("relative", "since start"), ("delta", "delta")):
        shown = title if name == "time" else f"{name} ({title})"
        assert main([*line, "--time", way]) == 0
        out = capfd.readouterr().out
        assert re.search(rf"(^|  ){re.escape(shown)}(  |$)", out, re.MULTILINE)
        assert "(UTC)" not in out
        assert re.search(r"(^|  +)\d+\.\d{3}(  |$)", out, re.MULTILINE)
