"""The ends of partitions, as responses confirm them to producers."""

from __future__ import annotations

from kdissect.causes.evidence.gathering import Gathering
from kdissect.stats.by_producer.written_offsets import Written

PartitionOf = tuple[str, str, int]
"""Scope of a cluster, name of a topic, partition."""


def written_ends(gathering: Gathering) -> dict[PartitionOf, Written]:
    """Return how far each partition is written, with the time of the response that confirms it.

    Without topics that were created again: the offsets of the former topic say nothing about the later one.
    """
    traffic = gathering.producers
    found: dict[PartitionOf, Written] = {}

    def add(scope: str, topic: str | bytes, partition: int, written: Written) -> None:
        name = traffic.topic_text(scope, topic)
        key = scope, name, partition
        known = found.get(key)
        is_later = known is None or written.end > known.end
        if is_later and not gathering.topics.is_created_again(scope, name):
            found[key] = written

    for (scope, topic, partition), written in traffic.written.all():
        add(scope, topic, partition, written)
    for (scope, _), producer in traffic.history.producers.producers.items():
        for (topic, partition), sequence in producer.partitions.items():
            taken = sequence.last_taken
            if taken is not None and sequence.next_offset:
                add(scope, topic, partition, Written(sequence.next_offset, taken.answered_ns))
    return found
