"""Clusters and topics that have names in common are kept apart: what clients said is the truth."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.causes.evidence.cluster_mixups import ClusterMixups
from kdissect.history.history import History
from kdissect.history.producing.producers import ProducerFact
from kdissect.history.topics.topic_names import TopicNames
from kdissect.session import identities as identities_module
from kdissect.session.exchange import Exchange
from kdissect.session.identities import Identities, learn_identities, plain_name
from kdissect.session.info import ConnectionKind
from kdissect.stats.by_offset.offset_rows import offset_facts
from kdissect.stats.by_offset.offset_traffic import FORMER, OffsetTraffic
from kdissect.stats.by_topic import topic_traffic as topic_traffic_module
from kdissect.stats.by_topic.topic_rows import topic_facts
from kdissect.stats.by_topic.topic_traffic import TopicTraffic
from tests.history.cluster import ORDERS, Client
from tests.history.producing.test_producers import init, produce
from tests.history.talk import MS, Talk
from tests.stats.test_offsets import commit, fetch
from tests.support.console import CAPTURES, run
from tests.support.packets.pcaps import write_pcap

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
    """Return records of `orders` by cluster, as the writers said."""
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


METADATA, API_VERSIONS, TXN_OFFSET_COMMIT, END_TXN = 3, 18, 28, 26
DELETED: dict[str, Any] = {"throttle_time_ms": 0, "responses": [{"name": "t", "error_code": 0}]}
DELETE = 20, 3, {"topic_names": ["t"], "timeout_ms": 1}, DELETED
CLUSTER_A, CLUSTER_B = "cluster-a", "cluster-b"


def metadata(talk: Talk, cluster: str | None, brokers: tuple[str, ...] = (), topic_id: int = 0) -> Exchange:
    """Return a response that names a cluster, its brokers and, with an id, the topic `t`."""
    rows = [{"node_id": node, "host": host, "port": 9092, "rack": None} for node, host in enumerate(brokers)]
    topic = {"error_code": 0, "name": "t", "topic_id": bytes([topic_id] * 16), "is_internal": False,
             "partitions": [], "topic_authorized_operations": 0}  # fmt: skip
    answer = {"throttle_time_ms": 0, "brokers": rows, "cluster_id": cluster, "controller_id": 0,
              "topics": [topic] if topic_id else []}  # fmt: skip
    asked = {"topics": None, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
    return talk.ask(METADATA, 12, asked, answer)


def feed(traffic: OffsetTraffic, *exchanges: Exchange) -> None:
    """Have a traffic take exchanges as whoever completes them does."""
    for exchange in exchanges:
        learn_identities(exchange)
        traffic.add(exchange)


def talks(identities: Identities, *brokers: str) -> list[Talk]:
    found = [Talk(broker=broker) for broker in brokers]
    for talk in found:
        talk.info.identities = identities
    return found


def scopes(*said: Talk) -> list[str]:
    return [talk.info.scope for talk in said]


def test_one_cluster_has_the_scope_of_its_capture_set() -> None:
    identities = Identities()
    first, second = talks(identities, "10.0.0.2", "10.0.0.3")
    for talk in (first, second):
        identities.learn(metadata(talk, CLUSTER_A))
    assert scopes(first, second) == ["set", "set"]
    assert identities.one_of_several(first.info) is None


def test_an_advertised_address_is_in_the_cluster_that_advertises_it() -> None:
    identities = Identities()
    first, second, of_second, unknown = talks(identities, "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5")
    identities.learn(metadata(first, CLUSTER_A, ("10.0.0.2",)))
    identities.learn(metadata(second, CLUSTER_B, ("10.0.0.3", "10.0.0.4")))
    assert scopes(first, unknown) == ["set", "set"]
    assert second.info.scope == of_second.info.scope != "set"
    assert [identities.cluster_of(talk.info) for talk in (of_second, unknown)] == [CLUSTER_B, None]


def test_a_broker_knows_better_than_who_advertises_its_address() -> None:
    identities = Identities()
    first, second = talks(identities, "10.0.0.2", "10.0.0.3")
    identities.learn(metadata(first, CLUSTER_A, ("10.0.0.2",)))
    identities.learn(metadata(second, CLUSTER_B, ("10.0.0.2",)))
    again, *_ = talks(identities, "10.0.0.2")
    assert identities.cluster_of(again.info) == CLUSTER_A


def test_an_address_that_becomes_another_clusters_changes_new_connections_alone() -> None:
    identities = Identities()
    old, new = talks(identities, "10.0.0.2", "10.0.0.2")
    identities.learn(metadata(old, CLUSTER_A))
    identities.learn(metadata(new, CLUSTER_B))
    assert [identities.cluster_of(talk.info) for talk in (old, new)] == [CLUSTER_A, CLUSTER_B]
    assert len(set(scopes(old, new))) == 2


def test_the_clusters_before_and_after_a_time() -> None:
    identities = Identities()
    first, second = talks(identities, "10.0.0.2", "10.0.0.2")
    identities.learn(metadata(first, CLUSTER_A))
    second.now = 50
    exchange = metadata(second, CLUSTER_B)
    identities.learn(exchange)
    assert exchange.response is not None
    moved_ns, address = exchange.response.time_ns, second.info.broker_address
    assert identities.moved_after("set", address, moved_ns - 1) == (CLUSTER_A, CLUSTER_B)
    assert identities.moved_after("set", address, moved_ns) is None
    assert identities.moved_after("set", address, 0) is None
    assert identities.moved_after("set", "10.0.0.3:9092", moved_ns - 1) is None


@pytest.mark.parametrize(("start", "cluster"), [(0, CLUSTER_A), (9, CLUSTER_A), (99, CLUSTER_B)])
def test_a_connection_that_names_no_cluster_has_that_of_its_time(start: int, cluster: str) -> None:
    """Whenever it is asked for: the address became another cluster's at 50 ms."""
    identities = Identities()
    old, new, silent = talks(identities, "10.0.0.2", "10.0.0.2", "10.0.0.2")
    silent.info.start_ns += start * MS
    old.now, new.now = 5, 50
    identities.learn(metadata(old, CLUSTER_A))
    identities.learn(metadata(new, CLUSTER_B))
    assert identities.cluster_of(silent.info) == cluster


def test_an_address_that_becomes_another_clusters_is_a_change(tmp_path: Path) -> None:
    """Once, however often it goes to and fro; a change of a connection is in the cluster of its time."""
    packets, at_ns = [], 10**18
    for number, cluster in enumerate(["c", None, "d", "c", "d"]):
        client = Client(port=40000 + number, start_ns=at_ns)
        if cluster is None:
            client.ask(*DELETE)
        else:
            client.metadata(cluster)
        packets += client.packets
        at_ns = client.now + 1_000_000
    rows = facts("changes", path=write_pcap(tmp_path / "moved.pcap", packets))["changes"]
    assert [(row["kind"], row["cluster"], row["did"], row["detail"]) for row in rows] == [
        ("topic", "c", "deleted", ""),
        ("address", "d", "became another cluster's", "from c to d"),
    ]


def test_brokers_that_are_advertised_together_are_in_one_cluster() -> None:
    """A response of an old version names no cluster; the cluster of its brokers becomes known later."""
    identities = Identities()
    balancer, first, other, unknown = talks(identities, "10.0.0.9", "10.0.0.2", "10.0.0.3", "10.0.0.4")
    old = metadata(balancer, None, ("10.0.0.2", "10.0.0.3"))
    identities.learn(old)
    assert identities.cluster_at("set", "10.0.0.3:9092") is None
    identities.learn(metadata(unknown, CLUSTER_B))
    identities.learn(metadata(first, CLUSTER_A, ("10.0.0.2",)))
    identities.learn(old)
    assert [identities.cluster_of(talk.info) for talk in (balancer, other)] == [CLUSTER_A, CLUSTER_A]
    assert identities.cluster_of(unknown.info) == CLUSTER_B


def test_brokers_of_two_clusters_that_are_advertised_together_prove_nothing() -> None:
    identities = Identities()
    balancer, first, second = talks(identities, "10.0.0.9", "10.0.0.2", "10.0.0.3")
    identities.learn(metadata(first, CLUSTER_A))
    identities.learn(metadata(second, CLUSTER_B))
    identities.learn(metadata(balancer, None, ("10.0.0.2", "10.0.0.3", "10.0.0.5")))
    assert identities.cluster_of(balancer.info) is None
    assert identities.cluster_at("set", "10.0.0.5:9092") is None


def two_groups() -> tuple[Identities, Talk, Talk]:
    """Two brokers with the same node id whose responses name no cluster, and list other addresses."""
    identities = Identities()
    first, second, silent = talks(identities, "10.0.0.2", "10.0.0.3", "10.0.0.4")
    identities.learn(metadata(first, None, ("10.0.0.2",)))
    identities.learn(metadata(second, None, ("10.0.0.3",)))
    assert scopes(first, silent) == ["set", "set"]
    assert second.info.scope != "set"
    assert identities.cluster_of(second.info) is None
    assert identities.one_of_several(silent.info) is None
    assert [identities.apart(scope) for scope in scopes(first, second)] == [
        "unknown (10.0.0.2:9092)", "unknown (10.0.0.3:9092)",
    ]  # fmt: skip
    return identities, first, second


def test_groups_of_brokers_are_one_when_a_response_lists_brokers_of_both() -> None:
    identities, first, second = two_groups()
    before = second.info.scope
    identities.learn(metadata(first, None, ("10.0.0.2", "10.0.0.3")))
    assert scopes(first, second) == ["set", "set"]
    assert identities.apart(before) == identities.apart("set")


def test_a_group_of_brokers_keeps_its_scope_when_its_cluster_is_named() -> None:
    identities, first, second = two_groups()
    before = scopes(first, second)
    identities.learn(metadata(second, CLUSTER_B, ("10.0.0.3",)))
    assert scopes(first, second) == before
    assert [identities.apart(scope) for scope in before] == ["unknown (10.0.0.2:9092)", CLUSTER_B]
    identities.learn(metadata(first, CLUSTER_A, ("10.0.0.2",)))
    assert scopes(first, second) == before
    assert [identities.one_of_several(talk.info) for talk in (first, second)] == [CLUSTER_A, CLUSTER_B]


def test_groups_of_brokers_that_name_one_cluster_are_one() -> None:
    """Two listeners."""
    identities, first, second = two_groups()
    for talk in (first, second):
        identities.learn(metadata(talk, CLUSTER_A))
    assert scopes(first, second) == ["set", "set"]
    assert identities.moves == 0


def test_a_cluster_may_have_the_name_of_a_group() -> None:
    identities, first, second = two_groups()
    before = scopes(first, second)
    own, other = (identities.apart(scope) for scope in before)
    identities.learn(metadata(first, own, ("10.0.0.2",)))
    identities.learn(metadata(second, own, ("10.0.0.3",)))
    assert scopes(first, second) == ["set", "set"]
    identities.learn(metadata(first, other, ("10.0.0.2",)))
    assert identities.cluster_of(first.info) == other


def test_one_group_of_brokers_is_not_named() -> None:
    identities = Identities()
    first, second = talks(identities, "10.0.0.2", "10.0.0.3")
    identities.learn(metadata(first, None, ("10.0.0.3", "10.0.0.2")))
    identities.learn(metadata(second, None, ("10.0.0.3",)))
    assert scopes(first, second) == ["set", "set"]
    assert identities.one_of_several(first.info) is None
    assert identities.apart("set") == ""


def test_groups_of_brokers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities_module, "MAX_CLUSTERS", 2)
    identities, _, _ = two_groups()
    (third,) = talks(identities, "10.0.0.9")
    identities.learn(metadata(third, None, ("10.0.0.9",)))
    assert third.info.scope == "set"


def followed(*lists: tuple[int, dict[str, int]]) -> tuple[Identities, list[str]]:
    """Return the scopes of connections to one address, one after the other, when all have begun.

    Each has a start, and the node ids by host that its response lists without a cluster.
    """
    identities, found = Identities(), list[Talk]()
    for start_ns, listed in lists:
        (talk,) = talks(identities, "10.0.0.2")
        talk.info.start_ns = start_ns
        exchange = nameless(talk, listed)
        identities.learn(exchange)
        found.append(talk)
    return identities, scopes(*found)


def nameless(talk: Talk, listed: dict[str, int]) -> Exchange:
    """Return a response of Metadata v1, which has no cluster."""
    rows = [{"node_id": node, "host": host, "port": 9092, "rack": None} for host, node in listed.items()]
    return talk.ask(METADATA, 1, {"topics": None}, {"brokers": rows, "controller_id": 0, "topics": []})


BOTH, LATER = {"10.0.0.2": 1, "10.0.0.3": 2}, {"10.0.0.2": 7, "10.0.0.3": 8}


def test_brokers_with_other_node_ids_at_the_same_addresses_are_a_later_group() -> None:
    identities, found = followed((1, BOTH), (50, LATER), (60, LATER))
    assert found == ["set", "set\x1funknown (10.0.0.2:9092, 2)", "set\x1funknown (10.0.0.2:9092, 2)"]
    assert [identities.apart(scope) for scope in found[:2]] == [
        "unknown (10.0.0.2:9092)", "unknown (10.0.0.2:9092, 2)",
    ]  # fmt: skip
    (other,) = talks(identities, "10.0.0.3")
    for start_ns, scope in ((40, found[0]), (55, found[1])):
        other.info.start_ns = start_ns
        assert other.info.scope == scope
    identities.learn(nameless(other, LATER))
    assert other.info.scope == found[1]


def test_a_group_of_brokers_may_come_back() -> None:
    _, found = followed((1, BOTH), (50, LATER), (90, BOTH), (95, LATER))
    assert found == ["set", "set\x1funknown (10.0.0.2:9092, 2)"] * 2


@pytest.mark.parametrize(
    "later",
    [
        {"10.0.0.2": 7, "10.0.0.3": 2},  # one broker has another id
        {"10.0.0.2": 2, "10.0.0.3": 1},  # pods that restarted with each other's addresses
        {"10.0.0.9": 1, "10.0.0.8": 2},  # all have other addresses
        {"10.0.0.2": 1},
        {},
    ],
)
def test_brokers_that_are_replaced_one_by_one_stay_a_group(later: dict[str, int]) -> None:
    _, found = followed((1, BOTH), (50, later))
    assert found == ["set", "set"]


def test_a_response_that_comes_late_is_of_the_earlier_group() -> None:
    identities, found = followed((1, BOTH), (50, LATER), (2, BOTH), (60, LATER))
    assert found == ["set", "set\x1funknown (10.0.0.2:9092, 2)"] * 2
    assert identities.one_of_several(talks(identities, "10.0.0.2")[0].info) is not None


@pytest.mark.parametrize("host", ["2001:db8::2", "2001:DB8:0:0:0:0:0:2", "[2001:db8::2]"])
def test_an_ipv6_address_is_in_the_cluster_that_advertises_it(host: str) -> None:
    identities = Identities()
    first, second = talks(identities, "10.0.0.2", "2001:db8::2")
    identities.learn(metadata(first, CLUSTER_A, (host,)))
    assert identities.cluster_of(second.info) == CLUSTER_A


@pytest.mark.parametrize(("error", "cluster"), [(0, CLUSTER_A), (129, None)])
def test_a_broker_confirms_the_cluster_that_a_client_expects(error: int, cluster: str | None) -> None:
    identities = Identities()
    (talk,) = talks(identities, "10.0.0.2")
    asked = {"client_software_name": "c", "client_software_version": "1", "cluster_id": CLUSTER_A,
             "node_id": 1}  # fmt: skip
    identities.learn(
        talk.ask(API_VERSIONS, 5, asked, {"error_code": error, "api_keys": [], "throttle_time_ms": 0})
    )
    assert identities.cluster_of(talk.info) == cluster


def test_a_broker_denies_the_cluster_that_another_one_advertises_it_for() -> None:
    identities = Identities()
    first, second = talks(identities, "10.0.0.2", "10.0.0.3")
    identities.learn(metadata(first, CLUSTER_A, ("10.0.0.2", "10.0.0.3")))
    assert identities.cluster_of(second.info) == CLUSTER_A
    asked = {"client_software_name": "c", "client_software_version": "1", "cluster_id": CLUSTER_A,
             "node_id": 1}  # fmt: skip
    identities.learn(
        second.ask(API_VERSIONS, 5, asked, {"error_code": 129, "api_keys": [], "throttle_time_ms": 0})
    )
    assert identities.cluster_of(second.info) is None
    identities.learn(metadata(second, CLUSTER_B))
    assert identities.cluster_of(second.info) == CLUSTER_B


def test_damaged_bodies_name_no_cluster() -> None:
    identities = Identities()
    (talk,) = talks(identities, "10.0.0.2")
    exchange = metadata(talk, CLUSTER_A)
    assert exchange.response is not None
    exchange.response.data = exchange.response.data[:12]
    identities.learn(exchange)
    assert identities.cluster_of(talk.info) is None


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities_module, "MAX_BROKERS", 3)
    monkeypatch.setattr(identities_module, "MAX_TOPICS_OF_NAME", 2)
    identities = Identities()
    (talk,) = talks(identities, "10.0.0.2")
    identities.learn(metadata(talk, CLUSTER_A, tuple(f"10.0.1.{number}" for number in range(9)), 1))
    known = [identities.cluster_at("set", f"10.0.1.{number}:9092") for number in range(9)]
    assert known.count(CLUSTER_A) == 3
    names = [identities.topic(talk.info, "t", bytes([number] * 16)) for number in (1, 2, 3)]
    assert names[0] == "t"
    assert names[1] == names[2] != "t"
    assert plain_name(names[1]) == "t"


def carried(*between: Any, offset: int = 64, error: int = 0) -> list[tuple[str, int]]:
    """Return what is odd about a commit after the topic was created again, with what happened in between."""
    identities, traffic = Identities(), OffsetTraffic(TopicNames())
    (talk,) = talks(identities, "10.0.0.2")
    feed(traffic, metadata(talk, CLUSTER_A, topic_id=1))
    feed(traffic, fetch(talk, 60))
    feed(traffic, fetch(talk, 64))
    feed(traffic, commit(talk, 64))
    feed(traffic, metadata(talk, CLUSTER_A, topic_id=2))
    for offset_read in between:
        feed(traffic, fetch(talk, offset_read))
    feed(traffic, commit(talk, offset, error=error))
    traffic.finish()
    return [(row["what"], row["after"]) for row in offset_facts(traffic)["commits"]]


def test_an_offset_of_a_deleted_topic_that_is_committed_for_the_new_one_is_reported() -> None:
    assert carried() == [(FORMER, 64)]
    assert carried(0) == [(FORMER, 64)]


def test_a_commit_of_what_was_read_of_the_new_topic_is_not_reported() -> None:
    assert carried(0, 64) == []
    assert carried(0, 30, offset=30) == []
    assert carried(error=3) == []


def moved(talk: Talk, offset: int, *, is_committed: bool = True) -> list[Exchange]:
    """Return a transaction that commits an offset of partition 0 of `t`, without a Fetch of its reader."""
    row = {"partition_index": 0, "committed_offset": offset, "committed_metadata": None}
    asked = {"transactional_id": "x", "group_id": "g", "producer_id": 7, "producer_epoch": 0,
             "topics": [{"name": "t", "partitions": [row]}]}  # fmt: skip
    answer = {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "error_code": 0}]}]}
    ended = {"transactional_id": "x", "producer_id": 7, "producer_epoch": 0, "committed": is_committed}
    return [
        talk.ask(TXN_OFFSET_COMMIT, 0, asked, {"throttle_time_ms": 0} | answer),
        talk.ask(END_TXN, 0, ended, {"throttle_time_ms": 0, "error_code": 0}),
    ]


@pytest.mark.parametrize(
    ("later_end", "is_committed", "found"),
    [(9, True, [(FORMER, 64)]), (64, True, []), (70, True, []), (9, False, []), (None, True, [])],
)
def test_a_transaction_that_commits_an_offset_of_a_deleted_topic(
    later_end: int | None, is_committed: bool, found: list[tuple[str, int]]
) -> None:
    """The end of the log shows it: its reader was not captured, and may have read as far again."""
    identities, traffic = Identities(), OffsetTraffic(TopicNames())
    producer, reader = talks(identities, "10.0.0.2", "10.0.0.2")
    events = [metadata(producer, CLUSTER_A, topic_id=1), *moved(producer, 64)]
    events += [metadata(producer, CLUSTER_A, topic_id=2), *moved(producer, 64, is_committed=is_committed)]
    reader.now = producer.now
    if later_end is not None:
        events.append(fetch(reader, 1, high=later_end))
    feed(traffic, *events)
    traffic.finish()
    assert [(row["what"], row["after"]) for row in offset_facts(traffic)["commits"]] == found


def odd_of_producer(*, is_renewed: bool) -> list[str]:
    """Return two batches, which go on in sequence; the second has the first offset of a log."""
    (talk,) = talks(Identities(), "10.0.0.2")
    history = History(only=("producers",))
    said = [init(talk), metadata(talk, CLUSTER_A, topic_id=1), produce(talk, 0, given=7)]
    said += [metadata(talk, CLUSTER_A, topic_id=2)] if is_renewed else []
    found = []
    for exchange in (*said, produce(talk, 1, given=0)):
        learn_identities(exchange)
        found += history.add(exchange)
    found += history.finish()
    return [str(fact.kind) for fact in found if fact.kind is ProducerFact.OFFSET_BACK]


def test_offsets_of_a_new_topic_are_not_compared_with_those_of_the_one_before() -> None:
    assert odd_of_producer(is_renewed=False) == ["offset_back"]
    assert odd_of_producer(is_renewed=True) == []


def counts_by_cluster(*words: object) -> Counter[str]:
    return Counter(run(*words, "-e", "cluster", CAPTURE).out.split()[1:])


def test_exchanges_and_connections_have_a_cluster() -> None:
    every = counts_by_cluster("inspect")
    assert set(every) == set(CLUSTERS.values())
    for cluster in CLUSTERS.values():
        chosen = counts_by_cluster("inspect", "-Y", f'cluster == "{cluster}"')
        assert set(chosen) == {cluster}
        joins = counts_by_cluster("inspect", "-Y", f'api == JoinGroup and cluster == "{cluster}"')
        assert set(joins) == {cluster}
    assert set(counts_by_cluster("connections")) == set(CLUSTERS.values())


def test_offsets_name_the_cluster(tmp_path: Path) -> None:
    identities, traffic = Identities(), OffsetTraffic(TopicNames())
    first, second = talks(identities, "10.0.0.2", "10.0.0.3")
    feed(traffic, metadata(first, CLUSTER_A), commit(first, 64), commit(first, 60))
    traffic.finish()
    (row,) = offset_facts(traffic)["commits"]
    assert "cluster" not in row
    feed(traffic, metadata(second, CLUSTER_B), commit(second, 8), commit(second, 5))
    traffic.finish()
    rows = offset_facts(traffic)["commits"]
    assert [(row["cluster"], row["before"], row["after"]) for row in rows] == [
        (CLUSTER_A, 64, 60),
        (CLUSTER_B, 8, 5),
    ]


def test_the_table_of_connections_has_the_clusters_that_they_named(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra arrow")
    ran = run("tables", CAPTURE, "--output", tmp_path / "out", "--tables", "connections")
    assert ran.code == 0, ran.err
    rows = parquet.read_table(tmp_path / "out" / "connections").to_pylist()
    named = {(row["broker"], row["cluster"]) for row in rows if row["cluster"] is not None}
    assert {cluster for _, cluster in named} == set(CLUSTERS.values())
    assert len(named) == len(CLUSTERS)


def test_a_copy_of_a_connection_has_its_cluster_and_adds_no_facts() -> None:
    identities = Identities()
    (talk,) = talks(identities, "10.0.0.2")
    talk.info.same_as = "another"
    for _ in range(2):
        talk.info.named_cluster = None
        identities.learn(metadata(talk, CLUSTER_A, ("10.0.0.3",), topic_id=1))
        assert talk.info.named_cluster == CLUSTER_A
    assert identities.cluster_at("set", "10.0.0.2:9092", "10.0.0.3:9092") is None
    assert identities.topic(talk.info, "t", bytes([2] * 16)) == "t"


def test_statistics_count_by_cluster() -> None:
    rows = facts("stats", "--by", "cluster")["rows"]
    brokers = {row["broker"]: row["exchanges"] for row in facts("stats", "--by", "broker")["rows"]}
    assert {row["cluster"] for row in rows} == set(CLUSTERS.values())
    assert sorted(row["exchanges"] for row in rows) == sorted(brokers.values())


def test_changes_are_those_of_a_cluster() -> None:
    created = {
        (row["cluster"], row["name"])
        for row in facts("changes")["changes"]
        if row["did"] == "created automatically"
    }
    assert created >= {(cluster, name) for cluster in CLUSTERS.values() for name in ("orders", "paid")}


@pytest.mark.parametrize("name", ["a\x1fb", "\x1f", "a\x1f", "\x1fa", "a\x1f0f", "t"])
def test_a_name_with_a_separator_of_its_own_is_not_cut(name: str) -> None:
    """Kafka does not allow such names; bytes of a capture may have them."""
    found, info = Identities(), Talk().info
    first, later = (found.topic(info, name, bytes([number] * 16)) for number in (1, 2))
    assert first != later
    assert plain_name(first) == plain_name(later) == name
    assert plain_name(found.topic(info, name)) == name


def requests_read(path: Path) -> dict[str, int]:
    """Return the number of Fetches of the topic `a`, by cluster."""
    rows = facts("topics", path=path)["topics"]
    found = {row["cluster"]: row["read"]["requests"] for row in rows if row["topic"] == "a"}
    assert len(found) == len(rows)
    return found


def test_each_connection_to_one_address_is_in_the_cluster_that_it_names(tmp_path: Path) -> None:
    """A load balancer before two clusters; what the third connection is told came before, byte for byte."""
    packets, at_ns = [], 10**18
    for number, (cluster, fetches) in enumerate([("c", 1), ("d", 2), ("c", 4), ("d", 8)]):
        client = Client(port=40000 + number, start_ns=at_ns).metadata(cluster, a=ORDERS)
        for _ in range(fetches):
            client.fetch(ORDERS)
        packets += client.packets
        at_ns = client.now + 1_000_000
    assert requests_read(Path(write_pcap(tmp_path / "balanced.pcap", packets))) == {"c": 5, "d": 10}


def failing(broker: str, port: int, cluster: str, code: int, start_ns: int) -> Client:
    """Return a client that asks six seconds for a topic."""
    client = Client(broker, port, start_ns).metadata(cluster, a=ORDERS)
    row = {"error_code": code, "name": "missing", "topic_id": bytes(16), "is_internal": False}
    for _ in range(6):
        client.wait(1_000_000_000)
        client.ask(METADATA, 12, {"topics": [{"name": "missing"}]}, {"cluster_id": cluster, "topics": [row]})
    return client


def test_errors_of_two_clusters_are_not_added_up(tmp_path: Path) -> None:
    """A topic of one name that is in neither cluster."""
    said = [
        failing(f"10.0.0.{number + 2}", 40000 + number, name, 3, 10**18 + number * 1000)
        for number, name in enumerate("cd")
    ]
    packets = sorted((one for client in said for one in client.packets), key=lambda one: one.time_ns)
    path = write_pcap(tmp_path / "two.pcap", packets)
    causes = [one for one in facts("why", path=path)["causes"] if one["id"] == "unknown-topic"]
    assert [one["times"] for one in causes] == [6, 6]
    named = [[party["name"] for party in one["parties"] if party["kind"] == "cluster"] for one in causes]
    assert sorted(named) == [["c"], ["d"]]
    assert all(
        f"The cluster is {names[0]}." in one["sentence"] for one, names in zip(causes, named, strict=True)
    )


def test_a_cause_in_one_cluster_does_not_explain_errors_in_another(tmp_path: Path) -> None:
    """Of the same client and topic: each is reported."""
    said = [failing("10.0.0.2", 40000, "c", 3, 10**18), failing("10.0.0.3", 40001, "d", 87, 10**18 + 1000)]
    packets = sorted((one for client in said for one in client.packets), key=lambda one: one.time_ns)
    path = write_pcap(tmp_path / "two.pcap", packets)
    causes = {one["id"]: one["parties"] for one in facts("why", path=path)["causes"]}
    for name, cluster in (("unknown-topic", "c"), ("requests-fail", "d")):
        assert {"kind": "cluster", "name": cluster} in causes[name]


def by_cluster(folder: Path) -> list[Path]:
    """Return the two clusters of the recording in a file each."""
    found = []
    for cluster in CLUSTERS:
        bootstrap = next(
            each["bootstrap"]
            for each in TRUTH["events"]
            if each["what"] == "cluster" and each["cluster_id"] == CLUSTERS[cluster]
        )
        target = folder / f"{cluster}.pcapng"
        port = bootstrap.rpartition(":")[2]
        assert run("extract", CAPTURE, "-Y", f"broker.port == {port}", "-o", target).code == 0
        found.append(target)
    return found


def test_captures_of_two_clusters_are_not_added_up(tmp_path: Path) -> None:
    first, second = by_cluster(tmp_path)
    ran = run("topics", "--format", "json", first, second)
    topics = [row for row in json.loads(ran.out)["topics"] if row["topic"] == "orders"]
    for use in ("written", "read"):
        assert {row["cluster"]: row[use]["records"] for row in topics} == written()
    groups = json.loads(run("groups", "--format", "json", first, second).out)["groups"]
    assert {row["cluster"] for row in groups if row["group"] == "billing"} == set(CLUSTERS.values())
    assert "cluster" not in json.loads(run("topics", "--format", "json", second).out)["topics"][0]


def test_captures_of_one_cluster_are_added_up(tmp_path: Path) -> None:
    """Those of two brokers: one broker leads the one partition, and the other one the other."""
    files = []
    for number in (2, 3):
        client = Client(f"10.0.0.{number}").metadata("c", a=ORDERS).fetch(ORDERS)
        files.append(write_pcap(tmp_path / f"{number}.pcap", client.packets))
    (row,) = json.loads(run("topics", "--format", "json", *files).out)["topics"]
    assert row["read"]["requests"] == 2


@pytest.mark.parametrize("most", [2, 1])
def test_topics_beyond_the_limit_count_with_those_of_their_cluster(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_traffic_module, "TOPICS_KEPT", most)
    files = []
    for number in (2, 3, 4):
        client = Client(f"10.0.0.{number}", start_ns=10**18 + number * 10**9).metadata("c", a=ORDERS)
        files.append(write_pcap(tmp_path / f"{number}.pcap", client.fetch(ORDERS).packets))
    traffic = TopicTraffic(TopicNames())
    for event in Dissection(files).events():
        if isinstance(event, Exchange):
            traffic.add(event)
    (row,) = topic_facts(traffic)
    assert row["read"]["requests"] == 3


def listing(talk: Talk, topic_id: int, partitions: int) -> Exchange:
    """Return a Metadata response with the partitions of topic `t`, all led by broker 1."""
    rows = [
        {"error_code": 0, "partition_index": number, "leader_id": 1, "leader_epoch": 0, "replica_nodes": [1],
         "isr_nodes": [1], "offline_replicas": []}
        for number in range(partitions)
    ]  # fmt: skip
    topic = {"error_code": 0, "name": "t", "topic_id": bytes([topic_id] * 16), "is_internal": False,
             "partitions": rows, "topic_authorized_operations": 0}  # fmt: skip
    asked = {"topics": None, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
    brokers = [{"node_id": 1, "host": "10.0.0.2", "port": 9092, "rack": None}]
    answer = {"throttle_time_ms": 0, "brokers": brokers, "cluster_id": CLUSTER_A, "controller_id": 1}
    return talk.ask(METADATA, 12, asked, answer | {"topics": [topic]})


@pytest.mark.parametrize(("before", "after"), [(1, 2), (5, 2)])
def test_a_topic_has_the_partitions_of_no_other_topic_of_its_name(before: int, after: int) -> None:
    """Metadata names those of the topic that has the name now."""
    traffic = TopicTraffic(TopicNames())
    (talk,) = talks(Identities(), "10.0.0.2")
    for number, partitions in ((1, before), (2, after)):
        topic_id = bytes([number] * 16)
        for exchange in (listing(talk, number, partitions), produce(talk, 0, topic_id=topic_id)):
            learn_identities(exchange)
            traffic.add(exchange)
    assert [row["partition_count"] for row in topic_facts(traffic)] == [None, after]


def mixed_up(*steps: tuple[str, str, tuple[str, ...]]) -> list[tuple[str, str, str]]:
    """Return misled clients: clients `me` to which one broker after the other names a cluster and its
    brokers.
    """
    identities, mixups = Identities(), ClusterMixups()
    said = talks(identities, *(broker for broker, _, _ in steps))
    for talk, (_, cluster, brokers) in zip(said, steps, strict=True):
        identities.learn(metadata(talk, cluster, brokers))
        talk.info.kind = ConnectionKind.KAFKA
        talk.info.complete += 1
        mixups.add(talk.info)
    return [(one.info.broker.host, one.advertised_by, one.leads_to) for one in mixups.misled()]


FIRST, SECOND = "10.0.0.2", "10.0.0.3"


def test_an_address_that_another_cluster_advertises_misleads() -> None:
    right = (FIRST, CLUSTER_A, (FIRST,)), (SECOND, CLUSTER_B, (SECOND,))
    assert mixed_up(*right) == []
    wrong = (SECOND, CLUSTER_B, (FIRST,)), (FIRST, CLUSTER_A, (FIRST,))
    assert mixed_up(*wrong) == [(FIRST, CLUSTER_B, CLUSTER_A)]
    assert mixed_up(*wrong, *wrong) == [(FIRST, CLUSTER_B, CLUSTER_A)]


def test_an_address_that_was_in_the_cluster_that_advertises_it_misleads_nobody() -> None:
    moved = (FIRST, CLUSTER_B, (FIRST,)), (SECOND, CLUSTER_B, (FIRST,)), (FIRST, CLUSTER_A, (FIRST,))
    assert mixed_up(*moved) == []


def test_a_client_that_nobody_misled_is_not_named() -> None:
    """It asked for no address at the cluster that advertises a wrong one."""
    identities, mixups = Identities(), ClusterMixups()
    misled, at_second, other = talks(identities, FIRST, SECOND, FIRST)
    other.info.client_id = "other"
    identities.learn(metadata(at_second, CLUSTER_B, (FIRST,)))
    for talk in (misled, other):
        identities.learn(metadata(talk, CLUSTER_A, (FIRST,)))
    for talk in (misled, at_second, other):
        talk.info.kind = ConnectionKind.KAFKA
        talk.info.complete += 1
        mixups.add(talk.info)
    assert [one.info for one in mixups.misled()] == [misled.info]


def test_an_id_that_a_broker_names_while_it_only_validates_is_no_topics() -> None:
    """Apache Kafka names another id when the topic is created."""
    identities = Identities()
    talk = Talk()
    talk.info.identities = identities
    for number, only_validates in enumerate((True, False)):
        topic = {"name": "t", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
        asked = {"topics": [topic], "timeout_ms": 1, "validate_only": only_validates}
        created = {"name": "t", "topic_id": bytes([number + 1] * 16), "error_code": 0}
        created |= {"num_partitions": 1, "replication_factor": 1, "configs": []}
        identities.learn(talk.ask(19, 7, asked, {"throttle_time_ms": 0, "topics": [created]}))
    assert not identities.is_created_again(talk.info.capture_set, "t")
    assert identities.topic(talk.info, "t") == "t"
