"""SASL of a connection: its phases (KIP-43, KIP-152, KIP-368), and the owner of its login.

Kafka 0.9 sends the tokens of GSSAPI without a handshake. Handshake v0 is followed by raw frames without
headers until authentication ends. The protocol does not mark that moment, so the first client frame that is a
plausible request ends the phase. Handshake v1 is followed by SaslAuthenticate requests.
"""

from enum import Enum
from typing import Any

SASL_HANDSHAKE = 17
SASL_AUTHENTICATE = 36
# Tokens a client sends until it is authenticated, by mechanism.
ROUNDS = {"PLAIN": 1, "OAUTHBEARER": 1, "SCRAM-SHA-256": 2, "SCRAM-SHA-512": 2}  # RFC 4616, 7628, 5802
GSSAPI = "GSSAPI"  # RFC 4752
_BEARER = "OAUTHBEARER"  # its server names a refusal in a token, with error code 0: RFC 7628 section 3.2.2
_SCRAM_REFUSAL = b"e="  # server-error in the place of the server's signature: RFC 5802 section 7


class Phase(Enum):
    """Phase of a connection."""

    REQUESTS = "requests"  # framed requests, no SASL in progress
    HANDSHAKEN = "handshaken"  # handshake v1: SaslAuthenticate requests follow
    RAW_TOKENS = "raw_tokens"  # handshake v0: frames without headers follow
    AUTHENTICATED = "authenticated"


class Step(Enum):
    """A step of a connection from phase to phase."""

    TOKENS_ALONE = "tokens_alone"
    HANDSHAKE_V0 = "handshake_v0"
    HANDSHAKE_V1 = "handshake_v1"
    HANDSHAKE_REFUSED = "handshake_refused"
    AUTHENTICATE_DONE = "authenticate_done"
    REQUEST_AFTER_TOKENS = "request_after_tokens"


_TABLE: dict[tuple[Phase, Step], Phase] = {
    (Phase.REQUESTS, Step.TOKENS_ALONE): Phase.RAW_TOKENS,
    (Phase.REQUESTS, Step.HANDSHAKE_V0): Phase.RAW_TOKENS,
    (Phase.REQUESTS, Step.HANDSHAKE_V1): Phase.HANDSHAKEN,
    (Phase.RAW_TOKENS, Step.HANDSHAKE_REFUSED): Phase.REQUESTS,
    (Phase.RAW_TOKENS, Step.REQUEST_AFTER_TOKENS): Phase.AUTHENTICATED,
    (Phase.HANDSHAKEN, Step.HANDSHAKE_REFUSED): Phase.REQUESTS,
    (Phase.HANDSHAKEN, Step.AUTHENTICATE_DONE): Phase.AUTHENTICATED,
    # KIP-368: a client authenticates again on a connection that is already in use
    (Phase.AUTHENTICATED, Step.HANDSHAKE_V0): Phase.RAW_TOKENS,
    (Phase.AUTHENTICATED, Step.HANDSHAKE_V1): Phase.HANDSHAKEN,
    (Phase.HANDSHAKEN, Step.HANDSHAKE_V1): Phase.HANDSHAKEN,
}


def after(phase: Phase, step: Step) -> Phase:
    """Return the phase after `step`. A step that the protocol does not allow leaves the phase as it is."""
    return _TABLE.get((phase, step), phase)


# The owner of a login, if the mechanism shows it in clear, and the success of a login.
def has_succeeded(mechanism: str | None, tokens: int, server_token: bytes) -> bool:
    """Return whether the server's answer without an error code to the client's `tokens`-th token ends the
    login.

    False for mechanisms whose number of rounds is not visible from outside (GSSAPI).
    """
    rounds = ROUNDS.get(mechanism or "")
    if rounds is None or tokens < rounds:
        return False
    if mechanism == _BEARER:
        return not server_token
    return not server_token.startswith(_SCRAM_REFUSAL)


def principal_of(mechanism: str | None, token: bytes) -> str | None:
    """Return the user name in a client's first token.

    None if the mechanism hides it or the token is of another form.
    """
    from kdissect.decoders.payloads.sasl_payloads import token_value  # most captures have no SASL

    found = token_value(mechanism, token, from_client=True)
    reader = None if found is None else _READERS.get(found.name)
    return None if found is None or reader is None else reader(found.value) or None


def _plain(value: Any) -> str | None:
    return _text(value.authcid)  # RFC 4616 section 2


def _scram(value: Any) -> str | None:
    # "=2C" and "=3D" represent comma and equals sign: RFC 5802 section 5.1
    return _text(getattr(value, "username", "")).replace("=2C", ",").replace("=3D", "=")


def _bearer(value: Any) -> str | None:
    return _jwt_subject(_text(getattr(value, "token", "")).encode())


_READERS = {"SaslPlain": _plain, "SaslScramClientFirst": _scram, "SaslOauthbearer": _bearer}


def _text(item: str | bytes) -> str:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else item


def _jwt_subject(jwt: bytes) -> str | None:
    import base64  # start-up: few captures have tokens of OAUTHBEARER
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
