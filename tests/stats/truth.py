"""What the recording scripts knew of their captures, and what statistics commands say of them."""

import json
from functools import lru_cache
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.session.exchange import Exchange
from tests.support.console import CAPTURES

Facts = dict[str, Any]
CORPUS = sorted(path.name.partition(".pcap")[0] for path in CAPTURES.iterdir() if ".pcap" in path.name)
FAULTS = sorted(
    f"faults/recorded/{path.name.partition('.pcap')[0]}"
    for path in (CAPTURES / "faults" / "recorded").glob("*.pcap*")
)
EVERY = [*CORPUS, *FAULTS]
"""All captures, as `capture` takes them: those of the corpus, and of the laboratory of faults."""


def names() -> list[str]:
    """Return all scenarios with a truth."""
    return sorted(path.name.removesuffix(".truth.json") for path in CAPTURES.glob("*.truth.json"))


def truth(name: str) -> Facts:
    """Return what the script of a scenario knew."""
    found: Facts = json.loads((CAPTURES / f"{name}.truth.json").read_text())
    return found


def capture(name: str) -> str:
    """Return the capture of a scenario, or of a fault."""
    (path,) = (path for path in CAPTURES.glob(f"{name}.pcap*"))
    return str(path)


def told(capfd: pytest.CaptureFixture[str], command: str, name: str, *options: str) -> Facts:
    """Return the JSON document of a command."""
    assert main([command, capture(name), "--format", "json", *options]) == 0
    found: Facts = json.loads(capfd.readouterr().out)
    return found


_documents: dict[tuple[str, ...], Facts] = {}


def told_once(capfd: pytest.CaptureFixture[str], command: str, name: str, *options: str) -> Facts:
    """Return the JSON of a command, cached until another capture is read. Callers must not change it.

    Tests of a matrix of captures use it with `parametrize(..., scope="module")`, which brings all tests of
    a capture together.
    """
    key = name, command, *options
    if any(cached[0] != name for cached in _documents):
        _documents.clear()
    if key not in _documents:
        _documents[key] = told(capfd, command, name, *options)
    return _documents[key]


@lru_cache(maxsize=1)
def listed_once(name: str) -> tuple[Exchange, ...]:
    """Return all exchanges of a capture, without those that were captured twice; cached until another is
    read.
    """
    return tuple(exchange for exchange in Dissection(capture(name)) if exchange.connection.same_as is None)


def shown(capfd: pytest.CaptureFixture[str], command: str, name: str, *options: str) -> str:
    """Return the tables of a command."""
    assert main([command, capture(name), *options]) == 0
    return capfd.readouterr().out
