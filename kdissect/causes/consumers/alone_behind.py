"""Readers of one partition that alone of their group fall behind."""

from __future__ import annotations

from kdissect.causes.consumers.partition_ends import Reading, readings
from kdissect.causes.evidence.evidence import Evidence

_TIMES = 10  # as many records as wait in all other partitions
_WAITING = 50  # records: fewer are on their way

Held = dict[str, dict[str, dict[int, Reading]]]
"""The last member that held each partition, by topic, group and partition."""


def held_partitions(seen: Evidence) -> Held:
    """Return the last member that held each partition, by topic, group and partition."""
    found: dict[str, dict[str, dict[int, Reading]]] = {}
    for one in (*readings(seen, has_left=True), *readings(seen)):
        found.setdefault(one.topic, {}).setdefault(one.group, {})[one.partition] = one
    return found


def _is_alone_behind(held: dict[int, Reading], hot: int) -> bool:
    """Return whether of a group with several members only the reader of a partition falls behind."""
    others = sum(one.undone for number, one in held.items() if number != hot)
    return len({(one.client_id, one.address) for one in held.values()}) > 1 and (
        held[hot].undone >= max(_WAITING, _TIMES * others)
    )


def alone_behind(held: Held, topic: str, partition: int) -> list[Reading]:
    """Return the readers of a partition that alone of their group fall behind."""
    groups = held.get(topic, {}).values()
    return [one[partition] for one in groups if partition in one and _is_alone_behind(one, partition)]
