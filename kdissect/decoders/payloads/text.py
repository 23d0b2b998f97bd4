"""Payloads that are text, JSON or addresses."""

from typing import Any

from kdissect.decoders.payloads.payload import Plain
from kdissect.decoders.payloads.scope import Scope
from kdissect.model.errors import DecodeError

_HEX_GROUP = 2  # bytes in a group of an IPv6 address


def text(data: bytes, start: int, end: int, scope: Scope) -> Plain | None:
    """Return UTF-8 text, None for other bytes."""
    try:
        return Plain("Text", data[start:end].decode())
    except UnicodeDecodeError:
        return None


def json_text(name: str, data: bytes, start: int, end: int) -> Plain:
    """Return a JSON document."""
    try:
        return Plain(name, json_value(data[start:end]))
    except (ValueError, RecursionError):
        return Plain(name, None, DecodeError(name, start, "this is no JSON"))


def json_value(data: bytes) -> Any:
    """Return the value of a JSON document. Raises ValueError and RecursionError."""
    import json  # costs 10 ms at start-up, and few captures need it

    return json.loads(data)


def address(data: bytes, start: int, end: int, scope: Scope) -> Plain | None:
    """Return the raw bytes of an IPv4 or IPv6 address (java.net.InetAddress#getAddress)."""
    raw = data[start:end]
    if len(raw) == 4:  # RFC 791 section 3.1
        return Plain("Address", ".".join(map(str, raw)))
    if len(raw) == 16:  # RFC 8200 section 3
        groups = [raw[at : at + _HEX_GROUP] for at in range(0, len(raw), _HEX_GROUP)]
        return Plain("Address", ":".join(f"{int.from_bytes(group):x}" for group in groups))
    return None
