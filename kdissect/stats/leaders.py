"""The brokers of a cluster, the partitions that they lead, and which of them the capture shows.

Traffic with a leader without a connection in the capture is not counted.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import advertised, text_of

BROKERS_KEPT = 10_000
PARTITIONS_KEPT = 100_000  # of all topics; 200 bytes each
_NO_LEADER = -1  # MetadataResponse: LEADER_NOT_AVAILABLE

# Bytes of answers that wait: an answer about a cluster of 5000 partitions has 128 KB, its values ten times as
# much.
_WAITING_BYTES = 1 << 19

BrokerKey = tuple[str, int]
"""Capture set, node id."""


class Coverage(NamedTuple):
    """Coverage of a topic's partitions: their number, and the number whose leader was not captured."""

    partitions: int
    unseen: int


class Leaders:
    """Leaders from Metadata answers. The last answer counts."""

    def __init__(self) -> None:
        self._brokers: Table[BrokerKey, str] = Table(BROKERS_KEPT)
        """Node ids and the host and port that Metadata names."""
        self._leaders: Table[tuple[str, str, int], int] = Table(PARTITIONS_KEPT)
        self._seen: Table[str, bool] = Table(BROKERS_KEPT)
        self._waiting: OrderedDict[int, tuple[str, Any]] = OrderedDict()
        """Capture sets and answers, by a number for their bytes, in the order of their last use.

        Clients ask again and again and receive equal answers, of which the last time counts.
        """
        self._bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        self._catch_up()
        return vars(self)

    def see(self, info: ConnectionInfo) -> None:
        """Note a connection of the capture."""
        if info.broker_address not in self._seen:
            self._seen.put(info.broker_address, True)
            self._seen.put(info.broker_text, True)

    def learn(self, view: ExchangeView) -> None:
        """Take the next exchange."""
        exchange, capture_set = view.exchange, view.info.scope
        if view.key != apis.METADATA or exchange.response is None:
            return
        body = exchange.response.data[exchange.response_body_offset :]
        if not self.again(view.info, view.version, body) and view.response is not None:
            if self._bytes + len(body) > _WAITING_BYTES:
                self._catch_up()
            self._waiting[_number(view.info, view.version, body)] = capture_set, view.response
            self._bytes += len(body)

    def again(self, info: ConnectionInfo, version: int, body: bytes) -> bool:
        """Take an answer that waits. Return False, without taking it, for another one."""
        number = _number(info, version, body)
        if number in self._waiting:
            self._waiting.move_to_end(number)
            return True
        return False

    def _catch_up(self) -> None:
        """Have everything known that answers said."""
        for capture_set, answer in self._waiting.values():
            for row in answer.brokers or ():
                self._brokers.put((capture_set, row.node_id), advertised(row))
            for topic in answer.topics or ():
                if topic.name is not None:
                    name = text_of(topic.name)
                    rows = topic.partitions or ()
                    for row in rows:
                        self._leaders.put((capture_set, name, row.partition_index), row.leader_id)
                    self._drop_beyond(capture_set, name, len(rows))
        self._waiting.clear()
        self._bytes = 0

    def _drop_beyond(self, capture_set: str, name: str, partitions: int) -> None:
        """Forget partitions of a former topic, which had more. A response lists all partitions of a topic."""
        while partitions and self._leaders.pop((capture_set, name, partitions)) is not None:
            partitions += 1

    def is_seen(self, broker: BrokerKey) -> bool | None:
        """Return whether the capture has a connection to a broker, or None if its address is not known."""
        self._catch_up()
        address = self._brokers.peek(broker)
        return None if address is None else self.is_captured(address)

    def is_captured(self, address: str) -> bool | None:
        """Return whether the capture has a connection to `HOST:PORT`.

        None if only `--hosts` could resolve the address of a host name. Still False if no connection leads to
        the port.
        """
        if address in self._seen:
            return True
        host, _, port = address.rpartition(":")
        if not _is_address(host) and any(seen.rpartition(":")[2] == port for seen, _ in self._seen.items()):
            return None
        return False

    def coverage(self, apart: Callable[[str], str]) -> dict[tuple[str, str], Coverage]:
        """Return the coverage by topic and cluster, as far as Metadata answers show it. `apart` returns the
        cluster of a scope.
        """
        self._catch_up()
        found: dict[tuple[str, str], list[int]] = {}
        for (capture_set, name, _), leader in self._leaders.items():
            counts = found.setdefault((name, apart(capture_set)), [0, 0])
            counts[0] += 1
            counts[1] += leader != _NO_LEADER and self.is_seen((capture_set, leader)) is False
        return {name: Coverage(*counts) for name, counts in found.items()}

    def are_all_seen(self) -> bool:
        """Return whether Metadata names brokers, and the capture has connections to all of them."""
        self._catch_up()
        return bool(self._brokers) and all(self.is_seen(broker) for broker, _ in self._brokers.items())

    def unseen_brokers(self) -> list[str]:
        """Return brokers that Metadata names and no connection of the capture leads to."""
        self._catch_up()
        return sorted(
            {f"{node} ({address})" for (capture_set, node), address in self._brokers.items()
             if self.is_seen((capture_set, node)) is False}
        )  # fmt: skip


def _number(info: ConnectionInfo, version: int, body: bytes) -> int:
    """Return a number in place of a Metadata answer's bytes."""
    return hash((info.scope, version, body))


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()
