"""Ports that the user names."""

from collections.abc import Iterable


class Ports:
    """`brokers` are taken for Kafka without a look.

    Where `only` is not empty, connections with neither port in it are left out.
    """

    __slots__ = ("brokers", "only")  # no named tuple: making one costs a start more than all else here

    def __init__(self, brokers: Iterable[int] = (), only: Iterable[int] = ()) -> None:
        self.brokers = frozenset(brokers)
        self.only = frozenset(only)


ANY_PORTS = Ports()
