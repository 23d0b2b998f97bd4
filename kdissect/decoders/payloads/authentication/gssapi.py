"""GSSAPI: what is visible of its tokens without keys, which is little."""

from kdissect.decoders.payloads.authentication.text_parts import Parts
from kdissect.decoders.payloads.payload import Found

_INITIAL = 0x60  # RFC 2743 section 3.1: [APPLICATION 0] SEQUENCE
_OBJECT_IDENTIFIER = 0x06  # ITU-T X.690 section 8.19
_LONG = 0x80  # ITU-T X.690 section 8.1.3.5: the low bits count the bytes of the length
_KERBEROS = "1.2.840.113554.1.2.2"  # RFC 4121 section 1
_TOKEN_IDS = frozenset({0x0404, 0x0504})  # MIC and Wrap, which have no frame: RFC 4121 section 4.2.6


def gssapi(data: bytes, start: int, end: int) -> Found | None:
    """The mechanism of a first token, the kind of a Kerberos token; None for anything else."""
    parts = Parts("SaslGssapi", data, start)
    if end - start >= 2 and int.from_bytes(data[start : start + 2]) in _TOKEN_IDS:
        return _kerberos(parts, data, start, end)
    at = _behind_length(data, start + 1, end) if data[start : start + 1] == bytes([_INITIAL]) else None
    if at is None or end - at < 2 or data[at] != _OBJECT_IDENTIFIER or end - at - 2 < data[at + 1]:
        return None
    stop = at + 2 + data[at + 1]
    mechanism = _object_identifier(data[at + 2 : stop])
    parts.add("mechanism", stop, mechanism)
    if mechanism == _KERBEROS and end - stop >= 2:
        return _kerberos(parts, data, stop, end)
    parts.add("token", end, data[stop:end])
    return parts.tree()


def _kerberos(parts: Parts, data: bytes, at: int, end: int) -> Found:
    parts.add("token_id", at + 2, int.from_bytes(data[at : at + 2]))
    parts.add("token", end, data[at + 2 : end])
    return parts.tree()


def _behind_length(data: bytes, at: int, end: int) -> int | None:
    """Offset behind the length at `at` (ITU-T X.690 section 8.1.3)."""
    if at >= end:
        return None
    if data[at] < _LONG:
        return at + 1
    behind = at + 1 + (data[at] & ~_LONG)
    return behind if behind <= end else None


def _object_identifier(content: bytes) -> str:
    """ITU-T X.690 section 8.19: base 128, the first number holds two."""
    numbers: list[int] = []
    number = 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    if not numbers:
        return ""
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))
