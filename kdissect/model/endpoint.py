"""Addresses of a connection's two ends."""

from collections.abc import Iterable
from typing import NamedTuple


class Endpoint(NamedTuple):
    """An IP address and a TCP port. `str()` gives `10.0.0.1:9092` or `[fe80::1]:9092`."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Ports:
    """`brokers` count as Kafka without detection.

    Where `only` is not empty, connections with neither port in it are left out.
    """

    __slots__ = ("brokers", "only")  # no named tuple: making one costs a start more than all else here

    def __init__(self, brokers: Iterable[int] = (), only: Iterable[int] = ()) -> None:
        self.brokers = frozenset(brokers)
        self.only = frozenset(only)


ANY_PORTS = Ports()
