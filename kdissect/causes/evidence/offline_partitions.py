"""Partitions that Metadata responses name without a leader, and the replicas that they name offline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.stats.client import text_of
from kdissect.stats.watermarks import topic_of

_PARTITIONS_KEPT = 5_000
_TOGETHER_NS = 10_000_000_000  # clients ask for metadata at least so often while a leader is missing
LEADER_NOT_AVAILABLE = 5  # org.apache.kafka.common.protocol.Errors
_OF_LEADERS = frozenset({apis.PRODUCE, apis.FETCH})


class PartitionKey(NamedTuple):
    """A partition. `scope`: of `session.identities`, which distinguishes clusters."""

    scope: str
    topic: str
    partition: int


class Offline:
    """The longest time between responses that all name no leader, in nanoseconds, and the replicas that the
    last of them names.

    `offline` are node ids. `down` are the offline nodes that the response does not list as
    brokers. The other offline nodes are up: the replica's log directory failed. `behind` are replicas that
    are not offline and not in sync.
    """

    __slots__ = (
        "_before_ns", "_led_ns", "_since_ns", "_times", "_until_ns", "behind", "down", "longest_ns",
        "offline",
    )  # fmt: skip

    def __init__(self) -> None:
        self._times = self._led_ns = self._since_ns = self._until_ns = self.longest_ns = 0
        self._before_ns = 0
        """The longest of the earlier times."""
        self.offline: frozenset[int] = frozenset()
        self.down: frozenset[int] = frozenset()
        self.behind: frozenset[int] = frozenset()

    def add(self, at_ns: int, times: int) -> None:
        """Add a response in which the partition has no leader. `times` differs if exchanges before it were
        not taken.
        """
        if times != self._times or at_ns - self._until_ns > _TOGETHER_NS or self._led_ns >= self._until_ns:
            self._since_ns, self._before_ns = at_ns, self.longest_ns
        self._times = times
        self._until_ns = max(at_ns, self._until_ns)
        self.longest_ns = max(self._until_ns - self._since_ns, self._before_ns)

    def end(self, at_ns: int) -> None:
        """Add a response which shows that the partition has a leader."""
        self._led_ns = max(at_ns, self._led_ns)
        is_late = self._since_ns < at_ns < self._until_ns  # packets of another connection were missing
        if is_late:
            self._since_ns, self.longest_ns = self._until_ns, self._before_ns


class OfflinePartitions:
    """Takes Metadata, at least if the response has an error.

    While `waits`, it takes all exchanges: what names a leader, or reads or writes, ends a time without one.
    """

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self.found: Table[PartitionKey, Offline] = Table(_PARTITIONS_KEPT)
        self._waits_until_ns = 0
        self._times = 0
        """How often it began to wait."""

    @property
    def waits(self) -> bool:
        """Whether another response without a leader would continue a time without one."""
        return self._waits_until_ns > 0

    def add(self, view: ExchangeView, wanted: bool = True) -> None:
        """Take an exchange. One that is not wanted ends times, and begins none."""
        if self.waits and view.evidence.sent_ns > self._waits_until_ns:
            self._waits_until_ns = 0
        if view.response is None:
            return
        if self.waits:
            for topic, partition in _led(view):
                self._end(view, topic, partition)
        if view.key == apis.METADATA and wanted:
            self._without_leader(view)

    def _end(self, view: ExchangeView, topic: str | bytes | None, partition: int) -> None:
        name = self._name(view, topic)
        found = None if name is None else self.found.peek(PartitionKey(view.info.scope, name, partition))
        if found is not None:
            found.end(view.evidence.answered_ns)

    def _name(self, view: ExchangeView, topic: str | bytes | None) -> str | None:
        return self._names.name(view.info, topic) if isinstance(topic, bytes) else topic

    def _without_leader(self, view: ExchangeView) -> None:
        body, at_ns = view.response, view.evidence.answered_ns
        live = {broker.node_id for broker in body.brokers or ()}
        for topic in body.topics or ():
            name = self._name(view, _named(topic))
            for one in topic.partitions or ():
                offline = sent(one, "offline_replicas")
                if name is None or one.error_code != LEADER_NOT_AVAILABLE or one.leader_id >= 0:
                    continue
                found = self.found.get_or(PartitionKey(view.info.scope, name, one.partition_index), Offline)
                self._times += not self.waits
                self._waits_until_ns = max(at_ns + _TOGETHER_NS, self._waits_until_ns)
                found.add(at_ns, self._times)
                found.offline = frozenset(offline or ())
                found.down = found.offline - live
                found.behind = frozenset(one.replica_nodes or ()) - found.offline - {*(one.isr_nodes or ())}


def _named(topic: Any) -> str | bytes | None:
    """Return the name of a topic in Metadata, else its id, which versions below 10 do not have."""
    return text_of(topic.name) if topic.name else sent(topic, "topic_id")


def _led(view: ExchangeView) -> Iterator[tuple[str | bytes | None, int]]:
    """Yield partitions that a response names with a leader, or that it wrote or read."""
    if view.key == apis.METADATA:
        for topic in view.response.topics or ():
            for one in topic.partitions or ():
                if one.leader_id >= 0:
                    yield _named(topic), one.partition_index
    elif view.key in _OF_LEADERS:
        for topic in sent(view.response, "responses") or ():
            for one in sent(topic, "partitions" if view.key == apis.FETCH else "partition_responses") or ():
                if not one.error_code:
                    yield topic_of(topic), one.partition_index if view.key == apis.FETCH else one.index
