"""Keys and values of records in the form that is asked for."""

import json
from binascii import b2a_base64
from collections.abc import Callable
from typing import Any

from kdissect.decoders.as_json.jsonable import text_value

ValueForm = Callable[[bytes], Any]


def _hex(data: bytes) -> str:
    return data.hex()


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode("ascii")


def _json(data: bytes) -> Any:
    """The JSON value; text where the bytes are none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return text_value(data)


def text_of(data: bytes, form: str) -> str:
    """A value as a string, for columns that hold nothing else: `json` is the JSON text itself, and bytes that
    are not UTF-8 have `\\\\xNN` in them.
    """
    if form == "hex":
        return _hex(data)
    return _base64(data) if form == "base64" else data.decode("utf-8", "backslashreplace")


VALUE_FORMS: dict[str, ValueForm] = {
    "text": text_value,
    "hex": _hex,
    "json": _json,
    "base64": _base64,
    # for columns that hold nothing but bytes or strings
    "raw": bytes,
    "text only": lambda data: text_of(data, "text"),
    "hex only": _hex,
    "json only": lambda data: text_of(data, "json"),
    "base64 only": _base64,
}
"""By the names of `--key-format` and `--value-format`.

`text` gives `{"base64": ...}` for what is no UTF-8.
"""
