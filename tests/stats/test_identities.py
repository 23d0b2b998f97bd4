"""Clusters and topics that have names in common are kept apart: what clients said is the truth."""

import json
from collections import Counter
from typing import Any

import pytest

from tests.support.console import CAPTURES, run

NAME = "kafka44_two_clusters"
CAPTURE = CAPTURES / f"{NAME}.pcapng"
TRUTH = json.loads((CAPTURES / f"{NAME}.truth.json").read_text())
CLUSTERS = {
    each["client_id"].removesuffix("-admin"): each["cluster_id"]
    for each in TRUTH["events"]
    if each["what"] == "cluster"
}


def facts(command: str, *options: object, path: object = CAPTURE) -> Any:
    ran = run(command, "--format", "json", *options, path)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def written() -> dict[str, int]:
    """Records of `orders` by cluster, as the writers said."""
    sent = Counter(each["client_id"] for each in TRUTH["records"]["sent"] if each["topic"] == "orders")
    return {cluster: sent[f"{name}-writer"] for name, cluster in CLUSTERS.items()}


def test_clients_named_two_clusters() -> None:
    assert len(set(CLUSTERS.values())) == 2
    assert sorted(written().values()) == [5, 40]


def test_a_topic_is_one_topic_for_each_cluster() -> None:
    topics = [row for row in facts("topics")["topics"] if row["topic"] == "orders"]
    for use in ("written", "read"):
        assert {row["cluster"]: row[use]["records"] for row in topics} == written()


def test_a_group_is_one_group_for_each_cluster() -> None:
    groups = [row for row in facts("groups")["groups"] if row["group"] == "billing"]
    assert [row["cluster"] for row in groups] == sorted(CLUSTERS.values())
    assert {row["cluster"]: row["partitions"][0]["committed"] for row in groups} == written()
    assert [(len(row["members"]), row["rebalance_count"]) for row in groups] == [(1, 1)] * 2
    assert len({row["coordinator"] for row in groups}) == 2


def test_a_transactional_id_is_one_for_each_cluster() -> None:
    ids = [row for row in facts("producers")["transactional_ids"] if row["transactional_id"] == "payments"]
    assert sorted(row["cluster"] for row in ids) == sorted(CLUSTERS.values())
    said = Counter(each["outcome"] for each in TRUTH["transactions"])
    assert sum((Counter(row["outcomes"]) for row in ids), Counter()) == said
    assert all("taken" not in row["event_counts"] for row in ids)


def test_a_topic_that_is_created_again_is_another_topic() -> None:
    topics = [row for row in facts("topics")["topics"] if row["topic"] == "renewed"]
    assert [row["written"]["records"] for row in topics] == [8, 3]
    assert [row["read"]["records"] for row in topics] == [8, 3]
    assert len({row["topic_id"] for row in topics}) == 2


def test_commits_and_positions_do_not_cross() -> None:
    (group,) = (row for row in facts("groups")["groups"] if row["group"] == "followers")
    (partition,) = group["partitions"]
    assert (partition["committed"], partition["high_watermark"], partition["lag"]) == (3, 3, 0)
    found = facts("offsets")
    assert not found["positions"]
    assert not found["commits"]


def test_nothing_is_wrong_with_either() -> None:
    assert facts("why")["causes"] == []
    assert facts("check")["findings"] == []


@pytest.mark.parametrize("command", ["topics", "groups", "producers"])
def test_a_table_names_the_cluster(command: str) -> None:
    ran = run(command, CAPTURE)
    assert all(cluster in ran.out for cluster in CLUSTERS.values())


@pytest.mark.parametrize("command", ["topics", "groups", "producers"])
def test_one_cluster_is_not_named(command: str) -> None:
    path = CAPTURES / "kafka44_java_positions.pcapng"
    assert "cluster" not in run(command, path).out.split("\n")[0]
    for rows in facts(command, path=path).values():
        assert not isinstance(rows, list) or all("cluster" not in row for row in rows)
