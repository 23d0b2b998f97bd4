"""Decoded objects as plain dicts, to compare with what was encoded."""

from typing import Any

from kdissect.decoders.generated.values import Value, items


def plain(value: Any) -> Any:
    """Objects to dicts, views to bytes, unset slots left out, unknown tags under `_tags`."""
    if isinstance(value, Value):
        fields = {name: plain(item) for name, item in items(value)}
        return fields | ({"_tags": value._tags} if value._tags else {})
    if isinstance(value, list):
        return [plain(item) for item in value]
    return bytes(value) if isinstance(value, memoryview) else value
