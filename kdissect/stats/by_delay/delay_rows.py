"""The facts of `DelayTraffic` as plain values, for JSON and tables (docs/statistics.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kdissect.sketches.distribution import Distribution
from kdissect.stats.by_delay.delay_state import ReaderRow, Sum
from kdissect.stats.by_delay.delay_traffic import Clock, DelayTraffic, Producer

Facts = dict[str, Any]
Wanted = Callable[[str], object] | None
DIMENSIONS = ("topic", "partition", "group", "client_id")
BY = ("topic", "partition", "group")
"""The default dimensions."""
_STAGES = ("linger", "broker", "poll", "commit")


class _Row:
    """Readers that count together."""

    def __init__(self) -> None:
        self.delay, self.age, self.committed = Distribution(), Distribution(), Distribution()
        self.stages = dict.fromkeys(_STAGES, (0, 0, 0))
        self.unmatched = self.aborted = self.again = 0
        self.lag: int | None = None
        self.lag_ns: int | None = None
        self.is_lag_known = True

    def add(self, reader: ReaderRow, is_one_group: bool) -> None:
        """Count a reader. The commits of a client that acts for several groups may be for another one."""
        self.unmatched += reader.unmatched
        self.aborted += reader.aborted
        self.again += reader.again
        parts = [(self.delay, reader.delay), (self.age, reader.age)]
        if is_one_group:
            parts.append((self.committed, reader.committed))
        for distribution, row in parts:
            if row is not None:
                distribution.add_bins(*row)
        for name in _STAGES if is_one_group else _STAGES[:-1]:
            self.stages[name] = _both(self.stages[name], getattr(reader, name))
        if reader.lag is not None:
            self.lag = (self.lag or 0) + reader.lag
            self.is_lag_known &= reader.lag_ns is not None
            self.lag_ns = max(self.lag_ns or 0, reader.lag_ns or 0)

    def facts(self) -> Facts:
        """Return what was counted."""
        return {
            "records": self.delay.count,
            "delay_ns": self.delay.facts(),
            **{f"{name}_ns": _stage(self.stages[name]) for name in _STAGES},
            "age_ns": self.age.facts(),
            "committed_ns": self.committed.facts(),
            "lag": self.lag,
            "lag_ns": self.lag_ns if self.is_lag_known else None,
            "again": self.again,
            "aborted": self.aborted,
            "unmatched": self.unmatched,
        }


def _both(one: Sum, other: Sum) -> Sum:
    return one[0] + other[0], one[1] + other[1], max(one[2], other[2])


def _stage(found: Sum) -> Facts | None:
    count, total, longest = found
    return {"records": count, "mean": total // count, "max": longest} if count else None


def delay_facts(traffic: DelayTraffic, by: Sequence[str], wanted: Wanted, groups: Wanted) -> Facts:
    """Return the delays of the `wanted` topics and groups by some dimensions, and the clocks of producers."""
    rows: dict[tuple[Any, ...], _Row] = {}
    for reader in traffic.readers():
        (identity, cluster), name = traffic.name_of(reader.topic)
        acting = traffic.groups_of(reader.client)
        topic = name or identity
        if (wanted is not None and not wanted(topic)) or not _is_of(acting, groups):
            continue
        values = {
            "topic": topic,
            "partition": reader.partition,
            "group": ", ".join(acting) or None,
            "client_id": traffic.clients[reader.client][2],
        }
        key = cluster, *(values[dimension] for dimension in by)
        rows.setdefault(key, _Row()).add(reader, len(acting) < 2)
    return {
        "by": list(by),
        "delays": [
            ({"cluster": key[0]} if key[0] else {}) | dict(zip(by, key[1:], strict=True)) | row.facts()
            for key, row in sorted(rows.items(), key=lambda item: _order(item[0]))
        ],
        "clocks": [
            _clock(traffic, *row)
            for row in sorted(traffic.clocks().items(), key=lambda row: _order((row[0][0], *row[0][1])))
        ],
        "unplaced": traffic.unplaced,
        "batches_left_out": traffic.left,
        "forgotten": traffic.forgotten,
    }


def _is_of(acting: Sequence[str], groups: Wanted) -> bool:
    return groups is None or any(groups(group) for group in acting)


def _order(key: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    return [(value is None, "" if value is None else value) for value in key]


def _clock(traffic: DelayTraffic, producer: Producer, clock: Clock) -> Facts:
    scope, client = producer
    cluster = traffic.cluster_of(scope)
    return {
        **({"cluster": cluster} if cluster else {}),
        **client.facts(),
        "records": clock.records,
        "without_time": clock.without,
        "too_old": clock.old,
        "after_produce": clock.early,
        "ahead_least_ns": clock.ahead,
        "behind_most_ns": clock.behind,
    }
