"""Addresses of the two ends of a connection."""

from typing import NamedTuple


class Endpoint(NamedTuple):
    """An IP address and a TCP port. `str()` gives `10.0.0.1:9092` or `[fe80::1]:9092`."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
