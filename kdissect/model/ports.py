"""Ports that the user names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Ports(NamedTuple):
    """`brokers` are taken for Kafka without a look.

    Where `only` is not empty, connections with neither port in it are left out.
    """

    brokers: frozenset[int] = frozenset()
    only: frozenset[int] = frozenset()

    @classmethod
    def of(cls, brokers: Iterable[int] = (), only: Iterable[int] = ()) -> Ports:
        """Ports from any numbers."""
        return cls(frozenset(brokers), frozenset(only))


ANY_PORTS = Ports()
