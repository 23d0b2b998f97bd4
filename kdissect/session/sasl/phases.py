"""SASL phases of a connection (KIP-43, KIP-152, KIP-368).

Handshake v0 is followed by raw frames without headers until authentication ends; the protocol does not say
when that is, so the first client frame that is a plausible request ends the phase. Handshake v1 is followed
by SaslAuthenticate requests.
"""

from enum import Enum

SASL_HANDSHAKE = 17
SASL_AUTHENTICATE = 36


class Phase(Enum):
    """Where a connection stands."""

    REQUESTS = "requests"  # framed requests, no SASL under way
    HANDSHAKEN = "handshaken"  # handshake v1: SaslAuthenticate requests follow
    RAW_TOKENS = "raw_tokens"  # handshake v0: frames without headers follow
    AUTHENTICATED = "authenticated"


class Step(Enum):
    """What moves a connection from phase to phase."""

    HANDSHAKE_V0 = "handshake_v0"
    HANDSHAKE_V1 = "handshake_v1"
    HANDSHAKE_REFUSED = "handshake_refused"
    AUTHENTICATE_DONE = "authenticate_done"
    REQUEST_AFTER_TOKENS = "request_after_tokens"


_TABLE: dict[tuple[Phase, Step], Phase] = {
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
    """The phase that `step` leads to; a step that the protocol does not allow leaves the phase as it is."""
    return _TABLE.get((phase, step), phase)
