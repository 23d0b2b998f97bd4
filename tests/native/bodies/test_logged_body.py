"""Bodies of request logs by the native encoder and by Python's: equal bytes, or left to Python."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from kdissect.decoders import logged_bodies
from kdissect.decoders.logged_bodies import UnreadableBodyError
from kdissect.schema.protocol_messages import api
from kdissect.schema.types import Message
from tests.support.console import CAPTURES

LOGS = sorted([*CAPTURES.glob("*.requests.log.gz"), *CAPTURES.glob("logged/recorded/*.log.gz")])
Body = tuple[Message, int, Any]


def bodies() -> Iterator[Body]:
    """Yield the bodies of all logs, a few of each version of a message."""
    seen: dict[tuple[str, int], int] = {}
    for path in LOGS:
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            _, _, text = line.partition("Completed request:")
            if not text.startswith("{"):
                continue
            row, _ = json.JSONDecoder().raw_decode(text)
            header = row["requestHeader"]
            found = api(header["requestApiKey"])
            version = header["requestApiVersion"]
            if found is None or version not in found.versions:
                continue
            for message, body in ((found.request, row["request"]), (found.response, row["response"])):
                seen[message.name, version] = seen.get((message.name, version), 0) + 1
                if seen[message.name, version] <= 4:
                    yield message, version, body


def by_python(message: Message, version: int, body: Any, monkeypatch: pytest.MonkeyPatch) -> bytes | None:
    with monkeypatch.context() as patch:
        patch.setattr(logged_bodies, "is_compiled", False)
        try:
            return logged_bodies.logged_body(message, version, body)
        except UnreadableBodyError:
            return None


def by_native(message: Message, version: int, body: Any) -> bytes | None:
    return logged_bodies._compiled(message, version).encoded(body)


def test_each_body_is_equal(native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    for message, version, body in bodies():
        expected = by_python(message, version, body, monkeypatch)
        if expected is not None:
            found = by_native(message, version, body)
            is_unknown_size = message.name == "ShareFetchResponse"
            assert found == expected or (found is None and is_unknown_size), (message.name, version)
            count += 1
    assert count > 300


VALUES = (
    None, True, False, 0, -1, 1, 127, 128, -129, 32768, 65535, 65536, 1 << 31, 1 << 32, 1 << 63, -(1 << 63),
    1 << 64, 0.5, 1e300, "", "x", "é", "\ud800", "x" * 40_000, "AAAA", "AAA=", "AA==", "A===", "=AAA", "AA=A",
    "AAAAA", "A" * 22, "A" * 20 + "+/", "A" * 20 + "-_", "A" * 21, "A" * 23, [], [None], {}, {"x": 1}, ["a"],
    [1],
)  # fmt: skip


def damaged(item: Any, random: Random) -> Any:
    """Return a copy of a body in which one value, or one name, is another."""
    if isinstance(item, dict) and item and random.random() < 0.9:
        name = random.choice(list(item))
        changed = dict(item)
        turn = random.random()
        if turn < 0.1:
            del changed[name]
        elif turn < 0.2:
            changed[random.choice((name.upper(), f"{name}é", "recordsSizeInBytes", "partition"))] = 1
        else:
            changed[name] = damaged(item[name], random)
        return changed
    if isinstance(item, list) and item and random.random() < 0.8:
        at = random.randrange(len(item))
        return [*item[:at], damaged(item[at], random), *item[at + 1 :]]
    return random.choice(VALUES)


def test_damaged_bodies_are_equal_or_left_to_python(native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    random, native_bodies = Random(13), 0
    for message, version, body in bodies():
        for _ in range(12):
            changed = damaged(body, random)
            found = by_native(message, version, changed)
            if found is not None:
                assert found == by_python(message, version, changed, monkeypatch), (message.name, changed)
                native_bodies += 1
    assert native_bodies > 300
