"""Contents that no schema describes: objects of JSON, MessagePack and CBOR, recognised by their bytes.

MessagePack and CBOR are taken for such only if the bytes are one map with text keys, up to their last byte:
few other contents are. The first bytes of their maps differ. Needs cbor2 and msgpack (extra `schemas`) for
these two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from io import BytesIO
from typing import Any

from kdissect.model.extras import are_installed
from kdissect.serdes.bounds import MAX_VALUE_BYTES
from kdissect.serdes.json_values import binary, moment, number

_JSON = (b"{", b"[")
# Maps that are not empty: fixmap, map 16 and map 32 (MessagePack's specification, "Map format family").
_MESSAGE_PACK = frozenset([*range(0x81, 0x90), 0xDE, 0xDF])
# Major type 5 (RFC 8949, section 3.1), and the tag that says that the bytes are CBOR (section 3.4.6).
_CBOR = frozenset([*range(0xA1, 0xBC), 0xBF, 0xD9])
_SELF_DESCRIBED = b"\xd9\xd9\xf7"
# Big floats, references to other values, rational numbers, regular expressions, MIME messages and sets: their
# contents, as they are. References in a circle would grow beyond any bound.
_PLAIN_TAGS = (5, 25, 28, 29, 30, 35, 36, 256, 258)
_DECIMAL, _MAX_EXPONENT = 4, 100
_MAX_DEPTH = 100
_MAX_BITS = 1024  # of a number that is written as one


def content_of(data: bytes | None) -> Any:
    """Return an object or list of JSON, or a map of MessagePack or CBOR, as a value for JSON; None for
    anything else. Raises nothing.
    """
    if not data or len(data) > MAX_VALUE_BYTES:
        return None
    try:
        if data[:1] in _JSON:
            return json.loads(data)
        read = _binary_reader(data)
        value = None if read is None else read(data)
        return _plain(value, 0) if isinstance(value, Mapping) and _has_names(value) else None
    except Exception:  # each library raises several kinds
        return None


def _binary_reader(data: bytes) -> Callable[[bytes], Any] | None:
    first = data[0]
    if first in _MESSAGE_PACK:
        return _message_pack if _is_installed("msgpack") else None
    if first in _CBOR and (first != _SELF_DESCRIBED[0] or data.startswith(_SELF_DESCRIBED)):
        return _cbor if _is_installed("cbor2") else None
    return None


@cache
def _is_installed(module: str) -> bool:
    return are_installed(module)


def _message_pack(data: bytes) -> Any:
    import msgpack  # an extra

    return msgpack.unpackb(data, timestamp=3)


def _cbor(data: bytes) -> Any:
    import cbor2  # an extra

    stream = BytesIO(data)
    decoder = cbor2.CBORDecoder(
        stream,
        tag_hook=lambda tag, _immutable: tag.value,
        semantic_decoders={_DECIMAL: _decimal, **dict.fromkeys(_PLAIN_TAGS, _as_it_is)},
        read_size=1,  # so that the position in the stream is the end of the value
        max_depth=_MAX_DEPTH,
        strict_hashable_types=True,
    )
    value = decoder.decode()
    return value if stream.tell() == len(data) else None


def _as_it_is(content: Any, _immutable: bool) -> Any:
    return content


def _decimal(content: Any, _immutable: bool) -> Any:
    """Return a decimal as text; its exponent and number if the text would be long."""
    exponent, number = content
    is_short = abs(exponent) <= _MAX_EXPONENT and number.bit_length() <= _MAX_BITS
    return format(Decimal(number).scaleb(exponent), "f") if is_short else [exponent, number]


def _has_names(value: Mapping[Any, Any]) -> bool:
    return bool(value) and all(isinstance(name, str) and name.isprintable() and name for name in value)


def _plain(value: Any, depth: int) -> Any:
    """Return a value as JSON has it. Raises RecursionError."""
    if depth > _MAX_DEPTH:
        raise RecursionError
    if isinstance(value, Mapping):
        return {_name(name): _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, depth + 1) for item in value]
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _MAX_BITS else hex(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, (datetime, date)):
        return moment(value)
    if isinstance(value, (bytes, bytearray)):
        return binary(bytes(value))
    return str(value)


def _name(name: Any) -> str:
    return name if isinstance(name, str) else str(_plain(name, 0))
