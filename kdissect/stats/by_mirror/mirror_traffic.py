"""Finds topics and their copies in all exchanges, and compares their records.

A record is seen in a Produce request, if the response has its offset, or in a Fetch response. It counts once,
when it is first seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from kdissect.decoders.records.reader import iter_records
from kdissect.engine.records.assigned_offsets import AssignedOffsets, LogOffsets
from kdissect.engine.records.record_rows import record_topic
from kdissect.engine.records.record_sets import RecordSet, record_sets
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.record_batch import Record, RecordBatch, RecordFault
from kdissect.schema.logs import is_own_log
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.sketches.offset_runs import OffsetRuns
from kdissect.stats.by_mirror.checkpoints import SUFFIX, Checkpoint, checkpoint_of
from kdissect.stats.by_mirror.mirror_link import MirrorLink, Room, Sighting
from kdissect.stats.transfers import topic_key

MOST_TOPICS = 10_000
MOST_EARLY = 200_000
"""Records that wait for links that are found later, about 150 bytes each."""
MOST_CHECKPOINTS = 10_000
_DIRECTIONS = frozenset({"produce", "fetch", "share_fetch"})


class Topic(NamedTuple):
    """A topic of a cluster. `scope` distinguishes clusters and `identity` topics of one name
    (`session.identities`).
    """

    scope: str
    name: str
    identity: str


class _Side:
    """A topic, as far as it was seen."""

    __slots__ = ("early", "info", "partitions", "records", "source_of", "target_of")

    def __init__(self, info: ConnectionInfo) -> None:
        self.info = info
        self.partitions: dict[int, OffsetRuns] = {}
        self.records = 0
        self.early: list[Sighting] | None = []
        """Its records, for links that are found later; None once there were too many."""
        self.source_of: list[MirrorLink] = []
        self.target_of: list[MirrorLink] = []

    def add(self, sighting: Sighting) -> None:
        self.records += 1
        for link in self.source_of:
            link.add_source(sighting)
        for link in self.target_of:
            link.add_target(sighting)


class Link(NamedTuple):
    """A topic, its copy and their comparison. `records` of both that were seen."""

    source: Topic
    target: Topic
    comparison: MirrorLink
    source_cluster: str | None
    target_cluster: str | None
    source_records: int
    target_records: int
    partitions: int


class MirrorTraffic:
    """Collector. Pass every exchange to `add`, then take `links`.

    `renamed` are names of copies by the name of their source, `same_names` links topics of one name in two
    clusters. Other copies have the name of their source after a prefix without a dot, and a dot, in another
    cluster (DefaultReplicationPolicy of MirrorMaker 2). `with_times`: equal records have equal timestamps.
    `sources` are ids of clusters whose topics are copied, if not all. `wants` chooses topics of the source.
    """

    def __init__(
        self,
        names: TopicNames,
        renamed: Mapping[str, Collection[str]],
        same_names: bool = False,
        sources: Collection[str] = (),
        wants: Callable[[str], object] | None = None,
        with_times: bool = True,
        room: Room | None = None,
    ) -> None:
        self._names = names
        self._renamed = renamed
        self._same_names = same_names
        self._sources = frozenset(sources)
        self._wants = wants
        self._with_times = with_times
        self._room = room or Room()
        self._sides: dict[Topic, _Side] = {}
        self._by_name: defaultdict[str, list[Topic]] = defaultdict(list)
        """Topics by each of their `_related` names."""
        self._links: dict[tuple[Topic, Topic], MirrorLink] = {}
        self._assigned = AssignedOffsets()
        self._early = 0
        self.checkpoints: dict[tuple[str, Checkpoint], None] = {}
        """Checkpoints with the scope of the cluster that has them."""
        self.unplaced = self.unnamed = self.unreadable = self.topics_left_out = self.early_left_out = 0
        """Counts of written records whose offset no response has, records fields without the name of their
        topic, faults in batches, records fields of further topics, and records before the first of a copy.
        """

    def add(self, exchange: Exchange) -> None:
        """Take the records of an exchange."""
        if exchange.connection.same_as is not None:
            return
        for records in record_sets(exchange):
            if records.direction in _DIRECTIONS:
                self._add_records(records)

    def links(self) -> Iterator[Link]:
        """Yield all topics with a copy."""
        for (source, target), comparison in sorted(self._links.items(), key=lambda item: item[0]):
            one, other = self._sides[source], self._sides[target]
            yield Link(
                source, target, comparison, one.info.cluster_id, other.info.cluster_id, one.records,
                other.records, len(one.partitions),
            )  # fmt: skip

    def clusters(self) -> set[str]:
        """Return the ids of the clusters that were seen."""
        return {side.info.cluster_id for side in self._sides.values() if side.info.cluster_id is not None}

    def link_to(self, scope: str, topic: str) -> MirrorLink | None:
        """Return the comparison of a copy with its source, if there is only one."""
        found = [link for (_, target), link in self._links.items() if target[:2] == (scope, topic)]
        return found[0] if len(found) == 1 else None

    def _add_records(self, records: RecordSet) -> None:
        info, field = records.exchange.connection, records.records_field
        name = record_topic(records, self._names.of_records)
        if name is None or field.partition is None:
            self.unnamed += 1
            return
        if is_own_log(name):
            return
        identity = topic_key(self._names, info, name if field.topic_id is None else field.topic_id)
        side = self._side(Topic(info.scope, name, identity), info)
        if side is None:
            self.topics_left_out += 1
            return
        runs = side.partitions.get(field.partition)
        if runs is None:
            runs = side.partitions[field.partition] = OffsetRuns()
        offsets = self._assigned.of(records)
        for batch in records.found.batches:
            self._add_batch(records, batch, side, runs, offsets, name)

    def _add_batch(
        self,
        records: RecordSet,
        batch: RecordBatch,
        side: _Side,
        runs: OffsetRuns,
        offsets: LogOffsets | None,
        name: str,
    ) -> None:
        if offsets is None and batch.count is not None and runs.covers(batch.base_offset, batch.last_offset):
            return
        partition, time_ns = records.records_field.partition or 0, records.frame.time_ns
        faults: list[RecordFault] = []
        number, first, last = -1, None, -1
        for number, record in enumerate(iter_records(batch, faults)):
            offset = record.offset if offsets is None else offsets.of(batch, number, record)
            if offset is None:
                self.unplaced += 1
                continue
            first, last = offset if first is None else first, offset
            if batch.is_control or runs.covers(offset, offset):
                continue
            time = record.timestamp if self._with_times else None
            digest = hash((record.key, record.value, record.headers, time))
            sighting = Sighting(partition, offset, digest, time_ns, batch.is_transactional)
            self._add_sighting(side, sighting)
            if name.endswith(SUFFIX):
                self._add_checkpoint(side.info, record)
            if faults:
                runs.add(offset, offset)
        self.unreadable += len(faults)
        if first is not None and not faults:
            # Compaction leaves holes in a batch, which nobody can see.
            whole = offsets is None and batch.count is not None
            runs.add(min(first, batch.base_offset) if whole else first, batch.last_offset if whole else last)
        if offsets is not None:
            offsets.skip(batch, number + 1, not faults)

    def _add_sighting(self, side: _Side, sighting: Sighting) -> None:
        side.add(sighting)
        if side.early is None:
            return
        side.early.append(sighting)
        self._early += 1
        if self._early > MOST_EARLY:
            longest = max(self._sides.values(), key=lambda one: len(one.early or ()))
            self._early -= len(longest.early or ())
            if not (longest.source_of or longest.target_of):
                self.early_left_out += len(longest.early or ())
            longest.early = None

    def _add_checkpoint(self, info: ConnectionInfo, record: Record) -> None:
        found = checkpoint_of(record.key, record.value)
        if found is not None and len(self.checkpoints) < MOST_CHECKPOINTS:
            self.checkpoints[info.scope, found] = None

    def _side(self, topic: Topic, info: ConnectionInfo) -> _Side | None:
        found = self._sides.get(topic)
        if found is None:
            if len(self._sides) >= MOST_TOPICS:
                return None
            found = self._sides[topic] = _Side(info)
            names = self._related(topic.name)
            for other in dict.fromkeys(chain.from_iterable(map(self._by_name.__getitem__, names))):
                if self._is_copy(other, topic):
                    self._link(other, topic)
                elif self._is_copy(topic, other):
                    self._link(topic, other)
            for name in names:
                self._by_name[name].append(topic)
        return found

    def _related(self, name: str) -> set[str]:
        """Return names of which a topic and its copy have one in common."""
        return {name, name.partition(".")[2] or name, *self._renamed.get(name, ())}

    def _is_copy(self, source: Topic, target: Topic) -> bool:
        if self._wants is not None and not self._wants(source.name):
            return False
        if self._sources and self._sides[source].info.cluster_id not in self._sources:
            return False
        renamed = self._renamed.get(source.name)
        if renamed is not None:
            return target.name in renamed and (source.scope != target.scope or source.name != target.name)
        if source.scope == target.scope:
            return False
        if source.name == target.name:
            return self._same_names
        prefix, dot, rest = target.name.partition(".")
        return bool(prefix and dot) and rest == source.name

    def _link(self, source: Topic, target: Topic) -> None:
        one, other = self._sides[source], self._sides[target]
        link = MirrorLink(self._room, one.partitions, other.partitions)
        self._links[source, target] = link
        for side, links, add in (
            (one, one.source_of, link.add_source),
            (other, other.target_of, link.add_target),
        ):
            for sighting in side.early or ():
                add(sighting)
            links.append(link)
