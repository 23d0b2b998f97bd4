"""Access to kdissect's HTTP servers: the addresses that they accept, and a token.

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
# Headers of responses: no other page embeds or reads them, and no cache stores them.
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# Values that a page of this server or the address bar sends. Another site, or another port of this machine,
# is cross-site or same-site (Fetch Metadata, W3C, section 2.3).
_OWN_SITES = ("same-origin", "none")
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
        return ip_address(_plain(host)).is_loopback
    return False


def names_server(header: str | None, host: str, port: int, local: str) -> bool:
    """Return whether a Host header names the server that listens at `host` and `port`.

    `local` is the address at which the connection arrived.
    """
    name, has_port = _parts(header or "")
    # The zone of a link-local address is this machine's own name for an interface.
    names = {*_LOCAL_NAMES, _plain(local.partition("%")[0]), _plain(reached(host))}
    return bool(name) and has_port == port and _plain(name) in names


def is_origin_of(origin: str, host: str) -> bool:
    """Return whether an Origin header names the server in a Host header."""
    return origin.lower() == f"http://{host.lower()}"


def is_own_site(header: str | None) -> bool:
    """Return whether a Sec-Fetch-Site header names no other site. True without one: few programs send it."""
    return header is None or header in _OWN_SITES


def reached(host: str) -> str:
    """Return a name or address by which one reaches a server that listens on `host`."""
    with suppress(ValueError):
        if ip_address(host).is_unspecified:
            return socket.gethostname()
    return host or socket.gethostname()


def _plain(name: str) -> str:
    """Return one spelling of each address (IPv4 if it is inside IPv6) and of each name."""
    with suppress(ValueError):
        address = ip_address(name)
        return str(getattr(address, "ipv4_mapped", None) or address)
    return name.lower()


def _parts(header: str) -> tuple[str, int]:
    """Return the name or address, without brackets, and the port; -1 for none that is valid."""
    name, _, port = header.rpartition(":") if not header.endswith("]") and ":" in header else (header, "", "")
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    elif ":" in name:
        return "", -1
    if not port:
        return name.lower(), -1 if header.endswith(":") else _HTTP_PORT
    return name.lower(), int(port) if port.isascii() and port.isdigit() and len(port) < 6 else -1
