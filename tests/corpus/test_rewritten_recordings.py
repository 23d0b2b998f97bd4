"""Recordings with other addresses, times or bodies: what follows from the change is the only difference."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.console import CAPTURES, run
from tests.support.packets.rewritten import (
    as_ipv6,
    change_bodies,
    connections_of,
    follow_without_id,
    follow_without_ids,
    forget_clusters,
    move,
    one_after_the_other,
    write,
)

TWO = CAPTURES / "kafka44_two_clusters.pcapng"
FIRST, SECOND = 26012, 26062
"""Ports of the brokers, one of each cluster."""
CLUSTERS = {"a2Rpc3NlY3QtY29ycHVzIQ": FIRST, "a2Rpc3NlY3Qtc2Vjb25kIQ": SECOND}
COMMANDS = ("topics", "groups", "offsets", "changes", "producers", "why", "check")
Rows = list[tuple[Any, ...]]


def facts(path: Path, command: str, *options: str) -> Any:
    ran = run(command, "--format", "json", *options, path)
    assert ran.code in (0, 1, 4), ran.err
    return json.loads(ran.out)


def unknown(port: int) -> str:
    return f"unknown (127.0.0.1:{port})"


def group_rows(path: Path, clusters: dict[str, str]) -> Rows:
    """Return groups with the cluster of each id, or with a text for unknown ids."""
    return sorted(
        (
            clusters.get(row["cluster"], row["cluster"]), row["group"], row["rebalance_count"],
            len(row["members"]), str([(one["topic"], one["committed"]) for one in row["partitions"]]),
        )
        for row in facts(path, "groups")["groups"]
    )  # fmt: skip


def topic_rows(path: Path, clusters: dict[str, str]) -> Rows:
    return sorted(
        (clusters.get(row["cluster"], row["cluster"]), row["topic"], row["topic_id"],
         row["written"]["records"], row["read"]["records"])
        for row in facts(path, "topics")["topics"]
    )  # fmt: skip


UNKNOWN = {cluster: unknown(port) for cluster, port in CLUSTERS.items()}


@pytest.fixture(scope="module")
def two_without_ids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    connections = connections_of(TWO)
    change_bodies(connections, forget_clusters)
    return write(connections, tmp_path_factory.mktemp("rewritten") / "two.pcap")


def test_two_clusters_that_no_response_names(two_without_ids: Path) -> None:
    """Both have node 1, the same group, topic and transactional id: nothing is added up or compared."""
    assert group_rows(two_without_ids, {}) == group_rows(TWO, UNKNOWN)
    assert topic_rows(two_without_ids, {}) == topic_rows(TWO, UNKNOWN)
    offsets = facts(two_without_ids, "offsets")
    assert not any(offsets[table] for table in ("positions", "commits", "written_twice"))
    assert facts(two_without_ids, "why")["causes"] == []
    assert facts(two_without_ids, "check")["findings"] == []
    ids = Counter(row["cluster"] for row in facts(two_without_ids, "producers")["transactional_ids"])
    assert ids == {unknown(FIRST): 1, unknown(SECOND): 1}
    lines = run("connections", two_without_ids, "-e", "cluster,broker").out.splitlines()[1:]
    assert set(lines) == {f"{unknown(port)}\t127.0.0.1:{port}" for port in (FIRST, SECOND)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("nameless", CLUSTERS)
def test_one_of_two_clusters_that_no_response_names(nameless: str, tmp_path: Path) -> None:
    connections = connections_of(TWO)
    change_bodies([one for one in connections if one.ends[1][1] == CLUSTERS[nameless]], forget_clusters)
    path = write(connections, tmp_path / "one.pcap")
    named = {nameless: UNKNOWN[nameless]}
    assert group_rows(path, {}) == group_rows(TWO, named)
    assert topic_rows(path, {}) == topic_rows(TWO, named)
    assert facts(path, "why")["causes"] == []


def without_ids(path: Path, address: str) -> list[str]:
    """Return the output of commands, without what a connection's address changes."""
    ids: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        return f"<id {ids.setdefault(found[0], len(ids))}>"

    found = []
    for command in COMMANDS:
        text = json.dumps({**facts(path, command), "sha256": None}).replace(str(path), "")
        text = text.replace(f"[{address}]", "<host>").replace(address, "<host>")
        text = re.sub(r"[0-9a-f]{64}", "", text)
        found.append(re.sub(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])", number, text))
    return found


@pytest.mark.parametrize(
    "name",
    [
        "kafka44_two_clusters.pcapng",
        pytest.param("kafka44_misrouted.pcapng", marks=pytest.mark.exhaustive),
        pytest.param("kafka44_recreated.pcapng.gz", marks=pytest.mark.exhaustive),
        pytest.param("kafka44_kp3_groups.pcapng", marks=pytest.mark.exhaustive),
    ],
)
def test_ipv6_addresses_change_nothing_else(name: str, tmp_path: Path) -> None:
    before = connections_of(CAPTURES / name)
    after = connections_of(CAPTURES / name)
    move(after, as_ipv6)
    paths = write(before, tmp_path / "before.pcap"), write(after, tmp_path / "after.pcap")
    host, _ = as_ipv6(("127.0.0.1", 0))
    for old, new in zip(without_ids(paths[0], "127.0.0.1"), without_ids(paths[1], host), strict=True):
        assert old == new


def test_a_cluster_that_follows_another_one_at_its_address(tmp_path: Path) -> None:
    connections = connections_of(TWO)
    one_after_the_other(connections, FIRST, SECOND)
    path = write(connections, tmp_path / "moved.pcap")
    assert group_rows(path, {}) == group_rows(TWO, {})
    assert topic_rows(path, {}) == topic_rows(TWO, {})
    assert [row["did"] for row in facts(path, "changes")["changes"] if row["kind"] == "address"] == [
        "became another cluster's"
    ]
    assert facts(path, "why")["causes"] == []


def test_a_cluster_without_an_id_follows_one_that_has_an_id(tmp_path: Path) -> None:
    connections = connections_of(TWO)
    follow_without_id(connections, FIRST, SECOND)
    path = write(connections, tmp_path / "moved.pcap")
    first, second = CLUSTERS
    names = {second: f"unknown (127.0.0.1:{FIRST}, 2)"}
    assert group_rows(path, {}) == group_rows(TWO, names)
    assert topic_rows(path, {}) == topic_rows(TWO, names)
    assert [row["detail"] for row in facts(path, "changes")["changes"] if row["kind"] == "address"] == [
        f"from {first} to {names[second]}"
    ]
    assert facts(path, "why")["causes"] == []
    assert facts(path, "check")["findings"] == []


def test_an_old_client_of_a_cluster_with_an_id(tmp_path: Path) -> None:
    """Responses without an id that list the same node are of the same cluster."""
    connections = connections_of(TWO)
    writers = [one for one in connections if any(b"writer" in line.data for line in one.lines)]
    change_bodies(writers, forget_clusters)
    path = write(connections, tmp_path / "old.pcap")
    assert group_rows(path, {}) == group_rows(TWO, {})
    assert topic_rows(path, {}) == topic_rows(TWO, {})


def test_a_cluster_that_no_response_names_follows_another_one(tmp_path: Path) -> None:
    """Its broker has another node id at the same address. The clients stay: they connect again."""
    connections = connections_of(TWO)
    follow_without_ids(connections, FIRST, SECOND)
    path = write(connections, tmp_path / "moved.pcap")
    names = dict(zip(CLUSTERS, (unknown(FIRST), f"unknown (127.0.0.1:{FIRST}, 2)"), strict=True))
    assert group_rows(path, {}) == group_rows(TWO, names)
    assert topic_rows(path, {}) == topic_rows(TWO, names)
    offsets = facts(path, "offsets")
    assert not any(offsets[table] for table in ("positions", "commits", "written_twice"))
    assert facts(path, "why")["causes"] == []
    assert facts(path, "check")["findings"] == []
