"""What SASL tokens look like, where they are in clear. Secrets do not leave this file."""

import re

MIN_ITERATIONS = 4096  # RFC 7677 section 4 (RFC 5802 section 5.1 recommends the same)
_ATTRIBUTES = re.compile(rb"(?:^|,)([a-z])=([^,]*)")  # RFC 5802 section 5.1


def plain_fault(token: bytes) -> str | None:
    """What is wrong with a client's PLAIN token; None if nothing is (RFC 4616 section 2)."""
    fields = token.split(b"\0")
    if len(fields) != 3:
        return f"{len(fields) - 1} NULs instead of 2"
    if not fields[1]:
        return "the user is empty"
    return None if fields[2] else "the password is empty"


class ScramExchange:
    """The tokens of one SCRAM authentication (RFC 5802 section 5); keeps the nonces alone."""

    __slots__ = ("client_nonce", "full_nonce", "tokens")

    def __init__(self) -> None:
        self.tokens = 0
        self.client_nonce: bytes | None = None
        self.full_nonce: bytes | None = None

    def client(self, token: bytes) -> str | None:
        """The client's next token; what is wrong with it, if anything."""
        self.tokens += 1
        found = dict(_ATTRIBUTES.findall(token))
        nonce = found.get(b"r")
        if self.tokens == 1:
            self.client_nonce = nonce
            return None if nonce and b"n" in found else "the first token has no user or no nonce"
        if self.tokens > 2:
            return "a third token"
        if b"p" not in found or b"c" not in found:
            return "the final token has no proof or no channel binding"
        return None if self.full_nonce in (None, nonce) else "the final token has another nonce"

    def server(self, token: bytes) -> str | None:
        """The server's next token."""
        if self.tokens != 1:
            return None
        found = dict(_ATTRIBUTES.findall(token))
        self.full_nonce = found.get(b"r")
        if not self.full_nonce or not self.full_nonce.startswith(self.client_nonce or b"\0"):
            return "the server's nonce does not begin with the client's"
        iterations = found.get(b"i", b"")
        if iterations.isdigit() and len(iterations) < 10 and int(iterations) < MIN_ITERATIONS:
            return f"fewer than {MIN_ITERATIONS} iterations"
        return None if b"s" in found else "the server's first token has no salt"
