"""Metrics of groups against what `kdissect groups` tells, and what only a scraper needs: counts that never
fall, and sums that hold under any bound.
"""

import json
from collections import Counter
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.metrics.group_metrics import GroupMetrics
from kdissect.metrics.meter import Meter
from kdissect.session.exchange import Exchange
from tests.metrics.test_against_inspect import metered
from tests.metrics.test_metered_blocks import NAMES, in_blocks, one_by_one
from tests.metrics.test_metered_blocks import metered as metered_by
from tests.support.console import CAPTURES

GROUPS = [
    "kafka44_java_groups.pcapng",
    "kafka44_java_killed.pcapng",
    "kafka44_franz_transactions.pcapng",
    "tansu_rdk216_txn.pcap",
]


def told(capfd: pytest.CaptureFixture[str], name: str) -> list[dict[str, Any]]:
    assert main(["groups", str(CAPTURES / name), "--format", "json"]) == 0
    groups: list[dict[str, Any]] = json.loads(capfd.readouterr().out)["groups"]
    assert len({group["group"] for group in groups}) == len(groups)  # none was converted
    return groups


@pytest.mark.parametrize("name", GROUPS)
def test_groups_are_as_the_command_tells_them(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    found, groups = metered(name), told(capfd, name)
    assert found["kdissect_group_state"] == {(group["group"], group["state"]): 1 for group in groups}
    assert found["kdissect_group_rebalances_total"] == {
        (group["group"],): group["rebalance_count"] for group in groups
    }
    there = {(group["group"],): sum(m["gone"] is None for m in group["members"]) for group in groups}
    assert found["kdissect_group_members"] == there
    for field in ("lag", "committed_lag"):
        lags = {
            (group["group"], str(row["partition"]), row["topic"]): row[field]
            for group in groups
            for row in group["partitions"]
            if row[field] is not None
        }
        assert found.get(f"kdissect_group_{field}", {}) == lags


def test_there_is_a_lag_to_tell() -> None:
    lags = metered("kafka44_franz_transactions.pcapng")["kdissect_group_committed_lag"]
    assert lags["mover", "0", "ledger"] == 5


@pytest.mark.parametrize("name", [*GROUPS, NAMES[-1]])
def test_blocks_tell_the_same(name: str) -> None:
    assert metered_by(name, 1000, in_blocks) == metered_by(name, 1000, one_by_one)


def test_what_stands_under_other_is_added_up() -> None:
    whole, bounded = metered(GROUPS[0]), metered(GROUPS[0], 1)
    assert set(bounded["kdissect_group_members"]) == {("cooperative",), ("other",)}
    for part in ("state", "members", "rebalances_total", "lag", "committed_lag"):
        name = f"kdissect_group_{part}"
        assert sum(bounded[name].values()) == sum(whole[name].values())
    states = Counter(state for _, state in whole["kdissect_group_state"])
    in_other = {state: n for (group, state), n in bounded["kdissect_group_state"].items() if group == "other"}
    assert sum(in_other.values()) == states.total() - 1


def test_rebalances_never_fall_where_a_group_is_forgotten() -> None:
    dissection = Dissection(str(CAPTURES / GROUPS[0]))
    metrics = GroupMetrics(dissection.topics)
    for event in dissection:
        if isinstance(event, Exchange):
            metrics.add(event)
    before = metrics.counts().rebalances
    assert set(before.values()) == {3}
    metrics._traffic = GroupMetrics(dissection.topics)._traffic
    assert metrics.counts().rebalances == before
    for event in Dissection(str(CAPTURES / GROUPS[0])):
        if isinstance(event, Exchange):
            metrics.add(event)
    after = metrics.counts().rebalances
    assert all(after[labels] >= count for labels, count in before.items())


def test_a_scrape_in_the_middle_sees_a_rebalance() -> None:
    dissection = Dissection(str(CAPTURES / GROUPS[0]))
    meter = Meter(dissection.topics)
    seen = set()
    for event in dissection:
        meter.take([event])
        seen |= {state for _, state in meter.snapshot().groups.states}
    assert {"rebalancing", "syncing", "stable", "empty"} <= seen
