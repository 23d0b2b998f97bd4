"""Bytes that other programs wrote (README.md beside this file), and decoding them as they would stand."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from kdissect.decoders.payloads.nesting import Expander, find, nest, payload_jsonable
from kdissect.decoders.payloads.scope import Scope

FOLDER = Path(__file__).parent


@cache
def groups() -> dict[str, bytes]:
    """Bytes by name and version."""
    lines = (FOLDER / "groups.jsonl").read_text().splitlines()
    return {row["name"]: bytes.fromhex(row["hex"]) for row in map(json.loads, lines)}


@cache
def records() -> tuple[tuple[str, str, bytes | None, bytes | None], ...]:
    """Topic, name, key, value."""
    rows = map(json.loads, (FOLDER / "records.jsonl").read_text().splitlines())
    return tuple((row["topic"], row["name"], _bytes(row["key"]), _bytes(row["value"])) for row in rows)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def decoded(
    place: str, data: bytes, facts: dict[str, Any], show_secrets: bool = False
) -> dict[str, Any] | None:
    """Return the payload in `data` as JSON has it; its tree must fill the bytes and hold the same
    value.
    """
    scope = Scope(facts)
    padded = b"\x7f" * 5 + data + b"\x7f" * 3
    found = find(place, padded, 5, 5 + len(data), scope)
    if found is None:
        return None
    tree = found.dissect(padded, 5, 5 + len(data), nest)
    assert (tree.start, tree.end) == (5, 5 + len(data))
    assert_tiles(tree)
    alone = find(place, data, 0, len(data), scope)
    assert alone is not None
    payload = alone.decode(data, len(data))
    assert (tree.error is None) == (payload.error is None)
    if payload.error is None:  # a tree keeps what was read before the error
        assert tree.value == payload.value
    return payload_jsonable(payload, show_secrets, Expander(scope, show_secrets, []))


def assert_tiles(node: Any) -> None:
    """Children stand one behind the other, within their parent."""
    at = node.start
    for child in node.children:
        assert child.start == at, (node, child)
        assert_tiles(child)
        at = child.end
    if node.children:
        assert at == node.end, node
