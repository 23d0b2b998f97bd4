"""What is copied: commands that run, bytes that are the wire's, and no secret in any of them."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.engine.exchange_rows import wire_topics
from kdissect.session.exchange import Exchange
from kdissect.tui.screens import copy_screen as copies
from kdissect.tui.screens.copy_screen import Names, NothingToCopyError
from tests.cli.secrets.test_secrets import capture  # noqa: F401  a fixture
from tests.support.console import CAPTURES, CHECKOUT, run
from tests.support.messages.planted import PLANTED, needles

TRANSACTIONS = str(CAPTURES / "kafka44_java_transactions.pcapng")
SASL = str(CAPTURES / "kafka44_java_sasl.pcapng")


def exchanges(path: str) -> list[Exchange]:
    return list(Dissection(path))


def in_a_shell(command: str) -> str:
    """Return what a shell prints for a command of ours."""
    ours = f"kdissect() {{ '{sys.executable}' -P -m kdissect \"$@\"; }}\n{command}\n"
    ran = subprocess.run(["bash", "-c", ours], capture_output=True, text=True, cwd=CHECKOUT, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def fields(text: str) -> list[str]:
    """Return the lines of a tree without places: those of a frame count with or without its size
    before it.
    """
    lines = [line.split("  ", 2)[-1].strip() for line in text.splitlines() if ".." in line[:20]]
    return [line.partition("  ")[2].strip() if line[:1].isdigit() else line for line in lines]


@pytest.mark.parametrize("side", copies.SIDES)
def test_a_command_shows_the_fields_of_the_exchange(side: str) -> None:
    exchange = next(one for one in exchanges(TRANSACTIONS) if one.api_key == 0)
    shown = in_a_shell(copies.decode_command(exchange, side))
    place = f"{exchange.connection.id}/{exchange.ordinal}"
    tree = run("inspect", TRANSACTIONS, "--exchange", place, "--records", "--format", "tree").out
    body = "ProduceRequest" if side == "request" else "ProduceResponse"
    wanted = tree[tree.index(f"{body}:") :]
    names = [line.partition("..")[2].split(None, 1)[1] for line in wanted.splitlines()[1:4] if ".." in line]
    assert f"{body}: {body}" in shown
    for name in names:
        assert name.split(" (")[0].split(" = 636")[0].strip() in shown


def test_a_long_frame_comes_by_a_here_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "LONGEST_ARGUMENT", 100)
    exchange = next(one for one in exchanges(TRANSACTIONS) if one.api_key == 18)
    command = copies.decode_command(exchange, "response")
    assert "<<'HEX'" in command
    assert "ApiVersionsResponse" in in_a_shell(command)


def test_every_frame_of_a_capture_decodes_again() -> None:
    """In this process: one for each of hundreds would take minutes."""
    import shlex

    from kdissect.cli import main

    kinds: dict[tuple[int | None, str], str] = {}
    for exchange in exchanges(TRANSACTIONS):
        for side in copies.SIDES:
            if (exchange.request if side == "request" else exchange.response) is not None:
                kinds.setdefault((exchange.api_key, side), copies.decode_command(exchange, side))
    assert len(kinds) > 30
    for command in kinds.values():
        words = shlex.split(command)
        assert words[0] == "kdissect"
        assert main([*words[1:], "-o", "/dev/null"]) == 0, command[:200]


def test_bytes_are_those_of_the_wire() -> None:
    for exchange in exchanges(TRANSACTIONS)[:20]:
        assert exchange.request is not None
        data = copies.frame_bytes(exchange, "request")
        assert data == exchange.request.size.to_bytes(4) + exchange.request.data
        assert bytes.fromhex(copies.FORMS["hex"](data)) == data
        assert ast.literal_eval(copies.FORMS["Python bytes"](data)) == data
        assert copies.FORMS["Python bytes"](data).isascii()


def test_json_is_the_line_that_inspect_prints() -> None:
    dissection = Dissection(TRANSACTIONS)
    printed = run("inspect", TRANSACTIONS, "--bodies", "--records", "--format", "jsonl").out.splitlines()
    names = Names(dissection.file_names, dissection.topics.topics_of, _topic_name(dissection))
    found = list(dissection)
    for number in (0, 42, 74, 120):
        line = copies.json_line(found[number], number + 1, names)
        assert json.loads(line) == json.loads(printed[number])


def _topic_name(dissection: Dissection) -> Any:
    def name(records: Any) -> str | None:
        section = records.records_field
        return section.topic or dissection.topics.name(records.exchange.connection, section.topic_id or b"")

    return name


def test_nothing_that_is_copied_holds_a_secret(capture: str) -> None:  # noqa: F811
    dissection = Dissection(capture)
    names = Names((capture,), wire_topics, _topic_name(dissection))
    seen = 0
    for number, exchange in enumerate(dissection):
        for text in _all_copies(exchange, number, names):
            seen += 1
            data = text.encode()
            for secret in PLANTED:
                assert not any(needle in data for needle in needles(secret)), text[:300]
    assert seen > 100


def _all_copies(exchange: Exchange, number: int, names: Names) -> Iterator[str]:
    yield copies.json_line(exchange, number, names)
    for side in copies.SIDES:
        try:
            data = copies.frame_bytes(exchange, side)
            yield data.decode("latin-1")
            yield copies.FORMS["hex"](data)
            yield copies.FORMS["Python bytes"](data)
            yield copies.decode_command(exchange, side)
        except NothingToCopyError:
            continue


def test_what_cannot_be_copied_says_why(tmp_path: Path) -> None:
    exchange = exchanges(TRANSACTIONS)[0]
    exchange.response = None
    with pytest.raises(NothingToCopyError, match="no response was captured"):
        copies.frame_bytes(exchange, "response")
    from kdissect.session.exchange import ExchangeKind

    exchange.kind = ExchangeKind.SASL_TOKEN
    with pytest.raises(NothingToCopyError, match="SASL token"):
        copies.decode_command(exchange, "request")
