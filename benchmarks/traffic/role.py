"""What one connection is used for: the exchanges it opens with, repeats and closes with."""

from __future__ import annotations

from random import Random

from .client import Client, Pair
from .exchange import Exchange

SERVICE_FLOOR_NS = 150_000  # a request answered from memory
PLAIN_MEAN_NS = 400_000


class Role:
    """Base of producers, consumers and group members."""

    def __init__(self, random: Random, client: Client) -> None:
        self.random = random
        self.client = client

    def opening(self) -> list[Exchange]:
        """Sent one after the other before anything else."""
        raise NotImplementedError

    def plan(self) -> list[Exchange]:
        """Return the next exchanges, to be pipelined; at least one."""
        raise NotImplementedError

    def closing(self) -> list[Exchange]:
        """Sent before the connection is closed."""
        return []

    def service(self, mean_ns: int) -> int:
        """Return a broker's time for one request: a floor and an exponential tail."""
        return SERVICE_FLOOR_NS + int(self.random.expovariate(1.0) * mean_ns)

    def plain(self, pair: Pair) -> Exchange:
        """Return an exchange sent as it was encoded."""
        return Exchange(pair[0], pair[1], self.service(PLAIN_MEAN_NS))
