"""Faults of SASL tokens that are sent in clear text. Secrets do not leave this file."""

from binascii import a2b_base64
from typing import Any

from kdissect.decoders.payloads.sasl_payloads import token_value

MIN_ITERATIONS = 4096  # RFC 7677 section 4 (RFC 5802 section 5.1 recommends this number, too)
_MOST_DIGITS = 10  # of an iteration count that is compared at all


def plain_fault(token: bytes) -> str | None:
    """Return the fault of a client's PLAIN token, or None (RFC 4616 section 2)."""
    found = token_value("PLAIN", token, from_client=True)
    if found is None:
        return f"{token.count(0)} NULs instead of 2"
    if not found.value.authcid:
        return "the user is empty"
    return None if found.value.passwd else "the password is empty"


class ScramExchange:
    """The tokens of one SCRAM authentication (RFC 5802 section 5); keeps the nonces and the GS2 header."""

    __slots__ = ("client_nonce", "full_nonce", "gs2", "tokens")

    def __init__(self) -> None:
        self.tokens = 0
        self.gs2 = b""
        self.client_nonce: str | None = None
        self.full_nonce: str | None = None

    def client(self, token: bytes) -> str | None:
        """Take the client's next token and return its fault, or None."""
        self.tokens += 1
        if self.tokens == 1:
            first = _message("SaslScramClientFirst", token, True)
            self.client_nonce = getattr(first, "nonce", None)
            self.gs2 = _gs2_header(token)
            has_user = hasattr(first, "username")
            return None if self.client_nonce and has_user else "the first token has no user or no nonce"
        if self.tokens > 2:
            return "a third token"
        final = _message("SaslScramClientFinal", token, True)
        if not hasattr(final, "proof") or not hasattr(final, "channel_binding"):
            return "the final token has no proof or no channel binding"
        if self.gs2 and _channel_binding(token) != self.gs2:
            return "the final token has another channel binding than the first"
        same = self.full_nonce in (None, getattr(final, "nonce", None))
        return None if same else "the final token has another nonce"

    def server(self, token: bytes) -> str | None:
        """Take the server's next token."""
        if self.tokens == 2:  # brokers refuse with an error code instead of `e=`
            is_final = _message("SaslScramServerFinal", token, False) is not None
            return None if is_final else "the server's final token has no verifier"
        if self.tokens != 1:
            return None
        first = _message("SaslScramServerFirst", token, False)
        self.full_nonce = getattr(first, "nonce", None)
        # Both are text, or bytes if they are not UTF-8, which are not equal to a text.
        begins = str(self.full_nonce or "").startswith(str(self.client_nonce or "\0"))
        if not begins:
            return "the server's nonce does not begin with the client's"
        iterations = getattr(first, "iterations", "")
        if iterations.isdigit() and len(iterations) < _MOST_DIGITS and int(iterations) < MIN_ITERATIONS:
            return f"fewer than {MIN_ITERATIONS} iterations"
        return None if hasattr(first, "salt") else "the server's first token has no salt"


def _gs2_header(first: bytes) -> bytes:
    """Return the header of a client's first token, empty with channel binding (RFC 5802 section 7)."""
    parts = first.split(b",", 2)
    return b"%b,%b," % (parts[0], parts[1]) if len(parts) > 2 and parts[0] in (b"n", b"y") else b""


def _channel_binding(final: bytes) -> bytes | None:
    """Return the value of `c` in a client's final token, which is base64; None if it is not."""
    try:
        return a2b_base64(final.removeprefix(b"c=").partition(b",")[0], strict_mode=True)
    except ValueError:
        return None


def _message(name: str, token: bytes, from_client: bool) -> Any:
    """Return the value of a token, if it is this message of SCRAM."""
    found = token_value("SCRAM-", token, from_client)
    return found.value if found is not None and found.name == name else None
