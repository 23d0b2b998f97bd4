"""Which brokers a cluster has and which partitions they lead, and which of them the capture shows.

What clients wrote to or read from a leader without a connection in the capture, nobody counted.
"""

from collections.abc import Hashable
from typing import NamedTuple, TypeVar

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import text_of

BROKERS_KEPT = 10_000
PARTITIONS_KEPT = 100_000  # of all topics; 200 bytes each
_NO_LEADER = -1  # MetadataResponse: LEADER_NOT_AVAILABLE

_ANSWERS_KEPT = 1024  # numbers

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

BrokerKey = tuple[str, int]
"""Capture set, node id."""


class Coverage(NamedTuple):
    """What was seen of a topic's partitions: how many it has, of how many the leader was not captured."""

    partitions: int
    unseen: int


class Leaders:
    """Learned from Metadata answers; the last word counts."""

    def __init__(self) -> None:
        self.brokers: Table[BrokerKey, str] = Table(BROKERS_KEPT)
        """Node ids and the host and port that Metadata names."""
        self._leaders: Table[tuple[str, str, int], int] = Table(PARTITIONS_KEPT)
        self._seen: Table[str, bool] = Table(BROKERS_KEPT)
        self._changes = 0
        self._told: Table[int, int] = Table(_ANSWERS_KEPT)
        """Answers, by a number for their bytes, and how many changes there were when one told nothing new."""

    def see(self, info: ConnectionInfo) -> None:
        """The capture has a connection."""
        if info.broker_address not in self._seen:
            self._seen.put(info.broker_address, True)
            self._seen.put(info.broker_text, True)

    def learn(self, view: ExchangeView) -> None:
        """Take the next exchange."""
        exchange, capture_set = view.exchange, view.info.capture_set
        if view.key != apis.METADATA or exchange.response is None:
            return
        # Clients ask again and again, and are told the same.
        body = exchange.response.data[exchange.response_body_offset :]
        told = hash((capture_set, view.version, body))
        if self._told.peek(told) == self._changes_now() or view.response is None:
            return
        for row in view.response.brokers or ():
            self._put(self.brokers, (capture_set, row.node_id), f"{text_of(row.host)}:{row.port}")
        for topic in view.response.topics or ():
            if topic.name is not None:
                name = text_of(topic.name)
                for row in topic.partitions or ():
                    self._put(self._leaders, (capture_set, name, row.partition_index), row.leader_id)
        self._told.put(told, self._changes_now())

    def _put(self, table: Table[K, V], key: K, value: V) -> None:
        self._changes += table.peek(key) != value
        table.put(key, value)

    def _changes_now(self) -> int:
        return self._changes + self.brokers.forgotten + self._leaders.forgotten

    def is_seen(self, broker: BrokerKey) -> bool | None:
        """Whether the capture has a connection to a broker; None where its address is not known."""
        address = self.brokers.peek(broker)
        return None if address is None else self.is_captured(address)

    def is_captured(self, address: str) -> bool | None:
        """Whether the capture has a connection to `HOST:PORT`.

        None where only `--hosts` could say which address a host name is; False all the same where no
        connection leads to the port.
        """
        if address in self._seen:
            return True
        host, _, port = address.rpartition(":")
        if not _is_address(host) and any(seen.rpartition(":")[2] == port for seen, _ in self._seen.items()):
            return None
        return False

    def coverage(self) -> dict[str, Coverage]:
        """By topic, as far as Metadata answers say."""
        found: dict[str, list[int]] = {}
        for (capture_set, name, _), leader in self._leaders.items():
            counts = found.setdefault(name, [0, 0])
            counts[0] += 1
            counts[1] += leader != _NO_LEADER and self.is_seen((capture_set, leader)) is False
        return {name: Coverage(*counts) for name, counts in found.items()}

    def unseen_brokers(self) -> list[str]:
        """Brokers that Metadata names and no connection of the capture leads to."""
        return sorted(
            {f"{node} ({address})" for (capture_set, node), address in self.brokers.items()
             if self.is_seen((capture_set, node)) is False}
        )  # fmt: skip


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()
