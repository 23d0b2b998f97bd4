"""Captures that a snap length cut: what is told of them is the beginning of what the whole capture tells."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.decoders.frames import dissect_body
from kdissect.decoders.trees.node import Node
from kdissect.model.native import is_compiled
from kdissect.schema.secrets import MASK
from kdissect.schema.types import Array
from kdissect.session.exchange import Exchange
from tests.support.packets.snapped import snapped
from tests.support.python_side import PythonSide

CORPUS = Path(__file__).parents[2] / "captures"
SMALL = sorted(CORPUS.glob("*.pcap*"), key=lambda path: path.stat().st_size)
# Of what is encrypted nothing can be told once its handshake is cut.
PLAIN = [path for path in SMALL if ".gz" not in path.suffixes and not path.with_suffix(".keys").exists()]
CAPTURES = PLAIN[:30]
LENGTHS = (96, 128, 256, 400)
SIDES = ("request", "response")
Row = dict[str, Any]


@pytest.fixture(scope="module")
def python_side() -> Iterator[PythonSide | None]:
    """Yield the Python engine, to be compared with the native engine; None where this process has
    no other.
    """
    if not is_compiled:
        yield None
        return
    side = PythonSide()
    yield side
    side.close()


def printed(path: str | Path) -> bytes:
    with NamedTemporaryFile() as lines:
        code = main(["inspect", "--records", "--format", "jsonl", str(path), "--output", lines.name])
        assert code == 0
        return Path(lines.name).read_bytes()


def rows_of(out: bytes) -> dict[tuple[str, int], Row]:
    rows = map(json.loads, out.splitlines())
    return {(row["connection"], row["exchange"]): row for row in rows}


@cache
def whole_rows(path: Path) -> dict[tuple[str, int], Row]:
    return rows_of(printed(path))


@cache
def whole_exchanges(path: Path) -> dict[tuple[str, int], Exchange]:
    return {(found.connection.id, found.ordinal): found for found in Dissection(str(path))}


def findings(path: str | Path) -> set[tuple[str, ...]]:
    """Return what is found, and of whom: names and software of a client are not known where they were cut
    off.
    """
    with NamedTemporaryFile() as report:
        assert main(["check", "--format", "json", str(path), "--output", report.name]) in (0, 1)
        found = json.loads(Path(report.name).read_bytes())["findings"]
    return {(it["code"], it["who"]["role"], it["where"]["api"]) for it in found}


@cache
def whole_findings(path: Path) -> set[tuple[str, ...]]:
    return findings(path)


def untrue(cut: Any, whole: Any, path: str = "") -> Iterator[str]:
    """Yield where something is not the beginning of what it should be."""
    if cut in (whole, MASK):
        return
    if isinstance(cut, dict) and isinstance(whole, dict):
        for name, item in cut.items():
            if name == "cut":  # the bytes of a batch that is not all there
                continue
            if name in whole:
                yield from untrue(item, whole[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    elif isinstance(cut, list) and isinstance(whole, list) and len(cut) <= len(whole):
        for index, (item, other) in enumerate(zip(cut, whole, strict=False)):
            yield from untrue(item, other, f"{path}[{index}]")
    else:
        yield f"{path}: {cut!r}, not {whole!r}"


def first_end(exchange: Exchange, side: str) -> int | None:
    """Return where the first field of a whole body ends, of an array its count; None of a body without
    fields.
    """
    is_response = side == "response"
    frame = exchange.response if is_response else exchange.request
    assert frame is not None
    assert exchange.api_key is not None
    assert exchange.api_version is not None
    offset = exchange.response_body_offset if is_response else exchange.request_body_offset
    tree = dissect_body(frame.data, exchange.api_key, exchange.api_version, is_response, offset)
    first = next(iter(tree.children[0].children), None)
    if first is None or first.field is None:
        return None
    return _count(first).end if isinstance(first.field.type, Array) else first.end


def _count(node: Node) -> Node:
    return node.children[0] if node.children else node


def test_there_are_30_captures() -> None:
    assert len(CAPTURES) == 30


@pytest.mark.sampled(80)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_what_is_told_of_a_cut_capture(
    path: Path, length: int, tmp_path: Path, python_side: PythonSide | None
) -> None:
    cut = snapped(path, tmp_path, length)
    out = printed(cut)
    whole, exchanges = whole_rows(path), whole_exchanges(path)
    looked = parts = 0
    for place, row in rows_of(out).items():
        for side in SIDES:
            frame, other = row[side], whole.get(place, {}).get(side)
            if frame is None or other is None or row["api_key"] is None or other["body"] is None:
                continue
            looked += 1
            if "captured" in frame:
                assert frame["error"], (place, side)
                parts += frame["body"] is not None
            wrong = list(untrue(frame["body"] or {}, other["body"]))
            assert not wrong, (place, side, wrong[:3])
            if frame["body"] is None:
                end = first_end(exchanges[place], side)
                assert end is None or frame["captured"] - 4 < end, (place, side, frame)
    assert looked >= len(exchanges)
    assert parts or length > LENGTHS[0]
    if python_side is not None:
        assert python_side.call(printed, cut) == out
    assert findings(cut) <= whole_findings(path)


def written(path: str, *command: str) -> bytes:
    """Return what a command writes about a capture."""
    with NamedTemporaryFile() as out:
        assert main([*command, path, "--output", out.name]) == 0
        return Path(out.name).read_bytes()


@pytest.mark.parametrize("path", CAPTURES[:3], ids=lambda path: path.name)
def test_headers_alone_are_no_connection_without_data(
    path: Path, tmp_path: Path, python_side: PythonSide | None
) -> None:
    cut = snapped(path, tmp_path, 66)  # Ethernet, IPv4, TCP with time stamps: no byte of data
    page = written(cut, "why")
    assert page.startswith(b"kdissect could not judge anything: the snapshot length cut off the data of ")
    rows = written(cut, "connections", "--format", "json")
    assert {row["kind"] for row in json.loads(rows)["rows"]} <= {"cut", "no_data"}
    if python_side is not None:
        assert python_side.call(written, cut, "why") == page
        assert python_side.call(written, cut, "connections", "--format", "json") == rows
