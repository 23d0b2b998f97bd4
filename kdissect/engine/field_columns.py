"""Records fields as columns over one buffer. Needs numpy (extra `arrow`)."""

from collections.abc import Iterable, Sequence

import numpy as np

from kdissect.decoders.records.lockstep import Ints, padded
from kdissect.engine.records.held_fields import HeldFields
from kdissect.engine.records.record_rows import TopicNames, record_topic
from kdissect.engine.records.record_sets import RecordSet
from kdissect.session.info import ConnectionInfo


class FieldColumns:
    """Row i is a records field: `data[start[i]:end[i]]`, of the exchange and frame number `owner[i]`.

    `exchanges` and `frames` are as in `HeldFields`; `topic_ids`, `partitions` and `positions` as in
    `Section`; `topics` are names, also of topic ids.
    """

    __slots__ = (
        "_held", "data", "end", "exchanges", "frames", "owner", "partitions", "positions", "start",
        "topic_ids", "topics",
    )  # fmt: skip

    topic_ids: Sequence[bytes | None]
    partitions: Sequence[int | None]
    positions: Sequence[int | None]

    def __init__(self, held: HeldFields, topic_name: TopicNames | None) -> None:
        self._held = held
        self.exchanges, self.frames = held.exchanges, held.frames
        columns = zip(*held.sections, strict=True) if held.sections else ((),) * 7
        topics, self.topic_ids, self.partitions, self.positions, starts, ends, _ = columns
        self.owner: Ints = np.repeat(np.arange(len(held.counts)), held.counts)
        self._place(integers(starts), integers(ends))
        self.topics: list[str | None] = list(topics)
        if topic_name is not None and None in self.topics:
            self._name(topic_name)

    def record_set(self, index: int) -> RecordSet:
        """One field as an object."""
        return self._held.record_set(index, int(self.owner[index]))

    def _place(self, starts: Ints, ends: Ints) -> None:
        # Frames whole: to cut the fields out would make an object for each.
        parts = [frame.data for frame in self.frames]
        self.data = padded(parts)
        sizes = integers([len(part) for part in parts])
        before = (np.cumsum(sizes) - sizes)[self.owner]
        self.start: Ints = before + starts
        self.end: Ints = np.maximum(before + np.minimum(ends, sizes[self.owner]), self.start)

    def _name(self, topic_name: TopicNames) -> None:
        """Names of topic ids, asked for once for each connection."""
        known: dict[tuple[ConnectionInfo, bytes | None], str | None] = {}
        owners = self.owner.tolist()
        for index, topic in enumerate(self.topics):
            if topic is not None:
                continue
            key = (self.exchanges[owners[index]].connection, self.topic_ids[index])
            if key not in known:
                known[key] = record_topic(self.record_set(index), topic_name)
            self.topics[index] = known[key]


def integers(values: Iterable[int]) -> Ints:
    """Integers as a column."""
    return np.fromiter(values, np.int64)
