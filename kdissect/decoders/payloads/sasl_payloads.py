"""SASL tokens: SaslAuthenticate's `auth_bytes`, and the bare frames behind SaslHandshake version 0.

Only identifying fields are visible: the schema marks passwords, salts, proofs and tokens as secret. A token
that does not fit its mechanism stays masked as a whole.
"""

from kdissect.decoders.payloads.payload import Found, Payload
from kdissect.decoders.payloads.scope import Scope
from kdissect.decoders.payloads.scram import gs2_header, scram
from kdissect.decoders.payloads.text import json_text
from kdissect.decoders.payloads.text_parts import Parts

_CLIENTS = {"SaslAuthenticateRequest": True, "SaslAuthenticateResponse": False}
_INITIAL = 0x60  # RFC 2743 section 3.1: [APPLICATION 0] SEQUENCE
_OBJECT_IDENTIFIER = 0x06  # ITU-T X.690 section 8.19
_LONG = 0x80  # ITU-T X.690 section 8.1.3.5: the low bits count the bytes of the length
_KERBEROS = "1.2.840.113554.1.2.2"  # RFC 4121 section 1
_TOKEN_IDS = frozenset({0x0404, 0x0504})  # MIC and Wrap, which have no frame: RFC 4121 section 4.2.6
_END = b"\x01"  # RFC 7628 section 3.1, kvsep
_TOKEN = b"auth"
_BEARER = b"bearer "  # the scheme's name has no case (RFC 7235 section 2.1)


def token(data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """Return one token. Without a known mechanism (`scope.facts`) the token's own form decides."""
    from_client = scope.facts.get("from_client", _CLIENTS.get(scope.message, True))
    return _found(scope.facts.get("mechanism"), data, start, end, from_client)


def token_value(mechanism: str | None, data: bytes, from_client: bool) -> Payload | None:
    """Return the value of one token of a known mechanism, including its secrets; None if it has
    another form.
    """
    found = _found(mechanism, data, 0, len(data), from_client) if mechanism else None
    return None if found is None else found.decode(data, len(data))


def _found(name: str | None, data: bytes, start: int, end: int, from_client: bool) -> Found | None:
    mechanism = str(name or "").upper()
    if mechanism == "PLAIN":
        return plain(data, start, end) if from_client else None
    if mechanism.startswith("SCRAM-"):
        return scram(data, start, end)
    if mechanism == "OAUTHBEARER":
        return oauthbearer(data, start, end, from_client)
    if mechanism == "GSSAPI":
        return gssapi(data, start, end)
    return None if mechanism else _guess(data, start, end, from_client)


def _guess(data: bytes, start: int, end: int, from_client: bool) -> Found | None:
    if data[start : start + 1] == b"\x60":  # RFC 2743 section 3.1
        return gssapi(data, start, end)
    if not from_client:
        return scram(data, start, end)
    return oauthbearer(data, start, end, from_client) or scram(data, start, end) or plain(data, start, end)


def plain(data: bytes, start: int, end: int) -> Found | None:
    """`[authzid] NUL authcid NUL passwd`: RFC 4616 section 2. None for anything else."""
    first = data.find(b"\0", start, end)
    second = data.find(b"\0", first + 1, end) if first >= 0 else -1
    if second < 0 or data.find(b"\0", second + 1, end) >= 0:
        return None
    parts = Parts("SaslPlain", data, start)
    parts.text("authzid", first + 1, slice(start, first))
    parts.text("authcid", second + 1, slice(first + 1, second))
    parts.text("passwd", end, slice(second + 1, end))
    return parts.tree()


# GSSAPI: what is visible of its tokens without keys, which is little.
def gssapi(data: bytes, start: int, end: int) -> Found | None:
    """Return the mechanism of a first token, the kind of a Kerberos token; None for anything else."""
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
    """Return the offset behind the length at `at` (ITU-T X.690 section 8.1.3)."""
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


# OAUTHBEARER: RFC 7628 section 3.1 with the extensions of KIP-342.
def oauthbearer(data: bytes, start: int, end: int, from_client: bool) -> Found | None:
    """Return the client's first message, its answer to an error, or the server's error as JSON (section
    3.2.2).
    """
    if not from_client:
        is_json = data[start : start + 1] == b"{"
        return json_text("SaslOauthbearerError", data, start, end) if is_json else None
    if data[start:end] == _END:  # section 3.2.3: the client aborts
        parts = Parts("SaslOauthbearer", data, start)
        parts.skip(end)
        return parts.tree()
    return _initial(data, start, end)


def _initial(data: bytes, start: int, end: int) -> Found | None:
    flag = data.find(b",", start, end)
    header = data.find(b",", flag + 1, end) if flag >= 0 else -1
    if header < 0 or data[header + 1 : header + 2] != _END:
        return None
    parts = Parts("SaslOauthbearer", data, start)
    gs2_header(parts, data, start, flag, header)
    parts.skip(header + 2)
    at = header + 2
    has_token = False
    while at < end and data[at : at + 1] != _END:
        stop = data.find(_END, at, end)
        equals = data.find(b"=", at, end)
        if stop < 0 or not at <= equals < stop:
            return None
        bearer = data[equals + 1 : equals + 1 + len(_BEARER)].lower() == _BEARER
        if data[at:equals].lower() == _TOKEN and not has_token:
            parts.text("token", stop + 1, slice(equals + 1 + (len(_BEARER) if bearer else 0), stop))
            has_token = True
        elif bearer:
            return None  # a token in a wrong place
        else:
            parts.extension(stop + 1, slice(at, equals), slice(equals + 1, stop))
        at = stop + 1
    parts.skip(end)
    return parts.tree() if has_token else None
