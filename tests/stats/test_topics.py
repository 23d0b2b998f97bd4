"""`kdissect topics` against what the recording scripts knew."""

import json
from collections import Counter

import pytest

import kdissect
from kdissect.cli import main
from kdissect.history.topics.topic_names import TopicNames
from kdissect.stats.by_topic import topic as topic_module
from kdissect.stats.by_topic import topic_traffic as topics_module
from kdissect.stats.by_topic.topic_rows import topic_facts
from kdissect.stats.by_topic.topic_traffic import TopicTraffic
from tests.stats.truth import capture, names, shown, told, truth

# Written with acks=0 to a partition that refused it: the client cannot know, and the wire does not tell.
SILENT = {("kafka44_kafkajs_produce", "p-codec-none")}
SENT = [name for name in names() if truth(name).get("records", {}).get("sent")]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", SENT)
def test_who_wrote_how_many_records(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    sent = Counter((row["client_id"], row["topic"]) for row in truth(name)["records"]["sent"])
    written: Counter[tuple[str, str]] = Counter()
    for topic in told(capfd, "topics", name, "--sizes")["topics"]:
        for user in topic["writers"]:
            written[user["client_id"], topic["topic"]] += user["records"]
    clients = {client for client, _ in written}
    for (client, topic), count in sent.items():
        # Some scripts name a client by what it does, not by the client id it has on the wire.
        if client in clients and written[client, topic] and (name, client) not in SILENT:
            assert written[client, topic] == count, (client, topic)
    assert clients & {client for client, _ in sent}


@pytest.mark.parametrize("client", ["rdkafka", "sarama", "kp3", "segmentio", "aiokafka", "franz", "java"])
def test_headers_tell_the_same_as_the_records(client: str, capfd: pytest.CaptureFixture[str]) -> None:
    name = f"kafka44_{client}_produce"
    quick, slow = told(capfd, "topics", name), told(capfd, "topics", name, "--sizes")
    for one, other in zip(quick["topics"], slow["topics"], strict=True):
        assert (one["written"], one["read"]) == (other["written"], other["read"])
        assert one["key_bytes"] is None
    sizes = Counter(len(row["key"] or "") for row in truth(name)["records"]["sent"] if row["key"] is not None)
    assert max(sizes) in {topic["key_bytes"]["max"] for topic in slow["topics"] if topic["key_bytes"]}


def test_who_read_and_for_which_group(capfd: pytest.CaptureFixture[str]) -> None:
    name = "kafka44_java_groups"
    read = Counter((row["client_id"], row["topic"]) for row in truth(name)["records"]["read"])
    (topic,) = told(capfd, "topics", name)["topics"]
    found = {(row["client_id"], "shared"): row["records"] for row in topic["readers"] if row["records"]}
    assert found == read
    assert {row["client_id"]: row["groups"] for row in topic["readers"]} == {
        "eager-1": ["eager"], "eager-2": ["eager"], "cooperative-1": ["cooperative"], "static-1": ["static"]
    }  # fmt: skip


def test_markers_are_no_records(capfd: pytest.CaptureFixture[str]) -> None:
    name = "kafka44_java_transactions"
    topics = {row["topic"]: row for row in told(capfd, "topics", name)["topics"]}
    (reader,) = (row for row in topics["ledger"]["readers"] if row["client_id"] == "read_uncommitted")
    read = [row for row in truth(name)["records"]["read"] if row["client_id"] == "read_uncommitted"]
    assert reader["records"] == len(read)
    assert topics["ledger"]["control_batches"] > 0


def test_principals(capfd: pytest.CaptureFixture[str]) -> None:
    topics = told(capfd, "topics", "kafka44_franz_sasl")["topics"]
    users = {(row["client_id"], row["principal"]) for t in topics for row in (*t["writers"], *t["readers"])}
    assert users == {("p-alice", "alice"), ("c-alice", "alice"), ("p-bob", "bob"), ("c-bob", "bob")}


def test_denied_attempts(capfd: pytest.CaptureFixture[str]) -> None:
    name = "kafka44_java_errors"
    refused = {
        row["client_id"] for row in truth(name)["errors"] if row["code"] == "TopicAuthorizationException"
    }
    topics = told(capfd, "topics", name)["topics"]
    denied = [(row["principal"], row["client_id"], row["api"]) for t in topics for row in t["denied"]]
    assert {client for _, client, _ in denied} >= refused
    assert {principal for principal, _, _ in denied} == {"mallory"}
    assert {api for _, _, api in denied} >= {"CreateTopics", "DeleteTopics", "DescribeConfigs", "Metadata"}


def test_what_a_broker_refused(capfd: pytest.CaptureFixture[str]) -> None:
    topics = {row["topic"]: row for row in told(capfd, "topics", "kafka44_java_errors")["topics"]}
    (writer,) = topics["small"]["writers"]
    assert (writer["records"], writer["refused"], writer["errors"]) == (0, 1, {"MESSAGE_TOO_LARGE": 1})


def test_followers_are_no_readers(capfd: pytest.CaptureFixture[str]) -> None:
    for topic in told(capfd, "topics", "kafka39_quorum")["topics"]:
        for user in topic["readers"]:
            assert (user["role"] == "follow") == (user["client_id"] or "").startswith(("broker-", "raft-"))


def test_old_compressed_messages_do_not_say_how_many(capfd: pytest.CaptureFixture[str]) -> None:
    name = "kafka28_java_generations_early"
    topics = {row["topic"]: row for row in told(capfd, "topics", name)["topics"]}
    assert topics["v0-10-0-1"]["written"]["uncounted"] == 1
    text = shown(capfd, "topics", name, "--topic", "v0-10-0-1")
    assert "more than 0" in text
    assert "how many records compressed batches of old formats hold: --sizes counts them" in text
    assert "--sizes" not in shown(capfd, "topics", name, "--topic", "v0-10-0-1", "--sizes")


def test_encrypted_connections_are_told(capfd: pytest.CaptureFixture[str]) -> None:
    text = shown(capfd, "topics", "kafka44_java_tls12")
    assert "connections that cannot be read" in text
    assert "tls" in text


def test_tables_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics_module, "TOPICS_KEPT", 2)
    monkeypatch.setattr(topic_module, "USERS_KEPT", 1)
    found = TopicTraffic(TopicNames())
    for exchange in kdissect.open(capture("kafka44_java_produce")):
        found.add(exchange)
    rows = topic_facts(found)
    assert [row["topic"] for row in rows][-1] == "(other)"
    assert len(rows) == 3
    total = sum(row["written"]["records"] for row in rows)
    assert total == len(truth("kafka44_java_produce")["records"]["sent"])


def test_captures_beside_another_cluster_change_no_topic(capfd: pytest.CaptureFixture[str]) -> None:
    """Exchanges before a capture's first Metadata answer belong to the cluster that it names."""
    alone = told(capfd, "topics", "kafka28_java_admin")["topics"]
    main(
        [
            "topics",
            *(str(capture(name)) for name in ("kafka44_java_groups", "kafka28_java_admin")),
            "--format",
            "json",
        ]
    )
    both = json.loads(capfd.readouterr().out)["topics"]
    clusters = Counter(row.pop("cluster") for row in both)
    assert sorted(clusters.values()) == sorted([len(alone), len(both) - len(alone)])
    assert [row for row in both if row in alone] == alone
