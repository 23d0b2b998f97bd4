"""Recordings in which clusters, topics, offsets and connection ends may be mixed up: what each command says.

The truth files have what the clients, tools, brokers and proxies said.
"""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.session.exchange import Exchange
from tests.support.console import CAPTURES, run

FIRST, SECOND = "a2Rpc3NlY3QtY29ycHVzIQ", "a2Rpc3NlY3Qtc2Vjb25kIQ"
CLUSTERS = {"first": FIRST, "second": SECOND}
Facts = dict[str, Any]


def path_of(name: str) -> Path:
    (found,) = (path for path in CAPTURES.glob(f"{name}.pcap*"))
    return found


@cache
def truth(name: str) -> Facts:
    content: Facts = json.loads((CAPTURES / f"{name}.truth.json").read_text())
    return content


def events(name: str, what: str) -> list[Facts]:
    return [each for each in truth(name)["events"] if each["what"] == what]


def facts(command: str, name: str, *options: object) -> Any:
    ran = run(command, "--format", "json", *options, path_of(name))
    assert ran.code in (0, 1, 4), ran.err
    return json.loads(ran.out)


def ends(name: str) -> dict[tuple[str, str], int]:
    """Return the end offsets of topics by cluster, as their brokers said; without topics of brokers."""
    found = Counter[tuple[str, str]]()
    for each in events(name, "ends"):
        if not each["topic"].startswith("__"):
            found[CLUSTERS[each["client_id"]], each["topic"]] += each["offset"]
    return dict(found)


def said(name: str, use: str) -> dict[tuple[str, str], int]:
    """Return records of topics by cluster, as clients said; their ids begin with the cluster's name."""
    found = Counter[tuple[str, str]]()
    for each in truth(name)["records"][use]:
        found[CLUSTERS[each["client_id"].partition("-")[0]], each["topic"]] += 1
    return dict(found)


MIRROR = "kafka44_mirror"


def test_mirrored_topics_have_the_records_that_their_brokers_have() -> None:
    topics = facts("topics", MIRROR)["topics"]
    written = {(row["cluster"], row["topic"]): row["written"]["records"] for row in topics}
    assert len(written) == len(topics)
    assert written == ends(MIRROR)


@pytest.mark.parametrize(("use", "does"), [("sent", "writers"), ("read", "readers")])
def test_mirrored_topics_have_what_clients_said(use: str, does: str) -> None:
    counted = Counter[tuple[str, str]]()
    for row in facts("topics", MIRROR)["topics"]:
        for user in row[does]:
            if user["client_id"] in {f"{name}-{end}" for name in CLUSTERS for end in ("writer", "reader")}:
                counted[row["cluster"], row["topic"]] += user["records"]
    assert dict(counted) == said(MIRROR, use)


def test_groups_of_one_name_in_two_clusters() -> None:
    rows = [row for row in facts("groups", MIRROR)["groups"] if row["group"] == "readers"]
    assert {row["cluster"] for row in rows} == set(CLUSTERS.values())
    committed = {
        (row["cluster"], one["topic"]): one["committed"] for row in rows for one in row["partitions"]
    }
    assert committed == said(MIRROR, "read")


def test_nothing_is_odd_about_mirrored_offsets() -> None:
    found = facts("offsets", MIRROR)
    assert not any(found[table] for table in ("positions", "commits", "written_twice"))
    assert "kdissect: " not in run("check", path_of(MIRROR)).err


MISROUTED = "kafka44_misrouted"


def test_records_of_clients_sent_to_the_wrong_cluster() -> None:
    """All that was written is in the first cluster, though clients bootstrapped at the second."""
    counted = Counter[tuple[str, str]]()
    for row in facts("topics", MISROUTED)["topics"]:
        counted[row["cluster"], row["topic"]] += row["written"]["records"]
    assert dict(counted) == ends(MISROUTED)
    assert counted[FIRST, "orders"] == 3


def test_clients_sent_to_the_wrong_cluster_are_named() -> None:
    causes = facts("why", MISROUTED)["causes"]
    assert [cause["id"] for cause in causes] == ["wrong-cluster"] * 2
    refused, misled = (cause["sentence"] for cause in causes)
    assert "'java-4.4.0'" in refused and "REBOOTSTRAP_REQUIRED" in refused
    assert f"cluster '{SECOND}' advertise" in misled and f"'{FIRST}' answers" in misled
    assert "'java-4.3.1'" in misled and "'rdkafka'" in misled and "'java-4.4.0'" not in misled


def test_connections_that_were_refused_for_their_cluster() -> None:
    rows = facts("connections", MISROUTED, "--problems")["rows"]
    found = Counter((row["client_id"], row["reason"]) for row in rows)
    assert set(found) == {("java-4.4.0", "wrong_cluster")}
    assert all(f"cluster {SECOND}" in row["sentence"] for row in rows)
    assert facts("info", MISROUTED)["connections"]["problems"] == {"wrong_cluster": len(rows)}


def test_a_client_has_connections_to_two_clusters() -> None:
    lines = run("connections", path_of(MISROUTED), "-e", "client_id,cluster").out.splitlines()[1:]
    clusters = {tuple(line.split("\t")) for line in lines}
    assert {("java-4.3.1", FIRST), ("java-4.3.1", SECOND)} <= clusters


RESETS = "kafka44_offset_resets"


def test_resets_of_the_tool_are_changes() -> None:
    """All that it executed, in their order, and nothing of a dry run."""
    done = [each for each in events(RESETS, "reset") if "--execute" in each["how"]]
    rows = [row for row in facts("changes", RESETS)["changes"] if row["kind"] == "offsets"]
    expected = [(each["group"], f"{each['topic']}-{each['partition']} to {each['offset']}") for each in done]
    assert [(row["name"].removeprefix("of "), row["detail"]) for row in rows] == expected
    assert len(done) == 5


def test_resets_of_the_tool_are_odd_commits() -> None:
    done = [each for each in events(RESETS, "reset") if "--execute" in each["how"]]
    rows = facts("offsets", RESETS)["commits"]
    assert [(row["group"], row["after"]) for row in rows] == [
        (each["group"], each["offset"]) for each in done
    ]
    assert all("by a client that is no member" in row["what"] for row in rows)


def test_a_reset_is_the_only_trouble() -> None:
    """The tool asks for a consumer group first: that the group is a classic one is no trouble."""
    causes = [cause["id"] for cause in facts("why", RESETS)["causes"]]
    assert causes == ["offset-rewound", "offsets-set-by-tool"]


PROXIES = "kafka44_haproxy"
KEYS = CAPTURES / f"{PROXIES}.keys"


def proxied() -> dict[str, tuple[str, str]]:
    """Return the client that HAProxy connected for, and the leg, by its own end of each connection."""
    return {
        each["from"]: (each["for"], each["by"])
        for each in events(PROXIES, "proxied")
        if not each["by"].endswith("-off")
    }


def test_connections_have_the_client_that_the_proxy_connected_for() -> None:
    rows = [json.loads(line) for line in run(
        "connections", "--format", "jsonl", "--keylog", KEYS, path_of(PROXIES)
    ).out.splitlines()]  # fmt: skip
    known = proxied()
    of_clients = [row for row in rows if row["client"] in known]
    assert len(of_clients) == len(known)
    assert {row["client_proxied"] for row in of_clients} == {client for client, _ in known.values()}
    for row in of_clients:
        client, leg = known[row["client"]]
        assert row["client_proxied"] == client
        if not leg.startswith("refused"):
            assert row["kind"] == ("tls" if leg.startswith("tls") and row["client_id"] is None else "kafka")


def test_tls_after_a_header_is_read_with_its_keys() -> None:
    dissection = Dissection(str(path_of(PROXIES)), key_logs=[str(KEYS)])
    found = [event for event in dissection.events() if isinstance(event, Exchange)]
    of_tls = [one for one in found if (one.client_id or "").startswith("a-tls")]
    assert {one.client_id for one in of_tls} == {"a-tls1", "a-tls2"}
    assert any(one.api_key == 0 for one in of_tls)
    assert all(str(one.state) == "complete" for one in of_tls)


def test_health_checks_and_refused_headers_are_named() -> None:
    rows = facts("connections", PROXIES, "--problems", "--keylog", KEYS)["rows"]
    known = proxied()
    legs = {row["client"]: known[row["client"]][1] for row in rows if row["client"] in known}
    refused = {row["client"] for row in rows if row["reason"] == "proxy_refused"}
    assert refused == {client for client, (_, leg) in known.items() if leg.startswith("refused")}
    assert {legs[client] for client in refused} == {
        f"refused-{kind}{version}" for kind in ("plain", "tls") for version in (1, 2)
    }
    others = [row for row in rows if row["client"] not in known]
    assert {row["reason"] for row in others} == {"probe"}
    assert {"v1", "v2, LOCAL"} == {row["sentence"].partition("(")[2].partition(")")[0] for row in others}
    causes = facts("why", PROXIES, "--keylog", KEYS)["causes"]
    assert {cause["id"] for cause in causes} == {"proxy-header-refused", "health-probe"}


NAT = "kafka44_nat"


def test_connections_on_both_sides_of_a_nat_count_once() -> None:
    """Each connection is there twice; nothing is wrong with the clients."""
    rows = [
        json.loads(line) for line in run("connections", "--format", "jsonl", path_of(NAT)).out.splitlines()
    ]
    sides = Counter(row["client"].rpartition(":")[0] for row in rows)
    assert len(sides) == 2 and len(set(sides.values())) == 1
    assert {(row["client"].rpartition(":")[0], row["same_as"] is None) for row in rows} == {
        ("10.77.1.2", True), ("10.77.2.1", False)
    }  # fmt: skip
    ((orders,),) = (facts("topics", NAT)["topics"],)
    records = truth(NAT)["records"]
    assert orders["written"]["records"] == len(records["sent"])
    assert orders["read"]["records"] == len(records["read"])
    assert facts("stats", NAT)["total"]["exchanges"] == 28
    lines = run("records", "--format", "jsonl", path_of(NAT)).out.splitlines()
    assert len(lines) == len(records["sent"]) + len(records["read"])
    why = facts("why", NAT)
    assert why["causes"] == [] and facts("check", NAT)["findings"] == []
    assert not any("both sides of a NAT" in line for line in why["looked_at"])


@pytest.mark.parametrize("name", [MIRROR, PROXIES, RESETS])
def test_others_were_not_captured_on_both_sides_of_a_nat(name: str) -> None:
    assert not any("NAT" in line for line in facts("why", name)["looked_at"])


def test_a_producer_id_stays_given_when_the_broker_names_its_cluster() -> None:
    assert [one["code"] for one in facts("check", MISROUTED)["findings"]] == []


def test_an_old_cluster_without_an_id_after_one_that_has_an_id() -> None:
    """Kafka 3.9.2 ends, and 0.11.0.3 begins at its address as node 7. Its clients ask for Metadata v0, and
    its controller connects before they do.
    """
    path = CAPTURES.parent / "tests" / "causes" / "cases" / "named_then_nameless_real.pcapng.gz"
    later = "unknown (127.0.0.1:33212, 2)"
    topics = json.loads(run("topics", "--format", "json", path).out)["topics"]
    written = {one["cluster"]: one["written"]["records"] for one in topics if one["topic"] == "orders"}
    assert written == {FIRST: 9, later: 2}, "as the clients said"
    groups = json.loads(run("groups", "--format", "json", path).out)["groups"]
    assert {one["cluster"] for one in groups} == {FIRST, later}
    of_controller = [one for one in Dissection(str(path)).events() if one.connection.client_id == "7"]
    identities = of_controller[0].connection.identities
    assert identities is not None
    assert {identities.cluster_of(one.connection) for one in of_controller} == {later}
    assert "MET006" not in run("check", path).out, "one leader in each cluster"


RECREATED = CAPTURES.parent / "tests" / "causes" / "cases" / "topic_recreated_real.pcap.gz"


def test_offsets_of_a_topic_made_again_are_not_those_of_the_former() -> None:
    """No record comes twice, though offsets begin at 0 again: the topic ids differ."""
    offsets = json.loads(run("offsets", "--format", "json", RECREATED).out)
    assert not any(offsets[table] for table in ("positions", "commits", "written_twice"))
    changes = json.loads(run("changes", "--format", "json", RECREATED).out)["changes"]
    assert [row["did"] for row in changes if row["name"] == "recreated"][1:3] == [
        "deleted", "created automatically"
    ]  # fmt: skip


def test_a_refused_produce_counts_where_its_topic_is() -> None:
    """It has the id of the topic in the cluster that advertises the address: that cluster was asked for."""
    refused = [
        (user["client_id"], row["cluster"], list(user["errors"]))
        for row in facts("topics", MISROUTED)["topics"]
        for user in row["writers"]
        if user["errors"]
    ]
    assert refused == [("java-4.3.1", SECOND, ["UNKNOWN_TOPIC_ID"])]


OPEN = "kafka44_recreated"  # producers and consumers stay open while the topic is deleted and created again


def topic_ids() -> tuple[str, str]:
    """Return the former and the later topic, as the broker's tool said."""
    former, later = (each["topic_id"] for each in events(OPEN, "topic"))
    return former, later


def is_later(record: Facts) -> bool:
    """Return whether a record was written to the later topic, as its value says."""
    return "-old" not in record["value"]


def places(use: str) -> dict[tuple[bool, int], str]:
    """Return the values that were written or read at offsets of the former and the later topic."""
    return {(is_later(one), one["offset"]): one["value"] for one in truth(OPEN)["records"][use]}


def test_topics_of_one_name_have_their_own_records() -> None:
    rows = facts("topics", OPEN)["topics"]
    assert [row["topic_id"] for row in rows] == list(topic_ids())
    sent = Counter(is_later(one) for one in truth(OPEN)["records"]["sent"])
    assert [row["written"]["records"] for row in rows] == [sent[False], sent[True]]
    for row, later in zip(rows, (False, True), strict=True):
        writers = {one["client_id"]: one["records"] for one in row["writers"]}
        assert writers == Counter(
            one["client_id"] for one in truth(OPEN)["records"]["sent"] if is_later(one) is later
        )


def test_records_stand_at_their_offsets_in_either_topic() -> None:
    lines = run("records", "--format", "jsonl", path_of(OPEN)).out.splitlines()
    rows = [row for row in map(json.loads, lines) if row["control"] is None and row["topic"] == "orders"]
    found = {(is_later(row), row["offset"]): row["value"] for row in rows}
    assert found == places("sent")
    read = {name: value for name, value in places("read").items() if value is not None}
    assert read.items() <= found.items()
    by_id = {(row["topic_id"], is_later(row)) for row in rows if row["topic_id"] is not None}
    former, later = topic_ids()
    assert by_id == {(former, False), (later, True)}


def test_positions_and_watermarks_are_of_the_later_topic() -> None:
    ends = [each["offset"] for each in events(OPEN, "ends") if each["topic"] == "orders"]
    for row in facts("groups", OPEN)["groups"]:
        for one in row["partitions"]:
            assert one["high_watermark"] in (None, *ends)
            assert one["lag"] in (None, 0)


def test_offsets_that_groups_committed_are_those_of_the_tool() -> None:
    lags = {each["group"]: each for each in events(OPEN, "lag") if each["client_id"] == "second"}
    rows = facts("groups", OPEN)["groups"]
    found = {row["group"]: one for row in rows for one in row["partitions"] if one["committed"] is not None}
    assert found.keys() == lags.keys()  # that of `by-aiokafka` went with the topic
    for group, one in found.items():
        assert one["committed"] == lags[group]["committed"]
        assert one["committed_lag"] in (None, lags[group]["end"] - lags[group]["committed"])


def test_who_committed_an_offset_of_the_former_topic_is_named() -> None:
    offsets = facts("offsets", OPEN)
    former = [
        (row["group"], row["client_id"], row["after"])
        for row in offsets["commits"]
        if row["what"] == "from a deleted topic of this name"
    ]
    lags = {each["group"]: each for each in events(OPEN, "lag") if each["client_id"] == "second"}
    assert former == [
        ("by-rdkafka", "first-rdkafka-only", lags["by-rdkafka"]["committed"]),
        ("moved", "mover", lags["moved"]["committed"]),
    ]
    others = [row for row in offsets["commits"] if row["what"] != "from a deleted topic of this name"]
    assert [row["group"] for row in others] == ["audit"]  # set by the tool
    assert offsets["written_twice"] == []


def test_a_held_offset_ends_with_its_topic() -> None:
    """The transaction was open when the topic was deleted, and was committed when there was another one."""
    (held,) = facts("offsets", OPEN)["held"]
    deleted = [row["time"] for row in facts("changes", OPEN)["changes"] if row["did"] == "deleted"]
    created = [row["time"] for row in facts("changes", OPEN)["changes"] if row["did"] == "created"]
    assert held["transactional_id"] == "rdkafka-txn" and held["moved"] is None
    assert deleted[0] < held["until"] < created[-1]


def test_transactions_across_topics_end_as_their_clients_said() -> None:
    found = Counter(
        (row["transactional_id"], one["outcome"])
        for row in facts("producers", OPEN)["transactional_ids"]
        for one in row["transactions"]
    )
    assert found == Counter((one["id"], one["outcome"]) for one in truth(OPEN)["transactions"])


@pytest.mark.exhaustive
def test_open_producers_are_right_to_go_on_with_their_sequences() -> None:
    """The log of the later topic takes any sequence: a client that begins again and one that goes on."""
    assert [one["code"] for one in facts("check", OPEN)["findings"]] == []
    counts = facts("producers", OPEN)["producers"]
    assert not any(row["sequence_jumps"] or row["duplicates"] or row["retries"] for row in counts)


@pytest.mark.exhaustive
def test_a_topic_made_again_is_the_cause_and_its_transaction_is_none() -> None:
    causes = [cause["id"] for cause in facts("why", OPEN)["causes"]]
    assert causes == ["topic-recreated", "offset-reset"]
