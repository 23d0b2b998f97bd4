"""Values made fit for files that others read, beside `printable`, which is for people's eyes."""

from typing import Any

_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


def whole_text(value: Any) -> Any:
    """Plain values with lone surrogates replaced: they are no text, and strict readers refuse them."""
    if isinstance(value, str):
        return value if value.isascii() else value.translate(_SURROGATES)
    if isinstance(value, dict):
        return {whole_text(name): whole_text(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [whole_text(item) for item in value]
    return value
