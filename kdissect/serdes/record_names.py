"""Full names of the records that a schema describes: serializers may use them as subjects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from kdissect.serdes.registered import SchemaType

_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
_MESSAGE = re.compile(r"\bmessage\s+(\w+)\s*\{")


def record_names(kind: SchemaType, text: str) -> Iterator[str]:
    """Yield the names. Messages inside of other messages count without their outer ones. Raises nothing."""
    if kind is SchemaType.PROTOBUF:
        package = _PACKAGE.search(text)
        before = f"{package[1]}." if package else ""
        yield from (f"{before}{name}" for name in _MESSAGE.findall(text))
        return
    try:
        contents = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(contents, dict):
        return
    name, namespace = contents.get("title" if kind is SchemaType.JSON else "name"), contents.get("namespace")
    if isinstance(name, str):
        is_full = kind is SchemaType.JSON or "." in name or not isinstance(namespace, str) or not namespace
        yield name if is_full else f"{namespace}.{name}"
