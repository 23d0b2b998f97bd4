"""Values in rows by their paths, the plain way: an oracle for what is compiled."""

from collections.abc import Iterator
from typing import Any


def values_at(value: Any, path: str) -> list[Any]:
    """Return everything at a dotted path, lists gone through; elements of a list at its end one by one."""
    return list(_walk(value, path.split(".") if path else []))


def _walk(value: Any, path: list[str]) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _walk(item, path)
    elif not path:
        yield value
    elif isinstance(value, dict) and path[0] in value:
        yield from _walk(value[path[0]], path[1:])


def all_named(value: Any, name: str) -> list[Any]:
    """Return everything that stands under a name, at any depth."""
    found: list[Any] = []
    if isinstance(value, list):
        for item in value:
            found += all_named(item, name)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == name:
                found += item if isinstance(item, list) else [item]
            found += all_named(item, name)
    return found
