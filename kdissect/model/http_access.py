"""Access to what kdissect serves by HTTP: the addresses that it goes by, and a token.

A page of another site in the user's browser reaches every port of loopback. Two things keep it out:

- The Host header must name the server. With DNS rebinding, a site's own name leads to loopback, and the
  browser takes what answers there for the site. An address or `localhost` cannot be a site's own name.
- The token, which only those know who read what kdissect printed, or its file.
"""

from __future__ import annotations

import hmac
import secrets
import socket
from contextlib import suppress
from ipaddress import ip_address

LOOPBACK = "127.0.0.1"
# Addresses for "all of this machine's"
_ANY = ("", "0.0.0.0", "::")
_LOCAL_NAMES = frozenset({"localhost", LOOPBACK, "::1"})
# RFC 9110 section 4.2.1
_HTTP_PORT = 80


def new_token() -> str:
    """Return a random token of 256 bits, safe in URLs."""
    return secrets.token_urlsafe(32)


def is_equal(given: str, expected: str) -> bool:
    """Compare secrets in a time that does not depend on their content."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def authority(host: str, port: int) -> str:
    """Return `host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address; False for a name other than localhost."""
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return False


def names_server(header: str | None, host: str, port: int, local: str) -> bool:
    """Return whether a Host header names the server that listens at `host` and `port`.

    `local` is the address at which the connection arrived.
    """
    name, has_port = _parts(header or "")
    if has_port != port:
        return False
    names = {*_LOCAL_NAMES, local.lower()}
    names.add((socket.gethostname() if host in _ANY else host).lower())
    return name in names


def _parts(header: str) -> tuple[str, int]:
    """The name or address, without brackets, and the port; -1 for none that is valid."""
    name, _, port = header.rpartition(":") if not header.endswith("]") and ":" in header else (header, "", "")
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    elif ":" in name:
        return "", -1
    if not port:
        return name.lower(), -1 if header.endswith(":") else _HTTP_PORT
    return name.lower(), int(port) if port.isascii() and port.isdigit() and len(port) < 6 else -1
