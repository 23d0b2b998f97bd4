"""Leaders and leader epochs of partitions, as brokers report them (KIP-320).

Key: capture set, topic, partition. The topic is its name if the message has one, else its id. Order: that of
completion. A broker's metadata lags, so an older epoch from another broker is only stale. An older epoch from
the same broker is a difference, unless the topic was deleted and created again, which its id shows.
"""

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from kdissect.decoders.generated.summary import NO_TOPIC_ID
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact
from kdissect.history.state_table import Table
from kdissect.schema import protocol_messages
from kdissect.schema.types import Array, Struct, Type
from kdissect.session.info import ConnectionInfo

PARTITIONS_KEPT = 200_000  # partitions of a large cluster, with 300 bytes of state each
# brokers that reported one partition: its replicas, and the brokers that clients ask for metadata
BROKERS_KEPT = 16
CONNECTIONS_KEPT = 20_000  # whose cluster is known, with 500 bytes of state each
UNKNOWN_EPOCH = -1  # RecordBatch.NO_PARTITION_LEADER_EPOCH (KIP-320)


class LeaderFact(StrEnum):
    """Facts about leaders. Values are (leader, epoch)."""

    LEARNED = "learned"  # the first that was heard of the partition
    CHANGED = "changed"  # a higher epoch
    STALE = "stale"  # a lower epoch than another broker reported before
    WENT_BACK = "went_back"  # a lower epoch than this broker reported before
    TWO_LEADERS = "two_leaders"  # two leaders in one epoch
    RECREATED = "recreated"  # the topic has another id now
    OTHER_CLUSTER = "other_cluster"  # ids: the one that this connection named before, and another


class Leadership:
    """State of one partition. `by_broker` maps each broker to the last epoch that it reported."""

    __slots__ = ("by", "by_broker", "changes", "epoch", "leader", "topic_id")

    def __init__(self, leader: int, epoch: int, topic_id: bytes | None, by: Evidence) -> None:
        self.leader = leader
        self.epoch = epoch
        self.topic_id = topic_id
        self.by = by
        self.by_broker: dict[str, int] = {}
        self.changes = 0

    def is_told_again(self, topic_id: bytes | None, leader: int, epoch: int, broker: str) -> bool:
        """Return whether a broker that reported this epoch last repeats the leader and topic (None: any)."""
        return (
            self.leader == leader
            and self.epoch == epoch
            and self.by_broker.get(broker) == epoch
            and (topic_id is None or self.topic_id == topic_id)
        )


class _Report(NamedTuple):
    topic: str | bytes
    topic_id: bytes | None
    partition: int
    leader: int
    epoch: int
    side: str
    path: str


_WITH_LEADER = frozenset({apis.FETCH, apis.PRODUCE, apis.SHARE_FETCH})
"""APIs whose answers may name the leader of a partition."""

_WITH_CLUSTER = frozenset({apis.METADATA, apis.DESCRIBE_CLUSTER})
PartitionKey = tuple[str, str | bytes, int]
Standing = tuple[PartitionKey, bytes | None, int, int]
"""A partition, its topic's id, its leader and the epoch, in a response."""
_key_of = itemgetter(0)


class Stated:
    """Statements of a response: the id of the cluster, if it has one, and the leaders.

    `stood_at` is the number of changes of `LeaderEpochs` with which all leaders were known from `broker`.
    """

    __slots__ = ("broker", "cluster", "leaders", "stood_at")

    def __init__(self, cluster: str | None, leaders: list[Standing]) -> None:
        self.cluster = cluster
        self.leaders = leaders
        self.broker = ""
        self.stood_at = -1


class LeaderEpochs:
    """Leaderships by partition."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset(
        {apis.METADATA, apis.FETCH, apis.PRODUCE, apis.SHARE_FETCH, apis.LEADER_AND_ISR,
         apis.DESCRIBE_TOPIC_PARTITIONS, apis.DESCRIBE_CLUSTER}
    )  # fmt: skip

    def __init__(self) -> None:
        self.partitions: Table[PartitionKey, Leadership] = Table(PARTITIONS_KEPT)
        self.clusters: Table[str, tuple[str, Evidence]] = Table(CONNECTIONS_KEPT)
        self._changes = 0
        """The number of times that `partitions` changed, but for their order."""

    def concerns(self, api_key: int, api_version: int) -> bool:
        """Return whether responses of this version may name a leader."""
        return api_key not in _WITH_LEADER or _has_leaders(api_key, api_version)

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next exchange that names leaders."""
        facts: list[Fact] = []
        if not self.concerns(view.key, view.version):
            return facts
        scope, broker = view.info.scope, view.info.broker_address
        for report in _reports(view):
            if report.epoch > UNKNOWN_EPOCH:
                key: PartitionKey = scope, report.topic, report.partition
                known = self.partitions.get(key)
                if known is None or not known.is_told_again(
                    report.topic_id, report.leader, report.epoch, broker
                ):
                    facts += self._learn(view, report, key, known)
        return facts + self._cluster(view)

    def knows_leader(
        self, info: ConnectionInfo, topic: str | bytes, partition: int, leader: int, epoch: int
    ) -> bool:
        """Return whether `feed` learns nothing from a leader that a Produce or Fetch answer names."""
        known = self.partitions.get((info.scope, topic, partition))
        return known is not None and known.is_told_again(None, leader, epoch, info.broker_address)

    def _cluster(self, view: ExchangeView) -> list[Fact]:
        """Return whether a broker names another cluster than it did before, on the same connection."""
        cluster = _cluster_of(view)
        known = None if cluster is None else self._named_first(view.info, cluster, view.evidence)
        if known is None or known[0] == cluster:
            return []
        before, by = known
        key = view.info.scope, cluster
        return [
            Fact(LeaderFact.OTHER_CLUSTER, key, view.evidence, "response", "cluster_id", before, cluster, by)
        ]

    def _named_first(self, info: ConnectionInfo, cluster: str, by: Evidence) -> tuple[str, Evidence]:
        """Return the cluster that a connection named first: this one if it named none before."""
        return self.clusters.get(info.id) or self.clusters.put(info.id, (cluster, by))

    def stated(self, view: ExchangeView) -> Stated:
        """Return the cluster, leaders and epochs of a response, to recognize them when a broker repeats
        them.
        """
        scope = view.info.scope
        leaders: list[Standing] = [
            ((scope, of.topic, of.partition), of.topic_id, of.leader, of.epoch)
            for of in _reports(view)
            if of.epoch > UNKNOWN_EPOCH
        ]
        return Stated(_cluster_of(view), leaders)

    def stands(self, info: ConnectionInfo, stated: Stated) -> bool:
        """Return whether these leaders are known, this broker reported their epochs last, and the connection
        named no other cluster.
        """
        broker, peek = info.broker_address, self.partitions.peek
        named = self.clusters.peek(info.id)
        if stated.cluster is not None and named is not None and named[0] != stated.cluster:
            return False
        if stated.stood_at == self._changes and stated.broker == broker:
            return True
        for key, topic_id, leader, epoch in stated.leaders:
            known = peek(key)
            if known is None or not known.is_told_again(topic_id, leader, epoch, broker):
                return False
        stated.stood_at, stated.broker = self._changes, broker
        return True

    def repeat(self, info: ConnectionInfo, stated: Stated, evidence: Evidence) -> None:
        """Mark them as used. The connection may name its cluster for the first time."""
        if stated.cluster is not None:
            self._named_first(info, stated.cluster, evidence)
        self.partitions.use_all(map(_key_of, stated.leaders))

    def _learn(
        self, view: ExchangeView, report: _Report, key: PartitionKey, known: Leadership | None
    ) -> list[Fact]:
        now = report.leader, report.epoch
        self._changes += 1
        if known is None:
            self.partitions.put(key, self._new(view, report))
            return [_fact(LeaderFact.LEARNED, key, view, report, None, now, None)]
        if report.topic_id is not None and known.topic_id not in (None, report.topic_id):
            old = self.partitions.put(key, self._new(view, report)) and known
            return [_fact(LeaderFact.RECREATED, key, view, report, (old.leader, old.epoch), now, old.by)]
        known.topic_id = known.topic_id or report.topic_id
        fact = _compare(key, view, report, known)
        broker = view.info.broker_address
        if broker in known.by_broker or len(known.by_broker) < BROKERS_KEPT:
            known.by_broker[broker] = max(report.epoch, known.by_broker.get(broker, UNKNOWN_EPOCH))
        return [] if fact is None else [fact]

    def _new(self, view: ExchangeView, report: _Report) -> Leadership:
        made = Leadership(report.leader, report.epoch, report.topic_id, view.evidence)
        made.by_broker[view.info.broker_address] = report.epoch
        return made


def _compare(key: PartitionKey, view: ExchangeView, report: _Report, known: Leadership) -> Fact | None:
    before, now = (known.leader, known.epoch), (report.leader, report.epoch)
    earlier = known.by
    if report.epoch > known.epoch:
        known.leader, known.epoch, known.by = report.leader, report.epoch, view.evidence
        known.changes += 1
        return _fact(LeaderFact.CHANGED, key, view, report, before, now, earlier)
    if report.epoch < known.epoch:
        same = report.epoch < known.by_broker.get(view.info.broker_address, UNKNOWN_EPOCH)
        kind = LeaderFact.WENT_BACK if same else LeaderFact.STALE
        return _fact(kind, key, view, report, before, now, earlier, sure=same)
    if report.leader != known.leader and min(report.leader, known.leader) >= 0:  # -1: no leader just now
        sure = report.epoch == known.by_broker.get(view.info.broker_address)  # not another cluster's topic
        return _fact(LeaderFact.TWO_LEADERS, key, view, report, before, now, earlier, sure=sure)
    known.leader = max(known.leader, report.leader)
    return None


def _cluster_of(view: ExchangeView) -> str | None:
    """Return the cluster id of a response, or None if the response has none, a null id or an error."""
    answer = view.response
    if view.key not in _WITH_CLUSTER or getattr(answer, "error_code", 0) != 0:
        return None
    cluster = getattr(answer, "cluster_id", None)
    return None if cluster is None else str(cluster)


def _fact(
    kind: LeaderFact, key: PartitionKey, view: ExchangeView, report: _Report, expected: Any, seen: Any,
    earlier: Evidence | None, sure: bool = True,
) -> Fact:  # fmt: skip
    return Fact(kind, key, view.evidence, report.side, report.path, expected, seen, earlier, sure)


def _reports(view: ExchangeView) -> Iterator[_Report]:
    if view.key == apis.LEADER_AND_ISR:
        if not view.is_refused_whole:  # a broker refuses what a former controller says
            yield from _of_controller(view.request)
        return
    answer = view.response
    if answer is None or view.key == apis.DESCRIBE_CLUSTER:
        return
    yield from _of_current_leader(answer) if view.key in _WITH_LEADER else _of_metadata(answer)


@lru_cache(maxsize=4096)  # 368 pairs of key and version, and what hostile requests name
def _has_leaders(api_key: int, api_version: int) -> bool:
    """Return whether a response of this version has a current leader: most Produce and Fetch answers do
    not.
    """
    api = protocol_messages.api(api_key)
    return api is not None and _has_leader(api.response.root, api_version)


def _has_leader(of: Type, version: int) -> bool:
    if isinstance(of, Array):
        return _has_leader(of.element, version)
    if not isinstance(of, Struct):
        return False
    return any(
        version in field.versions and (field.name == "current_leader" or _has_leader(field.type, version))
        for field in of.fields
    )


def _of_metadata(answer: Any) -> Iterator[_Report]:
    for topic in answer.topics or ():
        topic_id = getattr(topic, "topic_id", None) or None
        topic_id = None if topic_id == NO_TOPIC_ID else topic_id
        name = topic.name if topic.name is not None else topic_id
        if topic.error_code or name is None:
            continue
        for row in topic.partitions or ():
            epoch = getattr(row, "leader_epoch", UNKNOWN_EPOCH)
            yield _Report(name, topic_id, row.partition_index, row.leader_id, epoch, "response", "topics")


def _of_current_leader(answer: Any) -> Iterator[_Report]:
    """Yield the `current_leader` of Produce, Fetch and ShareFetch answers: brokers send it with an error."""
    for topic in answer.responses or ():
        name = _name(topic)
        for row in getattr(topic, "partition_responses", None) or getattr(topic, "partitions", None) or ():
            leader = getattr(row, "current_leader", None)
            if leader is None:
                continue
            number = row.index if hasattr(row, "index") else row.partition_index
            yield _Report(
                name, None, number, leader.leader_id, leader.leader_epoch, "response",
                "responses.partitions.current_leader",
            )  # fmt: skip


def _of_controller(request: Any) -> Iterator[_Report]:
    if request is None:
        return
    for row in getattr(request, "ungrouped_partition_states", None) or ():
        yield _state(row.topic_name, None, row)
    for topic in getattr(request, "topic_states", None) or ():
        topic_id = getattr(topic, "topic_id", None)
        for row in topic.partition_states or ():
            yield _state(topic.topic_name, None if topic_id == NO_TOPIC_ID else topic_id, row)


def _state(name: str, topic_id: bytes | None, row: Any) -> _Report:
    # -2 in place of an epoch says that the topic is being deleted (kafka.api.LeaderAndIsr of Kafka 2.8)
    return _Report(
        name, topic_id, row.partition_index, row.leader, row.leader_epoch, "request", "topic_states"
    )


def _name(topic: Any) -> str | bytes:
    for field in ("topic_id", "topic", "name"):
        if hasattr(topic, field):
            name: str | bytes = getattr(topic, field)
            return name
    return ""
