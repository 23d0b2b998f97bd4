"""The benchmark runner, with trivial commands: its tables, order, memory and exit codes; never a time."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import compare
import pytest
from compare import ALL, MEASURED, TASKS, Task
from measure import Contest, Side, interleave
from speed_tables import docs_tables, replaced

from kdissect.cli import main

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "captures" / "tansu_rdk216_share.pcap"
PYTHON = shlex.quote(sys.executable)
QUIET = f"{PYTHON} -S -c pass"


def command(code: str) -> str:
    return f"{PYTHON} -S -c {shlex.quote(code)}"


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str], str]:
    status = compare.main(arguments)
    shown = capsys.readouterr()
    return status, shown.out.splitlines(), shown.err


def cells(lines: list[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of kdissect and tshark that do next to nothing."""
    monkeypatch.setattr(compare, "TASKS", {name: Task("this", QUIET) for name in MEASURED})


def test_table_of_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = ["--pair", QUIET, QUIET, "--name", "nothing", "--pair", QUIET, QUIET]
    status, lines, _ = run([*pairs, "--rounds", "2"], capsys)
    assert status == 0
    assert lines[:2] == [
        "| work | command | CPU s | of it | wall s | peak MB |",
        "|---|---|---:|---:|---:|---:|",
    ]
    rows = cells(lines[2:])
    assert [row[:2] for row in rows] == [
        ["nothing", "work"],
        ["nothing", "against"],
        ["pair 2", "work"],
        ["pair 2", "against"],
    ]
    assert lines[-1].startswith("Medians of 2 interleaved rounds; ")
    assert "cores" in lines[-1]
    assert "CPython" in lines[-1]


def test_bytecode_may_be_on_disk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As it is for users, whatever this environment says: else each start compiles all modules."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    asked = command("import sys; sys.exit(sys.dont_write_bytecode)")
    assert run(["--pair", asked, asked, "--rounds", "1", "--warm-ups", "0"], capsys)[0] == 0


def test_rounds_are_interleaved_after_a_warm_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    sides = [command(f"open({str(log)!r}, 'a').write({letter!r})") for letter in "abcd"]
    pairs = ["--pair", *sides[:2], "--pair", *sides[2:]]
    run([*pairs, "--rounds", "2"], capsys)
    assert log.read_text() == "abcd" * 3
    log.unlink()
    run([*pairs, "--rounds", "1", "--warm-ups", "0"], capsys)
    assert log.read_text() == "abcd"


def test_contests_share_the_run_of_a_common_command(tmp_path: Path) -> None:
    log = tmp_path / "log"
    ours, other, peer = (
        Side(tuple(shlex.split(command(f"open({str(log)!r}, 'a').write({letter!r})")))) for letter in "abp"
    )
    runs = interleave([Contest("one", {"x": ours, "y": peer}), Contest("two", {"x": other, "y": peer})], 2)
    assert log.read_text() == "apb" * 3
    assert runs[0]["y"] == runs[1]["y"]
    assert len(runs[0]["y"]) == 2


def test_peak_memory_is_each_process_own(benchmarks_on_path: Path) -> None:
    # In a process of its own: a child counts what its parent held when it was forked, and pytest holds a lot.
    code = (
        "import shlex, measure\n"
        f"big = measure.measure(measure.Side(shlex.split({command('len(bytearray(150_000_000))')!r})))\n"
        f"small = measure.measure(measure.Side(shlex.split({QUIET!r})))\n"
        "print(big.rss, small.rss)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=benchmarks_on_path, capture_output=True, text=True, check=True
    )
    big, small = map(int, ran.stdout.split())
    assert big > 150_000_000 > 75_000_000 > small, "not the maximum over all children"


def test_the_runner_itself_is_small(benchmarks_on_path: Path) -> None:
    """What it holds counts for each process that it starts: no kdissect is imported."""
    code = "import compare, sys; sys.exit('kdissect' in sys.modules or 'kafka' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=benchmarks_on_path, check=False).returncode == 0


def test_output_is_kept_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["--pair", command("print('left')"), command("print('right')"), "--name", "p"]
    run([*pair, "--rounds", "1", "--output-dir", str(tmp_path / "out")], capsys)
    assert (tmp_path / "out" / "p.work.out").read_text() == "left\n"
    assert (tmp_path / "out" / "p.against.out").read_text() == "right\n"


def test_a_failing_command_is_shown_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    status, lines, _ = run(["--pair", command("raise SystemExit(3)"), QUIET, "--rounds", "1"], capsys)
    assert status == 2
    assert "(exit 3)" in lines[2]
    assert "exit" not in lines[3]


def test_an_unknown_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    status, lines, errors = run(["--pair", "no-such-program", QUIET, "--rounds", "1"], capsys)
    assert (status, lines) == (2, [])
    assert "no-such-program" in errors


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--shapes", "no-such-shape"],
        ["--commands", "no-such-command", "a.pcap"],
        ["a.pcap", "--against", "."],
    ],
    ids=["nothing", "shape", "command", "checkout"],
)
def test_a_mistake_ends_with_2(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        compare.main(arguments)


def test_tasks_name_commands_of_both() -> None:
    capture = compare.Capture(Path("/a b.pcap"), [9092], [9093], 0, 0)
    for task in TASKS.values():
        work, peer = (compare.command_of(text, capture) for text in task)
        assert work[0] == "kdissect"
        assert peer[0] == "tshark"
        assert "/a b.pcap" in work
        assert "/a b.pcap" in peer
        assert {"tcp.port==9092,kafka", "tls.port==9093,kafka"} <= {*peer}
    assert {*MEASURED} <= TASKS.keys()


@pytest.mark.parametrize("task", TASKS)
def test_what_a_task_runs_ends_well(task: str, tmp_path: Path) -> None:
    capture = compare.Capture(SMALL, [9092], [], 0, 0)
    arguments = compare.command_of(TASKS[task].work, capture)[1:]
    assert main([part.replace(compare.SCRATCH, str(tmp_path)) for part in arguments]) == 0


def test_each_build_runs_its_own_kdissect(tmp_path: Path) -> None:
    """Whatever the working directory, and whichever kdissect is installed."""
    package = tmp_path / "other" / "kdissect"
    package.mkdir(parents=True)
    (package / "__main__.py").write_text("raise SystemExit(7)")
    (package / "__init__.py").write_text("")
    side = Side((sys.executable, "-m", "kdissect", "--version"), tmp_path / "other")
    (runs,) = interleave([Contest("x", {"other": side, "ours": side._replace(home=ROOT)})], 1, warm_ups=0)
    assert [run.status for run in (*runs["other"], *runs["ours"])] == [7, 0]


def test_captures_are_measured_with_their_peers_and_continue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log, results, go = tmp_path / "log", tmp_path / "run.json", tmp_path / "go"
    monkeypatch.setattr(
        compare, "TASKS", {name: Task(f"module {name}", f"{QUIET} {name}") for name in MEASURED}
    )
    monkeypatch.setattr(compare, "build_go", lambda _: go)
    monkeypatch.setattr(compare, "build_of", str)
    monkeypatch.setattr(compare, "machine", lambda: "a machine")
    other = tmp_path / "other"
    (other / "kdissect").mkdir(parents=True)
    measured: list[tuple[str, ...]] = []

    def measure(side: Side, *_: object) -> compare.Run:
        measured.append(side.command)
        return compare.Run({go: 0.5, other: 4.0}.get(side.home or Path(side.command[0]), 2.0), 1.0, 10**6, 0)

    monkeypatch.setattr("measure.in_scratch", measure)
    log.write_bytes(b"x")
    monkeypatch.setattr(compare.shutil, "which", lambda *_, **__: "found")
    shared = [
        str(log),
        "--rounds",
        "1",
        "--warm-ups",
        "0",
        "--results",
        str(results),
        "--against",
        str(other),
    ]
    status, lines, _ = run([*shared, "--commands", "list"], capsys)
    assert status == 0
    assert len(measured) == 4, "kdissect, tshark, Go and the other build"
    assert cells(lines)[0] == ["traffic", "MB", "exchanges", "`inspect`", "`inspect` / Go"]
    assert cells(lines)[2][3:] == ["1.00", "4.00"]
    assert cells(lines)[5][3:] == ["0.50"]
    status, lines, _ = run([*shared, "--commands", "list,check"], capsys)
    assert len(measured) == 7, "the list is not measured again, and no other command has a peer in Go"
    assert {*json.loads(results.read_text())["captures"]["log"]["commands"]} == {"list", "check"}
    with pytest.raises(SystemExit, match="another run: rounds differ"):
        compare.main([*shared, "--rounds", "2"])


def content(**captures: dict[str, dict[str, list[list[float]]]]) -> dict[str, object]:
    """Results of a run, by capture, command and side."""
    facts = {"date": "2026-11-29", "machine": "m", "rounds": 1, "note": "", "build": "b", "against": ""}
    shown = {
        name: {"title": f"title {name}", "bytes": 10**7, "exchanges": 5, "commands": commands}
        for name, commands in captures.items()
    }
    return {**facts, "captures": shown}


def test_the_worst_of_each_column_is_bold() -> None:
    def sides(ours: float, theirs: float, status: int = 0) -> dict[str, list[list[float]]]:
        return {"kdissect": [[ours, 1, 10**6, status]], "tshark": [[theirs, 1, 10**6, 0]]}

    run_of = content(
        a={"list": sides(1, 2), "check": sides(3, 2)},
        b={"list": sides(1, 4), "check": sides(4, 2)},
        c={"list": sides(9, 4, status=1)},
    )
    tables = {(path, name): table for path, name, table in docs_tables(run_of)}
    rows = cells(tables["docs/performance.md", "ratios"].splitlines())
    assert [row[3:] for row in rows[2:]] == [["**0.50**", "1.50"], ["0.25", "**2.00**"], ["", ""]]
    rows = cells(tables["README.md", "ratios"].splitlines())
    assert rows[0] == ["3 shapes of traffic", "`inspect`", "`check`"]
    assert rows[2:] == [["lowest", "0.25", "1.50"], ["median", "0.25", "1.50"], ["highest", "0.50", "2.00"]]


def test_a_table_replaces_what_its_mark_holds() -> None:
    page = "a\n<!-- speed: x begin -->\n\nold\n\n<!-- speed: x end -->\nb\n"
    assert replaced(page, "x", "new") == page.replace("old", "new")
    with pytest.raises(ValueError, match="mark"):
        replaced(page, "y", "new")


def test_the_docs_have_the_tables_of_the_results() -> None:
    results = json.loads(compare.RESULTS.read_text(encoding="utf-8"))
    for path, name, table in docs_tables(results):
        page = (ROOT / path).read_text(encoding="utf-8")
        assert replaced(page, name, table) == page, "python benchmarks/compare.py --docs"


def test_without_go_there_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compare.shutil, "which", lambda *_, **__: None)
    assert compare.build_go(tmp_path) is None
    assert capsys.readouterr().err == "compare: Go is not installed: no column for the reader in Go\n"


def test_all_means_all() -> None:
    chosen = compare.parse_arguments(["--shapes", ALL, "--commands", ALL])
    assert chosen.shapes == [*compare.SHAPES]
    assert chosen.commands == [*TASKS]
    assert compare.parse_arguments(["a.pcap"]).commands == [*MEASURED]
