"""The principal a SASL token names, where the mechanism shows it in clear."""

import re

_SCRAM_NAME = re.compile(rb"(?:^|,)n=([^,]*)")  # RFC 5802 section 5.1: attribute n of client-first-message
_BEARER = re.compile(rb"auth=Bearer ([A-Za-z0-9_\-.=]+)")  # RFC 7628 section 3.1


def principal_of(mechanism: str | None, token: bytes) -> str | None:
    """User name in a client's first token.

    None where the mechanism hides it or the token is of another form.
    """
    name = (mechanism or "").upper()
    if name == "PLAIN":
        return _plain(token)
    if name.startswith("SCRAM-"):
        return _scram(token)
    if name == "OAUTHBEARER":
        return _oauthbearer(token)
    return None


def _plain(token: bytes) -> str | None:
    # message = [authzid] NUL authcid NUL passwd: RFC 4616 section 2
    fields = token.split(b"\0")
    if len(fields) != 3:
        return None
    return fields[1].decode("utf-8", "replace") or None


def _scram(token: bytes) -> str | None:
    match = _SCRAM_NAME.search(token)
    if match is None:
        return None
    # "=2C" and "=3D" stand for comma and equals sign: RFC 5802 section 5.1
    return match[1].decode("utf-8", "replace").replace("=2C", ",").replace("=3D", "=") or None


def _oauthbearer(token: bytes) -> str | None:
    match = _BEARER.search(token)
    if match is None:
        return None
    return _jwt_subject(match[1])


def _jwt_subject(jwt: bytes) -> str | None:
    import base64
    import json

    parts = jwt.split(b".")
    if len(parts) < 2:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + b"=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return None
    subject = claims.get("sub") if isinstance(claims, dict) else None  # RFC 7519 section 4.1.2
    return subject if isinstance(subject, str) else None
