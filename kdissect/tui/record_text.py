"""One record in full, as lines."""

from __future__ import annotations

import json
from binascii import a2b_base64
from collections.abc import Iterator
from typing import Any

from kdissect.model.wording import plural
from kdissect.report.printable import printable
from kdissect.tui.hexrows import hex_rows
from kdissect.tui.widgets.lines import Line

# Of one value; who needs more has `kdissect records`.
MOST_LINES = 500
MOST_BYTES = 16 << 10
_LONGEST = 1 << 20  # characters that are tried as JSON
_FACTS = (
    "topic", "partition", "offset", "timestamp", "timestamp_type", "producer_id", "producer_epoch",
    "sequence", "transactional", "control", "codec", "magic", "leader_epoch",
)  # fmt: skip


def record_lines(row: dict[str, Any], width: int) -> Iterator[Line]:
    """Where it is, key, headers, value. Values that are JSON are laid out."""
    yield (("key  ", "bold"), (_size(row["key_bytes"]), "dim"))
    yield from _content(row["key"], width)
    for header in row["headers"]:
        yield (("header  ", "bold"), (printable(_name(header["key"])), "name"))
        yield from _content(header["value"], width)
    yield (("value  ", "bold"), (_size(row["value_bytes"]), "dim"))
    yield from _content(row["value"], width)
    if row.get("decoded"):
        yield (("decoded", "bold"),)
        yield from _json(row["decoded"])
    yield ()
    facts = ", ".join(
        f"{name.replace('_', ' ')} {row[name]}" for name in _FACTS if row.get(name) not in (None, False, "")
    )
    for text in _wrapped(printable(facts), width):
        yield ((text, "dim"),)
    if not row["crc_ok"]:
        yield (("the checksum of its batch is wrong", "bad"),)


def _name(key: Any) -> str:
    return key if isinstance(key, str) else json.dumps(key)


def _size(count: int | None) -> str:
    return "null" if count is None else plural(count, "byte")


def _content(value: Any, width: int) -> Iterator[Line]:
    if value is None:
        return
    if isinstance(value, dict) and set(value) == {"base64"}:
        data = a2b_base64(value["base64"])
        yield from hex_rows(data, 0, min(len(data), MOST_BYTES))
        if len(data) > MOST_BYTES:
            yield ((f"... {plural(len(data) - MOST_BYTES, 'more byte')}", "dim"),)
        return
    text = value if isinstance(value, str) else json.dumps(value)
    found = _parsed(text)
    yield from _json(found) if found is not None else _text(text, width)


def _parsed(text: str) -> Any:
    """The object or list that a text is; None for anything else."""
    if text[:1] not in ("{", "[") or len(text) > _LONGEST:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json(value: Any) -> Iterator[Line]:
    try:
        lines = json.dumps(value, indent=2, ensure_ascii=False).splitlines()
    except RecursionError:
        return
    yield from _bounded([((f"  {printable(line)}", ""),) for line in lines])


def _text(text: str, width: int) -> Iterator[Line]:
    rows: list[Line] = []
    for line in text.split("\n"):
        rows += [((f"  {part}", ""),) for part in _wrapped(printable(line), width)]
        if len(rows) > MOST_LINES:
            break
    yield from _bounded(rows)


def _wrapped(text: str, width: int) -> Iterator[str]:
    room = max(width - 4, 20)
    for at in range(0, max(len(text), 1), room):
        yield text[at : at + room]


def _bounded(lines: list[Line]) -> Iterator[Line]:
    yield from lines[:MOST_LINES]
    if len(lines) > MOST_LINES:
        yield (("  ... and more: see kdissect records", "dim"),)
