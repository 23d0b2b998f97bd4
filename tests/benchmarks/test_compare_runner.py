"""The benchmark runner, with trivial commands: its table, order, memory and exit codes; never a time."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.compare import TASKS
from kdissect.cli import main

SMALL = Path(__file__).parents[2] / "captures" / "tansu_rdk216_share.pcap"
PYTHON = shlex.quote(sys.executable)
QUIET = f"{PYTHON} -S -c pass"


def command(code: str) -> str:
    return f"{PYTHON} -S -c {shlex.quote(code)}"


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str], str]:
    import compare

    status = compare.main(arguments)
    shown = capsys.readouterr()
    return status, shown.out.splitlines(), shown.err


@pytest.fixture(autouse=True)
def _importable(benchmarks_on_path: Path) -> None:
    """The runner is a script beside the package."""


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = ["--pair", QUIET, QUIET, "--name", "nothing", "--pair", QUIET, QUIET]
    status, lines, _ = run([*pairs, "--rounds", "2"], capsys)
    assert status == 0
    assert lines[:2] == ["| work | command | CPU s | wall s | peak MB |", "|---|---|---:|---:|---:|"]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:8]]
    name = Path(sys.executable).name
    assert [row[:2] for row in cells[:3]] == [["nothing", name], ["nothing", name], ["nothing", "ratio"]]
    assert {row[0] for row in cells[3:]} == {"pair 2"}
    assert all(float(number) >= 0 for row in cells for number in row[2:])
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


def test_peak_memory_is_each_process_own(benchmarks_on_path: Path) -> None:
    # In a process of its own: a child counts what its parent held when it was forked, and pytest holds a lot.
    code = (
        "import shlex, compare\n"
        f"big = compare.measure(shlex.split({command('len(bytearray(150_000_000))')!r}))\n"
        f"small = compare.measure(shlex.split({QUIET!r}))\n"
        "print(big.rss, small.rss)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=benchmarks_on_path, capture_output=True, text=True, check=True
    )
    big, small = map(int, ran.stdout.split())
    assert big > 150_000_000 > 75_000_000 > small, "not the maximum over all children"


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


def test_captures_go_through_both_templates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = tmp_path / "a file.pcap"
    capture.write_bytes(b"x")
    check = command("import sys; sys.exit(open(sys.argv[1]).read() != 'x')") + " {capture}"
    status, lines, _ = run([str(capture), "--work", check, "--against", check, "--rounds", "1"], capsys)
    assert status == 0
    assert lines[2].startswith("| a file.pcap | ")


def test_nothing_to_compare_is_a_mistake() -> None:
    import compare

    with pytest.raises(SystemExit, match="2"):
        compare.main([])


def test_tasks_name_commands_of_both(benchmarks_on_path: Path) -> None:
    import compare

    pairs = compare.pairs_of(compare.parse_arguments(["--task", "all", "a b.pcap"]))
    assert [pair.task for pair in pairs] == list(compare.TASKS)
    for pair in pairs:
        assert pair.work[0] == "kdissect"
        assert pair.against[0] == "tshark"
        assert "a b.pcap" in pair.work
        assert "a b.pcap" in pair.against


@pytest.mark.parametrize("task", TASKS)
def test_what_a_task_runs_ends_well(task: str, tmp_path: Path, benchmarks_on_path: Path) -> None:
    import compare

    (pair,) = compare.pairs_of(compare.parse_arguments(["--task", task, str(SMALL)]))
    arguments = [part.replace(compare.SCRATCH, str(tmp_path)) for part in pair.work[1:]]
    assert main(arguments) == 0


def test_a_task_that_fails_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = tmp_path / "a.pcap"
    capture.write_bytes(b"x")
    quiet, failing = f"{QUIET} {{capture}}", f"{command('raise SystemExit(3)')} {{capture}}"
    tasks = ["--task", "list", "--task", "stats"]
    status, lines, _ = run(
        [str(capture), *tasks, "--work", failing, "--against", quiet, "--rounds", "1"], capsys
    )
    assert status == 2
    assert lines[2].startswith("| list (exit 3) | a.pcap |")


def test_a_command_finds_an_empty_directory(tmp_path: Path, benchmarks_on_path: Path) -> None:
    import compare

    made = f"{sys.executable} -c 'from pathlib import Path; Path(\"{{scratch}}/one\").mkdir()'"
    chosen = compare.parse_arguments(["a.pcap", "--work", made, "--against", made, "--rounds", "2"])
    runs = compare.interleave(compare.pairs_of(chosen), 2)
    assert [run.status for measured in runs for both in measured for run in both] == [0] * 4


def test_a_command_may_replace_that_of_the_task(benchmarks_on_path: Path) -> None:
    import compare

    chosen = compare.parse_arguments(["--task", "check", "--work", "other {capture}", "a.pcap"])
    (pair,) = compare.pairs_of(chosen)
    assert pair.work == ["other", "a.pcap"]
    assert pair.against[-3:] == ["-V", "-O", "kafka"]


@pytest.mark.exhaustive
def test_several_tasks_print_their_ratios_beside_the_aims(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = tmp_path / "a.pcap"
    capture.write_bytes(b"x")
    quiet = f"{QUIET} {{capture}}"
    status, lines, _ = run(
        [str(capture), "--task", "all", "--work", quiet, "--against", quiet, "--rounds", "1"], capsys
    )
    assert status == 0
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0][:6] == ["task", "capture", "CPU s", "against", "ratio", "aim"]
    import compare

    told = cells[2 : 2 + len(compare.TASKS)]
    assert [(row[0], row[1], row[5]) for row in told] == [
        (name, "a.pcap", task.aim) for name, task in compare.TASKS.items()
    ]
