"""Every command that has rows prints them in every format, with the same values, and has the same options.

The matrix of docs/output.md is written from the parsers (`python -m tests.regenerate docs`).
"""

import argparse
import csv
import io
import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from kdissect import __version__
from kdissect.cli import COMMANDS, command_of, main
from kdissect.cli.options.command_parser import SHOW_PARSER, ParserShownError
from tests.support.console import CAPTURES, CHECKOUT, TXN, run, run_on_terminal

UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
GROUPS = str(CAPTURES / "kafka44_java_groups.pcapng")
MIRRORED = str(CAPTURES / "kafka44_mirror.pcapng.gz")
POSITIONS = str(CAPTURES / "kafka44_java_positions.pcapng")
LOGINS = str(CAPTURES / "kafka44_franz_sasl.pcapng")
ACKS = str(CAPTURES / "tansu_rdk216_acks.pcap")
SEGMENTS = CHECKOUT / "captures" / "logs"
FORMATS = ("table", "tsv", "csv", "json", "jsonl", "parquet")
OPTIONS = ("-e", "--sort", "--limit", "--since", "--until", "-i")
# Where an option has another command, or nothing to be about.
ELSEWHERE = {("inspect", "-i"): "`live`"}
# Commands with rows, and a run of each that has some.
RUNS: dict[str, list[str]] = {
    "inspect": ["inspect", TXN],
    "connections": ["connections", TXN],
    "records": ["records", TXN],
    "segments": ["segments", str(SEGMENTS)],
    "info": ["info", TXN],
    "stats": ["stats", TXN, "--by", "api,client_id"],
    "topics": ["topics", TXN],
    "groups": ["groups", GROUPS],
    "producers": ["producers", TXN],
    "fetch-sessions": ["fetch-sessions", GROUPS],
    "offsets": ["offsets", POSITIONS],
    "delay": ["delay", GROUPS],
    "mirror": ["mirror", MIRRORED],
    "logins": ["logins", LOGINS],
    "access": ["access", str(CAPTURES / "kafka44_java_admin.pcapng")],
    "changes": ["changes", str(CAPTURES / "kafka28_java_admin.pcapng")],
    "personal-data": ["personal-data", str(CAPTURES / "schemas" / "schemas.pcap")],
    "diff": ["diff", TXN, str(CAPTURES / "mock_rdk216_txn.pcap")],
    "check": ["check", ACKS, "--exit-zero"],
    "upgrade": ["upgrade", TXN, "--target", "4.0", "--all", "--fail-on", "never"],
    "fields": ["fields"],
    "limits": ["limits"],
    "rules": ["rules"],
}
PARTS = [
    *(("groups", name) for name in ("members", "rebalances", "failures", "rejoins", "partitions")),
    *(("producers", name) for name in ("transactions", "events", "without_id")),
    *(("offsets", name) for name in ("commits", "held", "written_twice", "gaps")), ("logins", "logins"),
    ("delay", "clocks"), ("mirror", "offsets"),
    *(("access", name) for name in ("acls", "unused", "lacking")),
    ("topics", "users"), ("stats", "errors"), ("stats", "over_time"),
    ("stats", "told_elsewhere"), ("topics", "savings"), ("info", "files"),
    ("check", "software"), ("upgrade", "software"), ("groups", "software"),
    ("diff", "steps"), ("diff", "causes"),
]  # fmt: skip
VERSIONS = {"report_version": 1, "kdissect_version": __version__}
LISTS = ("inspect", "live", "connections", "records", "segments")
# Commands without rows, and a run of each that prints something on standard output.
REPORTS: dict[str, list[str]] = {
    "decode": ["decode", "00000010001200000000000100000000"],
    "schema": ["schema", "Heartbeat"],
    "completion": ["completion", "bash"],
    "wireshark-plugin": ["wireshark-plugin"],
    "why": ["why", GROUPS],
}
NO_INTERFACE = ("inspect", "segments", "diff", "fields", "limits", "rules")
# What these print stands in files, or fills a screen.
FILES = ("tui", "tap", "extract", "record", "tables", "pipeline", "report", "traces", "mcp")
NO_FILES = ("request-log", "conform")  # rows of running brokers: tests/broker_loggers, tests/conform


def parser_of(name: str) -> argparse.ArgumentParser:
    with pytest.raises(ParserShownError) as shown:
        command_of(name).run([SHOW_PARSER])
    return shown.value.parser


def options_of(name: str) -> dict[str, argparse.Action]:
    return {option: action for action in parser_of(name)._actions for option in action.option_strings}


def printed(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capfd.readouterr().out


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", RUNS)
def test_rows_are_the_same_in_every_format(
    name: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    line = [*RUNS[name], "--limit", "5"]
    rows = [json.loads(text) for text in printed(capfd, *line, "--format", "jsonl").splitlines()]
    assert rows
    document = json.loads(printed(capfd, *line, "--json"))
    assert document["report_version"] == 1
    assert document["rows"] == rows
    tsv = [text.split("\t") for text in printed(capfd, *line, "--format", "tsv").splitlines()]
    found = list(csv.reader(io.StringIO(printed(capfd, *line, "--format", "csv"))))
    assert len(tsv) == len(found) == len(rows) + 1
    assert tsv[0] == found[0]
    for row, cells in zip(rows, tsv[1:], strict=True):
        for column, text in zip(tsv[0], cells, strict=True):
            value = row.get(column)
            if isinstance(value, int) and not isinstance(value, bool):
                assert text == str(value), column
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    import pyarrow.parquet as pq

    path = tmp_path / "rows.parquet"
    assert main([*line, "-o", str(path)]) == 0
    table = pq.read_table(path).to_pylist()
    assert len(table) == len(rows)
    for row, stored in zip(rows, table, strict=True):
        for column, value in row.items():
            if type(value) in (int, bool) and column in stored and name not in ("records", "segments"):
                assert stored[column] == value, column


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("name", "part"), PARTS)
def test_each_table_of_a_command(name: str, part: str, capfd: pytest.CaptureFixture[str]) -> None:
    lines = printed(capfd, *RUNS[name], "--table", part, "--format", "tsv").splitlines()
    rows = printed(capfd, *RUNS[name], "--table", part, "--format", "jsonl").splitlines()
    assert len(lines) == len(rows) + bool(lines)


def test_rows_are_sorted_cut_and_chosen(capfd: pytest.CaptureFixture[str]) -> None:
    line = ("stats", TXN, "--sort", "latency_ns.p99", "--limit", "3", "-e", "api,latency_ns.p99", "--json")
    rows = json.loads(printed(capfd, *line))["rows"]
    times = [row["latency_ns.p99"] for row in rows]
    assert len(rows) == 3
    assert times == sorted(times, reverse=True)
    names = printed(
        capfd, "upgrade", TXN, "--target", "4.0", "--all", "--sort", "api:desc", "-e", "api", "--no-header"
    )
    assert names.split() == sorted(names.split(), reverse=True)
    usual = printed(capfd, "groups", GROUPS, "--format", "tsv").splitlines()
    more = printed(capfd, "groups", GROUPS, "--format", "tsv", "-e", "+members.client_id").splitlines()
    assert more[0] == usual[0] + "\tmembers.client_id"


@pytest.mark.parametrize("arguments", [("-e", "lagg"), ("--sort", "lagg")])
def test_a_name_that_no_row_has_is_wrong_usage(
    arguments: tuple[str, str], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "kept.tsv"
    path.write_text("old")
    assert main(["groups", GROUPS, *arguments, "-o", str(path)]) == 2
    assert "no field 'lagg'; did you mean lag?" in capfd.readouterr().err
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    "command", ["connections", "topics", "groups", "producers", "info", "upgrade", "check"]
)
def test_since_and_until_are_part_of_the_filter(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    more = ["--target", "4.0", "--fail-on", "never"] if command == "upgrade" else []
    more += ["--exit-zero"] if command == "check" else []
    for bounds, expression in (
        (["--since", "+1s", "--until", "+2s"], "time >= +1s and time <= +2s"),
        (["--since", "09:06:45", "-Y", "error"], "time >= 09:06:45 and (error)"),
    ):
        outputs = []
        for way in (bounds, ["-Y", expression]):
            main([command, TXN, *more, *way, "--format", "json"])
            outputs.append(capfd.readouterr().out)
        assert outputs[0] == outputs[1]
    main([command, TXN, *more, "--format", "json"])
    assert capfd.readouterr().out != outputs[0]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (["inspect", TXN], "latency_ns"),
        (["inspect", TXN], "latency"),
        (["inspect", TXN], "throttle"),
        (["inspect", TXN], "batch.count:asc"),
        (["inspect", TXN], "request.transactional_id"),
        (["connections", TXN], "exchanges"),
        (["connections", TXN], "client.port"),
        (["records", TXN], "offset:desc"),
        (["records", TXN], "client.port"),
        (["segments", str(SEGMENTS)], "last_offset:desc"),
    ],
)
def test_lists_are_sorted(line: list[str], field: str, capfd: pytest.CaptureFixture[str]) -> None:
    name = field.partition(":")[0]
    every = [
        json.loads(text)[name] for text in printed(capfd, *line, "-e", name, "--format", "jsonl").splitlines()
    ]
    filled = [value for value in every if value not in (None, "", [])]
    is_down = not field.endswith(":asc") and (field.endswith(":desc") or isinstance(filled[0], int))
    assert len(filled) > 1
    expected = sorted(filled, key=str if isinstance(filled[0], list) else None, reverse=is_down)
    for limit in ("3", "100000"):
        more = [*line, "--sort", field, "--limit", limit, "-e", name]
        rows = [json.loads(text)[name] for text in printed(capfd, *more, "--format", "jsonl").splitlines()]
        assert rows[: len(filled)] == expected[: int(limit)]
        assert len(rows) == min(len(every), int(limit))
        assert len(printed(capfd, *more, "--format", "tsv").splitlines()) == len(rows) + 1
    if name.startswith("request."):
        assert main([*line, "--sort", field]) == 2
        return
    usual = printed(capfd, *line, "--format", "jsonl").splitlines()
    assert sorted(printed(capfd, *line, "--sort", field, "--format", "jsonl").splitlines()) == sorted(usual)


def test_a_sorted_list_holds_no_more_than_it_may(capfd: pytest.CaptureFixture[str]) -> None:
    line = ["inspect", TXN, "--sort", "latency_ns", "-e", "latency_ns", "--no-header", "--format", "tsv"]
    whole = printed(capfd, *line).split()
    assert main([*line, "--limits", "sorted_rows=5"]) == 0
    out, err = capfd.readouterr()
    assert out.split() == whole[:5]
    assert (
        f"--sort holds 5 rows: {len(printed(capfd, *line[:-2], '--format', 'tsv').splitlines()) - 5} more"
        in err
    )
    assert main([*line[:-2], "--format", "tree"]) == 2


def test_json_of_a_list_is_one_document(capfd: pytest.CaptureFixture[str]) -> None:
    empty = json.loads(printed(capfd, "inspect", TXN, "-Y", "api == 'Fetch' and number < 0", "--json"))
    assert empty == {**VERSIONS, "rows": []}
    assert len(json.loads(printed(capfd, "connections", TXN, "--json"))["rows"]) > 3


@pytest.mark.parametrize("name", [*RUNS, "why", "decode"])
def test_json_is_an_object_that_begins_with_its_version(name: str) -> None:
    document = json.loads(run(*(RUNS | REPORTS)[name], "--format", "json").out)
    assert list(document)[:2] == list(VERSIONS)
    assert VERSIONS.items() <= document.items()


@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "jsonl"])
def test_the_name_of_the_file_says_the_format(
    ending: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("inspect", "groups"):
        path = tmp_path / f"{name}.{ending}"
        assert main([*RUNS[name], "-o", str(path)]) == 0
        assert path.read_text() == printed(capfd, *RUNS[name], "--format", ending)


# The rule of docs/output.md: rows are a table on a terminal and TSV elsewhere, a report is the same in both.


def on_terminal(line: list[str]) -> str:
    return run_on_terminal([*line, *(["--wide"] if line[0] not in REPORTS else [])], 1000, NO_COLOR="1").out


def rows_of(name: str) -> list[str]:
    """Return the run of a command, such that it prints rows."""
    if name in LISTS:
        return RUNS[name]
    row = json.loads(run(*RUNS[name], "--limit", "1", "--format", "jsonl").out)
    return [*RUNS[name], "-e", ",".join(list(row)[:2])]


def test_the_rule_is_held_to_all_commands() -> None:
    assert {*RUNS, *REPORTS, *FILES, *NO_FILES, "live"} == set(COMMANDS)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", RUNS)
def test_rows_are_a_table_on_a_terminal_and_tsv_elsewhere(name: str, tmp_path: Path) -> None:
    line = rows_of(name)
    tsv = run(*line).out
    assert tsv.count("\t")
    assert tsv == run(*line, "--format", "tsv").out
    assert on_terminal(line) == run(*line, "--format", "table", "--wide").out != tsv
    assert run(*line, "-o", tmp_path / "rows").code == 0
    assert (tmp_path / "rows").read_text() == tsv


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", [name for name in (*RUNS, *REPORTS) if name not in LISTS])
def test_a_report_is_the_same_everywhere(name: str) -> None:
    line = (RUNS | REPORTS)[name]
    assert on_terminal(line) == run(*line).out != ""


NO_NAMES = ("info", "segments", "fields", "limits", "rules")  # of the wire, in their rows
NAMES = (b"rdk-", b"txn", b"cooperative", b"shared", b"member", b"jumps", b"consumer-", b"managed", b"franz")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", [name for name in RUNS if name not in NO_NAMES])
def test_csv_in_a_file_is_inert(name: str, tmp_path: Path) -> None:
    """Names on the wire that read as formulas."""
    capture, *_ = (Path(word) for word in RUNS[name] if "captures" in word)
    data = capture.read_bytes()
    for text in NAMES:
        data = data.replace(text, b"=" + text[1:])
    (evil := tmp_path / capture.name).write_bytes(data)
    line = [str(evil) if word == str(capture) else word for word in RUNS[name]]
    assert run(*line, "-o", tmp_path / "rows.csv").code == 0
    with (tmp_path / "rows.csv").open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert any(cell.startswith("'=") for cell in cells)
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)


def matrix() -> str:
    """Return what each command with rows has."""
    lines = [
        "| command | prints | "
        + " | ".join((*FORMATS, "others"))
        + " | "
        + " | ".join(f"`{name}`" for name in OPTIONS)
        + " |",
        "|" + "---|" * (3 + len(FORMATS) + len(OPTIONS)),
    ]
    for name in COMMANDS:
        options = options_of(name)
        formats = tuple((options.get("--format") or argparse.Action([], "")).choices or ())
        if not formats or "jsonl" not in formats:
            continue
        others = ", ".join(sorted(set(formats) - set(FORMATS)))
        marks = ["x" if one in formats else "" for one in FORMATS]
        given = ["x" if one in options else ELSEWHERE.get((name, one), "") for one in OPTIONS]
        style = "rows" if name in LISTS else "report"
        lines.append("| " + " | ".join((f"`{name}`", style, *marks, others, *given)) + " |")
    return "\n".join(lines)


def test_every_command_with_rows_has_every_format() -> None:
    for name in (*RUNS, "live"):
        options = options_of(name)
        assert set(FORMATS) <= set(options["--format"].choices or ()), name
        assert {"--json", "-e", "--limit", "-o"} <= set(options), name


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", [name for name in (*RUNS, "live") if name not in NO_INTERFACE])
def test_commands_capture_live(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    target = ["--target", "4.0"] if name == "upgrade" else []
    assert main([name, *target, "-i", "nosuch0"]) == 3
    assert capfd.readouterr().err == "kdissect: nosuch0: no such interface\n"


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        (["inspect", "-i", "lo"], "kdissect live -i captures"),
        (["extract", "-o", "x.pcapng", "-i", "lo"], "kdissect live -i IFACE -w FILE captures"),
        (["tables", "-o", "x", "-i", "lo"], "kdissect live -i IFACE -w FILE captures"),
        (["segments", "-i", "lo"], "it reads the files of a broker"),
        (["diff", "-i", "lo"], "kdissect live -i IFACE -w FILE captures"),
        (["tap", "1", "-i", "lo"], "kdissect live -i captures packets"),
    ],
)
def test_commands_that_do_not_say_what_does(
    line: list[str], instead: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(line) == 2
    assert instead in capfd.readouterr().err


def test_the_matrix_of_the_document() -> None:
    page = CHECKOUT / "docs" / "output.md"
    begin, end = "<!-- format matrix: begin -->", "<!-- format matrix: end -->"
    before, _, rest = page.read_text().partition(begin)
    held, _, after = rest.partition(end)
    if UPDATE:
        page.write_text(f"{before}{begin}\n\n{matrix()}\n\n{end}{after}")
    else:
        assert held.strip() == matrix()


def test_parquet_is_told_to_need_arrow(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", GROUPS, "--format", "parquet"]) == 2
    assert "parquet needs --output FILE" in capfd.readouterr().err
    assert find_spec("kdissect.cli.formats.parquet")
