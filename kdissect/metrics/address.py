"""Where metrics are served: `[HOST]:PORT`."""

from typing import NamedTuple

LOOPBACK = "127.0.0.1"  # there is no password: who wants others to read it has to say so


class Address(NamedTuple):
    """A host, by name or number, and a TCP port; port 0 is any that is free."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """What a scraper asks for."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/metrics"


def parse_address(text: str) -> Address:
    """`9464`, `:9464`, `127.0.0.1:9464`, `[::1]:9464`. Raises ValueError (one line)."""
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{text!r} is no [HOST]:PORT; an IPv6 address stands in brackets: [{host}]:{port}")
    if not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(f"{text!r} is no [HOST]:PORT")
    return Address(host or LOOPBACK, int(port))
