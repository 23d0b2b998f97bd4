"""The entrance of the command line: help, version, unknown commands, exit codes."""

import re
import subprocess
import sys
import tomllib

import pytest

import kdissect
from kdissect.cli import COMMANDS, JOBS, main
from tests.support.console import CAPTURES, CHECKOUT, run


def test_bare_command_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    for job, commands in JOBS.items():
        assert re.search(rf"^{job}:(\n| {' '.join(commands)}\n)", out, re.MULTILINE)
        assert all(re.search(rf" {name}\s", out) for name in commands)
    lines = out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_the_old_name_of_fetch_sessions_works_and_is_not_listed(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "fetch-sessions" not in capfd.readouterr().out
    path = str(CAPTURES / "kafka44_java_groups.pcapng")
    printed = []
    for line in (["fetch-sessions", path], ["groups", path, "--table", "fetch_sessions"]):
        assert main([*line, "--format", "jsonl"]) == 0
        printed.append(capfd.readouterr().out)
    assert printed[0] == printed[1] != ""
    assert main(["groups", path, "--table", "fetch_sessions", "--group", "x"]) == 2
    assert "--group selects groups" in capfd.readouterr().err


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    assert capsys.readouterr().out.splitlines()[0] == f"kdissect {project['version']}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: kdissect {name} ")


def test_every_module_of_a_command_is_in_the_table() -> None:
    folder = CHECKOUT / "kdissect" / "cli"
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*_command.py")}
    assert there == {
        f"{folder_of}/{name.replace('-', '_')}_command.py" for name, (folder_of, _) in COMMANDS.items()
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspekt"], ["--nonsense"], ["inspect"], ["inspect", "--nonsense", "x.pcap"], ["inspect",
        "--limit", "0", "x"],
        ["inspect", "--api", "Fetsch", "x"], ["inspect", "--host", "kafka", "x"], ["inspect", "--port",
        "70000", "x"],
        ["inspect", "--since", "yesterday", "x"], ["inspect", "-e", "nonsense", "x"],
        ["inspect", "--bodies", "--format", "table", "x"], ["inspect", "-e", "api", "--format", "tree", "x"],
        ["inspect", "-o", "/nowhere/at/all", "x"], ["info"], ["info", "--format", "xml", "x"],
        ["connections", "--format", "tree", "x"], ["schema", "Fetsch"], ["schema", "Fetch", "999"],
        ["schema", "Fetch", "x"],
        ["decode"], ["decode", "xyz"], ["decode", "--response", "00"],
    ],
)  # fmt: skip
def test_wrong_usage_is_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "kdissect" in captured.err


def test_hints_name_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    main(["inspect", "--api", "Fetsch", "x"])
    assert "did you mean Fetch?" in capsys.readouterr().err
    main(["inspect", "-e", "request.bites", "x"])
    assert "did you mean request.bytes?" in capsys.readouterr().err


def test_module_runs_as_a_program() -> None:
    assert run("--version").out.startswith(f"kdissect {kdissect.__version__}\ncompiled hot path: ")


@pytest.mark.parametrize(("given", "threads"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_numpy_starts_no_threads_for_matrices(
    given: dict[str, str], threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    program = "import os; from kdissect.cli import main; main(); print(os.environ['OPENBLAS_NUM_THREADS'])"
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    ran = subprocess.run(
        [sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=True, cwd=CHECKOUT
    )
    assert ran.stdout.splitlines()[-1] == threads
