"""Groups for scrapes: state, members, rebalances and lag, as `kdissect groups` reports them.

Rules:
- A number of rebalances never falls, also if a group was forgotten and appears again.
- The values under `other` are sums: members, lags, and the number of groups in a state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.metrics.label_sets import MAX_LABEL_SETS, Labels, LabelSets, label_value
from kdissect.metrics.tallies import Count
from kdissect.model.native import native
from kdissect.session.exchange import Exchange
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic

# groups whose rebalances are counted, of 200 bytes: ten times the number that metrics show
_COUNTED_KEPT = 20_000


class GroupCounts(NamedTuple):
    """Counts of groups: `states` by group and state, `members` and `rebalances` by group. Both lags (records)
    are by group, topic and partition, if they are known.
    """

    states: Mapping[Labels, int]
    members: Mapping[Labels, int]
    rebalances: Mapping[Labels, int]
    lag: Mapping[Labels, int]
    committed_lag: Mapping[Labels, int]


class GroupMetrics:
    """Metrics of groups, which take exchanges as `GroupTraffic` does. `limit` bounds groups, and partitions
    of groups.
    """

    def __init__(self, names: TopicNames, limit: int = MAX_LABEL_SETS) -> None:
        self._traffic = GroupTraffic(names)
        self._rebalances = LabelSets(Count, limit)
        self._partitions = LabelSets(Count, limit)
        """Partitions that have labels of their own."""
        self._counted: Table[tuple[str, str | None], int] = Table(_COUNTED_KEPT)

    def add(self, exchange: Exchange) -> None:
        """Take the next exchange. One that another capture set has too counts there."""
        if exchange.connection.same_as is None:
            self._traffic.add(exchange)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take exchanges of a block from `start`. Return the next one that is for `add`."""
        return self._traffic.count_block(block, start)

    def counts(self) -> GroupCounts:
        """Return all groups as they are now."""
        kinds: dict[Labels, dict[str, str]] = {}
        members = Counter[Labels]()
        lags: tuple[Counter[Labels], Counter[Labels]] = Counter(), Counter()
        for facts in group_facts(self._traffic):
            labels = self._rebalances.labels_of((facts["group"],))
            self._count_rebalances(labels, facts)
            states = kinds.setdefault(labels, {})
            if facts["group"] not in states:  # what a converted group has in common is in both its rows
                members[labels] += sum(member["gone"] is None for member in facts["members"])
                self._add_lags(facts, lags)
            states[facts["group"]] = facts["state"]  # the newer kind comes last
        states_of = Counter(
            (*labels, label_value(state)) for labels, states in kinds.items() for state in states.values()
        )
        rebalances = {labels: count.value for labels, count in self._rebalances.sets.items()}
        return GroupCounts(states_of, members, rebalances, *lags)

    def _count_rebalances(self, labels: Labels, facts: dict[str, Any]) -> None:
        key, now = (facts["group"], facts["kind"]), facts["rebalance_count"]
        before = self._counted.get(key) or 0
        self._rebalances.sets[labels].value += now if now < before else now - before
        self._counted.put(key, now)

    def _add_lags(self, facts: dict[str, Any], lags: tuple[Counter[Labels], Counter[Labels]]) -> None:
        for row in facts["partitions"]:
            labels = self._partitions.labels_of((facts["group"], row["topic"], str(row["partition"])))
            for name, into in zip(("lag", "committed_lag"), lags, strict=True):
                if row[name] is not None:
                    into[labels] += row[name]
