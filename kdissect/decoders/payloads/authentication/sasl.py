"""SASL tokens: SaslAuthenticate's `auth_bytes`, and the bare frames behind SaslHandshake version 0.

Only what identifies is shown: the schema marks passwords, salts, proofs and tokens as secret. A token that
does not fit its mechanism stays masked as a whole.
"""

from kdissect.decoders.payloads.authentication.gssapi import gssapi
from kdissect.decoders.payloads.authentication.oauthbearer import oauthbearer
from kdissect.decoders.payloads.authentication.scram import scram
from kdissect.decoders.payloads.authentication.text_parts import Parts
from kdissect.decoders.payloads.payload import Found, Payload
from kdissect.decoders.payloads.scope import Scope

_CLIENTS = {"SaslAuthenticateRequest": True, "SaslAuthenticateResponse": False}


def token(data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """One token. Without a known mechanism (`scope.facts`) the token's own form decides."""
    from_client = scope.facts.get("from_client", _CLIENTS.get(scope.message, True))
    return _found(scope.facts.get("mechanism"), data, start, end, from_client)


def token_value(mechanism: str | None, data: bytes, from_client: bool) -> Payload | None:
    """The value of one token of a known mechanism, secrets and all; None where it is of another form."""
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
