"""docs/conform.md says what the suite prints and states."""

import re
import sys
from pathlib import Path
from shlex import split

import pytest

from kdissect.cli import main
from kdissect.rules.broker_statements import BROKER_STATEMENTS
from kdissect.rules.client_statements import CLIENT_STATEMENTS
from kdissect.rules.rule import Rule
from kdissect.schema.citations import is_place
from tests.conform.small_broker import small_broker
from tests.support.console import CHECKOUT

PAGE = CHECKOUT / "docs" / "conform.md"
CHANGING = re.compile(
    r"[0-9a-f]{16}(?:/\d+)?|127\.0\.0\.1:\d+|packets? [\d-]+|exchange \d+\b|/\d+$|\+[0-9a-f]{8}"
    r"|content: .*|0x[0-9a-f]{8}",
    re.MULTILINE,
)


def steady(text: str) -> list[str]:
    """Return lines without what each run has anew: ports, ids and places."""
    lines = [" ".join(line.split()) for line in CHANGING.sub("N", text).splitlines()]
    return [line for line in lines if not line.startswith("sha256")]


def test_the_output_on_the_page_is_that_of_a_run(capfd: pytest.CaptureFixture[str]) -> None:
    shown = PAGE.read_text().split("```text\n")[1].split("```")[0]
    command, _, wanted = shown.partition("\n")
    assert command == "$ kdissect conform broker 127.0.0.1:9092"
    with small_broker("checksum") as broker:
        assert main(["conform", "broker", broker.address]) == 1
    assert steady(capfd.readouterr().out) == steady(wanted)


def test_the_output_of_a_client_on_the_page_is_that_of_a_run(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but numbers of requests, and how the command ended: kdissect ends it when the result is known."""
    shown = PAGE.read_text().split("```text\n")[2].split("```")[0]
    line, _, wanted = shown.partition("\n")
    words = split(line.removeprefix("$ kdissect "))
    command = [sys.executable, "-m", "tests.conform.small_client"]
    program = tmp_path / "producer"
    program.write_text(f'#!/bin/sh\ncd {CHECKOUT}\nexec {" ".join(command)} "$1" producer "new sequence"\n')
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert main(words) == 1
    assert without_numbers(capfd.readouterr().out) == without_numbers(wanted)


def without_numbers(text: str) -> list[str]:
    text = re.sub(r"(?m)(?:ended by kdissect|status 0)$", "", text)
    text = re.sub(r"(?<=the frame's content: ).*", "", text)
    return [re.sub(r"\b(?:[0-9a-f]{16}|\d+)\b", "N", one) for one in steady(text)]


def test_the_page_lists_every_statement() -> None:
    text = PAGE.read_text()
    for one in (*BROKER_STATEMENTS, *CLIENT_STATEMENTS):
        statement = " ".join((one.__doc__ or "").split())
        assert f"| {one.code} | {one.level} | {statement} | {'; '.join(one.cites)} |" in text


@pytest.mark.parametrize("statement", [*BROKER_STATEMENTS, *CLIENT_STATEMENTS], ids=lambda one: one.code)
def test_a_statement_has_a_source_and_a_page(statement: Rule, capfd: pytest.CaptureFixture[str]) -> None:
    assert all(map(is_place, statement.cites))
    assert main(["rules", statement.code]) == 0
    assert statement.name in capfd.readouterr().out
