"""`kdissect completion`: what words could become, and that shells make of it what they should."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kdissect.cli import COMMANDS, main
from kdissect.cli.reference.completion_command import SCRIPTS, completions, parser_of


def texts(*words: str, shell: str = "zsh") -> list[str]:
    return [text for text, _ in completions(shell, words)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sta"], ["stats"]),
        (["--v"], ["--version"]),
        (["nonsense", "--"], []),
        (["stats", "--sor"], ["--sort"]),
        (["stats", "--sort", "p"], ["p50", "p99"]),
        (
            ["stats", "x.pcap", "--by", "api,cl"],
            ["api,client_id", "api,client", "api,client_rack", "api,cluster"],
        ),
        (["inspect", "--api", "fetchs"], ["FetchSnapshot"]),
        (["inspect", "--api", "Produce,end"], ["Produce,EndTxn", "Produce,EndQuorumEpoch"]),
        (["check", "--select", "rec00"], [f"REC00{digit}" for digit in range(1, 10)]),
        (["rules", "REC00"], [f"REC00{digit}" for digit in range(1, 10)]),
        (["schema", "fetchs"], ["FetchSnapshot"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["pipeline", "comp"], ["compact"]),
        (["pipeline", "retain", "--b"], ["--before"]),
        (["pipeline", "retain", "ou"], []),
        (["pipeline", "nonsense", "--mas"], ["--master"]),
        (["inspect", "capt"], []),  # a file: the shell knows better
        (["inspect", "--hosts", ""], []),
        (["inspect", "-Y", "lat"], ["latency_ns", "latency"]),
        (["inspect", "-Y", "'not error and lat"], ["not error and latency_ns", "not error and latency"]),
        # one would have the shell close the quote
        (["topics", "--filter", "'api == Produc"], ["api == Produce", "api == Produce "]),
        (["stats", "-Y", "'nonsense == "], []),
        ([], []),
    ],
)  # fmt: skip
def test_words(words: list[str], expected: list[str]) -> None:
    assert sorted(texts(*words)) == sorted(expected)


def test_every_command_can_be_completed() -> None:
    assert texts("") == [*COMMANDS, "--help", "--version"]
    for command in COMMANDS:
        options = set(texts(command, "--"))
        parser = parser_of(command)
        assert parser.prog == f"kdissect {command}"
        listed = {word.strip(",") for word in parser.format_help().split() if word.startswith("--")}
        assert "--help" in options
        assert options <= listed
        assert "--show-parser" not in options


def test_short_options_stand_beside_long_ones() -> None:
    assert {"-Y", "--filter", "-o", "-n"} <= set(texts("info", "-"))
    assert "-Y" not in texts("info", "--")


def test_meanings_are_told_in_a_line() -> None:
    found = dict(completions("fish", ["info", "--"]))
    assert found["--deep"] == "decode every body, check every batch's CRC, report what does not fit"
    assert not any("\n" in meaning or "\t" in meaning for meaning in found.values())


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("'topic != \"a\" and stat", "topic != \"a\" and state"),
        ('"topic != \\"a\\" and stat', 'topic != \\"a\\" and state'),
        ("topic\\ !=\\ a\\ and\\ stat", "topic\\ \\!=\\ a\\ and\\ state"),
    ],
)  # fmt: skip
def test_bash_has_words_as_they_are_typed(typed: str, expected: str) -> None:
    assert texts("inspect", "-Y", typed, shell="bash")[0] == expected


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """With a program `kdissect` that runs this checkout."""
    program = tmp_path / "kdissect"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kdissect "$@"\n')
    program.chmod(0o755)
    return os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}


def shell_says(environment: dict[str, str], *command: str) -> list[str]:
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} here")
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    return ran.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["kdissect", "sta"], ["stats"]),
        (["kdissect", "stats", "--sor"], ["--sort"]),
        (["kdissect", "stats", "-Y", "'api == Produc"], ["api == Produce", "api == Produce "]),
        (["kdissect", "inspect", "capt"], []),
    ],
)
def test_bash(words: list[str], expected: list[str], environment: dict[str, str]) -> None:
    program = (
        'source <(kdissect completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kdissect; '
        'for each in "${COMPREPLY[@]}"; do printf "%s\\n" "$each"; done; complete -p kdissect'
    )
    *found, how = shell_says(environment, "bash", "-c", program, "bash", *words)
    assert found == expected
    assert how == "complete -o bashdefault -o default -F _kdissect kdissect"


def test_fish(environment: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "kdissect.fish"
    script.write_text(SCRIPTS["fish"])
    program = f'source {script}; complete -C "kdissect stats -Y \'api == Produc"'
    found = shell_says(environment, "fish", "--no-config", "-c", program)
    assert [line.partition("\t")[0] for line in found] == ["api == Produce", "api == Produce "]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["kdissect", "sta"], ["stats"]),
        (["kdissect", "stats", "--sor"], ["--sort"]),
        (["kdissect", "stats", "-Y", "'api == Produc"], ["api == Produce", "api == Produce "]),
        (["kdissect", "inspect", "capt"], ["files"]),
    ],
)
def test_zsh(words: list[str], expected: list[str], environment: dict[str, str]) -> None:
    """In place of its line editor: what the function offers it."""
    program = (
        "compdef() { [[ $* == '_kdissect kdissect' ]] || print compdef $* }; _files() { print files }; "
        'compadd() { [[ $* == *" -a values" ]] && print -rl -- $values }; '
        'source <(kdissect completion zsh); words=("$@"); CURRENT=$#words; _kdissect'
    )
    assert shell_says(environment, "zsh", "-f", "-c", program, "zsh", *words) == expected


def test_command_line(capfd: pytest.CaptureFixture[str]) -> None:
    for shell, script in SCRIPTS.items():
        assert main(["completion", shell]) == 0
        assert capfd.readouterr().out == script
    assert main(["completion", "--for", "zsh", "stats", "--sort", "br"]) == 0
    assert capfd.readouterr().out == "broker\t\n"
    assert main(["completion", "tcsh"]) == 2
    assert main(["completion"]) == 2
    assert main(["completion", "--for"]) == 2
