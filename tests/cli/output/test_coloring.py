"""Coloring rules of kdissect.toml: in lists, and what is wrong with them."""

import os
from pathlib import Path

import pytest

from kdissect.cli import main
from kdissect.cli.colour import paint
from kdissect.config.coloring import COLORS
from tests.support.console import CAPTURES, TXN

SASL = str(CAPTURES / "kafka44_java_sasl.pcapng")
RULES = """
[[coloring]]
name = "failed"
filter = "error"
color = "bold red"

[[coloring]]
name = "of alice"
filter = 'principal == "alice"'
color = "cyan"

[[coloring]]
name = "inside bodies"
filter = 'request.client_software_name == "apache-kafka-java"'
color = "reverse"
"""
RED, CYAN, REVERSE = "\x1b[1;31m", "\x1b[36m", "\x1b[7m"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kdissect.toml"
    path.write_text(RULES)
    monkeypatch.setenv("KDISSECT_CONFIG", str(path))
    return path


def lines(capfd: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["inspect", SASL, *arguments]) == 0
    return capfd.readouterr().out.splitlines()


def test_the_first_rule_that_holds_colours_a_line(config: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shown = lines(capfd, "--format", "table", "--color", "always")[1:]
    told = [
        line.split("\t")
        for line in lines(capfd, "-e", "errors,principal,request.client_software_name", "--no-header")
    ]
    assert len(shown) == len(told)
    seen = set()
    for line, (errors, principal, software) in zip(shown, told, strict=True):
        color = RED if errors else CYAN if principal == "alice" else REVERSE if software else ""
        seen.add(color)
        if color:
            assert line.startswith(color), line
            assert all(part.startswith(color) for part in line.split("\x1b[0m  ") if part.strip()), line
    assert seen == {RED, CYAN, REVERSE, ""}


def test_nothing_else_is_coloured(config: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for more in (["--format", "table"], ["--format", "jsonl", "--color", "always"], []):
        with_rules = lines(capfd, *more)
        os.environ["KDISSECT_CONFIG"] = ""
        assert lines(capfd, *more) == with_rules
        os.environ["KDISSECT_CONFIG"] = str(config)


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('[[coloring]]\nname = "a"\nfilter = "latencyy > 1"\ncolor = "red"\n', 3, "did you mean latency?"),
        ('[[coloring]]\nname = "a"\nfilter = "error"\ncolor = "rot"\n', 4, "no color 'rot'; there are red,"),
        (
            '[[coloring]]\nname = "a"\n\nfilter = "has finding"\ncolor = "red"\n',
            4,
            "asks for findings or numbers",
        ),
        ('[[coloring]]\nfilter = "error"\ncolor = "red"\n', 1, "a text as 'name'"),
        ('[[coloring]]\nname = "a"\nfilter = "error"\ncolor = "red"\nbold = true\n', 5, "unknown key 'bold'"),
        ('coloring = "red"\n', 1, "write [[coloring]] for each rule"),
    ],
)
@pytest.mark.parametrize("command", ["inspect", "tui"])
def test_a_wrong_rule_is_told_with_its_line(
    text: str, line: int, why: str, command: str, config: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config.write_text(text)
    assert main([command, TXN]) == 2
    told = capfd.readouterr().err
    assert told.startswith(f"kdissect: {config}:{line}: ")
    assert why in told
    assert main(["stats", TXN]) == 0, "which colours no exchanges"


def test_every_colour_of_a_rule_is_one_of_the_terminal() -> None:
    assert all(paint("x", color) != "x" for color in COLORS)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0", "CLICOLOR_FORCE": "1"}, False),
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"CLICOLOR_FORCE": "0"}, False),
        ({"CLICOLOR": "0", "CLICOLOR_FORCE": "1"}, True),
        ({"CLICOLOR": "1"}, False),
        ({}, False),
    ],
)
def test_variables_that_decide_about_colours(
    environment: dict[str, str],
    expected: bool,
    config: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert any("\x1b[" in line for line in lines(capfd, "--format", "table")) is expected
