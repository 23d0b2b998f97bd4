"""Whose login a SASL exchange is, where the mechanism shows it in clear, and when it has succeeded."""

from typing import Any

# Tokens a client sends until it is authenticated, by mechanism.
ROUNDS = {"PLAIN": 1, "OAUTHBEARER": 1, "SCRAM-SHA-256": 2, "SCRAM-SHA-512": 2}  # RFC 4616, 7628, 5802
_BEARER = "OAUTHBEARER"  # its server names a refusal in a token, with error code 0: RFC 7628 section 3.2.2
_SCRAM_REFUSAL = b"e="  # server-error in the place of the server's signature: RFC 5802 section 7


def has_succeeded(mechanism: str | None, tokens: int, server_token: bytes) -> bool:
    """Whether the server's answer without an error code to the client's `tokens`-th token ends the login.

    False for mechanisms whose number of rounds nobody knows from outside (GSSAPI).
    """
    rounds = ROUNDS.get(mechanism or "")
    if rounds is None or tokens < rounds:
        return False
    if mechanism == _BEARER:
        return not server_token
    return not server_token.startswith(_SCRAM_REFUSAL)


def principal_of(mechanism: str | None, token: bytes) -> str | None:
    """User name in a client's first token.

    None where the mechanism hides it or the token is of another form.
    """
    from kdissect.decoders.payloads.authentication.sasl import token_value  # most captures have no SASL

    found = token_value(mechanism, token, from_client=True)
    reader = None if found is None else _READERS.get(found.name)
    return None if found is None or reader is None else reader(found.value) or None


def _plain(value: Any) -> str | None:
    return _text(value.authcid)  # RFC 4616 section 2


def _scram(value: Any) -> str | None:
    # "=2C" and "=3D" stand for comma and equals sign: RFC 5802 section 5.1
    return _text(getattr(value, "username", "")).replace("=2C", ",").replace("=3D", "=")


def _bearer(value: Any) -> str | None:
    return _jwt_subject(_text(getattr(value, "token", "")).encode())


_READERS = {"SaslPlain": _plain, "SaslScramClientFirst": _scram, "SaslOauthbearer": _bearer}


def _text(item: str | bytes) -> str:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else item


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
