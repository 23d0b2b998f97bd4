"""`kdissect changes` against the request logs of brokers, and changes made by hand."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from kdissect.session.exchange import Exchange
from kdissect.stats.by_change.change_requests import READERS
from kdissect.stats.by_change.change_rows import change_facts
from kdissect.stats.by_change.change_traffic import ChangeTraffic
from tests.corpus.request_log import read_log
from tests.corpus.test_request_log import LOGS, capture_of, key, rows
from tests.history.talk import MS, START_NS, Talk
from tests.stats.truth import names, shown, told, truth

Facts = dict[str, Any]
FETCH, METADATA, OFFSET_COMMIT, CREATE_TOPICS, DELETE_TOPICS, ALTER_CONFIGS = 1, 3, 8, 19, 20, 33
UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE = 3, 5  # org.apache.kafka.common.protocol.Errors
# Parts of the logged requests that a change is named by, for each API that a test looks at.
NAMED = {
    "topics": "name", "topicNames": None, "groupsNames": None, "deletions": "name", "upsertions": "name",
    "featureUpdates": "feature", "results": "user",
}  # fmt: skip


def told_of(*exchanges: Exchange) -> list[Facts]:
    traffic = ChangeTraffic()
    for exchange in exchanges:
        traffic.add(exchange)
    traffic.finish()
    changes: list[Facts] = change_facts(traffic)["changes"]
    return changes


def codes_in(value: Any) -> Iterator[int]:
    """Yield all error codes that a logged response holds."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "errorCode":
                yield inner
            else:
                yield from codes_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from codes_in(inner)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name.partition(".")[0])
def test_every_change_that_a_broker_logged_is_told(log: Any, capfd: pytest.CaptureFixture[str]) -> None:
    name = log.name.partition(".")[0]
    by_exchange: dict[str, list[Facts]] = {}
    for change in told(capfd, "changes", name)["changes"]:
        by_exchange.setdefault(change["exchange"], []).append(change)
    logged = {entry.key: entry for entry in read_log(log)}
    compared = 0
    for row in rows(capture_of(log)):
        entry = logged.get(key(row))
        if entry is None or row["api_key"] not in READERS or entry.response is None:
            continue
        if row["api"] == "OffsetCommit" and entry.request["memberId"]:
            continue  # a member's progress
        changes = by_exchange.get(f"{row['connection']}/{row['exchange']}", [])
        compared += 1
        assert {change["client_id"] for change in changes} <= {entry.client_id}
        assert {change["only_check"] for change in changes} <= {entry.request.get("validateOnly", False)}
        failed = Counter(code for code in codes_in(entry.response) if code)
        if (
            row["api"] != "ElectLeaders" or changes
        ):  # where all are asked for, and nothing is to do, none is told
            assert sum(change["error"] is not None for change in changes) == failed.total(), row["api"]
        for part, field in NAMED.items():
            if row["api"] in ("DeleteRecords", "OffsetCommit", "OffsetDelete", "AlterReplicaLogDirs"):
                continue  # told by partition
            for item in entry.request.get(part) or []:
                wanted = item[field] if field else item
                assert wanted is None or any(wanted in change["name"] for change in changes), row["api"]
    assert compared >= 30


@pytest.mark.parametrize(
    "name",
    ["kafka44_java_produce", "kafka44_rdkafka_produce", "kafka44_aiokafka_produce", "kafka44_kp3_produce"],
)
def test_who_writes_first_has_the_topic_created(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """These scenarios create no topic: each producer writes to one of its own."""
    wrote = {(row["client_id"], row["topic"]) for row in truth(name)["records"]["sent"]}
    created = [
        (row["client_id"], row["name"], row["did"])
        for row in told(capfd, "changes", name)["changes"]
        if row["kind"] == "topic"
    ]
    topics = {topic for _, topic in wrote}
    assert {topic for _, topic, _ in created if topic in topics} <= topics
    automatic = {(client, topic) for client, topic, did in created if did == "created automatically"}
    assert automatic
    assert automatic <= wrote


@pytest.mark.parametrize("name", ["kafka44_java_transactions", "kafka44_java_share", "kafka40_java_share"])
def test_envelopes_and_metadata_tell_the_same_creations(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The port of the broker alone shows Metadata, that of the controller the broker's own requests."""
    everything = told(capfd, "changes", name)["changes"]
    automatic = {
        (row["client_id"], row["name"]) for row in everything if row["did"] == "created automatically"
    }
    assert automatic
    assert all(row["detail"] for row in everything if row["did"] == "created automatically")
    assert not any(row["through"] for row in everything)
    controller = next(
        row["broker"] for row in everything if row["client_id"] == "1" and row["did"] == "created"
    )
    port = controller.rpartition(":")[2]
    forwarded = told(capfd, "changes", name, "--only-port", port)["changes"]
    alone = [row for row in forwarded if row["through"] == "broker 1" and row["kind"] == "topic"]
    assert {(row["client_id"], row["name"]) for row in alone} == automatic


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", names())
def test_no_topic_is_created_twice(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Unless it was deleted between; and causes come before effects."""
    there: set[tuple[str | None, str]] = set()
    last = 0
    for row in told(capfd, "changes", name)["changes"]:
        assert row["time_ns"] >= last
        last = row["time_ns"]
        assert row["took_ns"] is None or row["took_ns"] >= 0
        if row["kind"] != "topic" or row["error"] or row["only_check"] or not row["answered"]:
            continue
        topic = row.get("cluster"), row["name"]
        if row["did"].startswith("created"):
            assert topic not in there, row
            there.add(topic)
        elif row["did"] == "deleted":
            there.discard(topic)


def test_secrets_stay_out(capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("kafka44_java_admin", "kafka44_java_sasl"):
        text = shown(capfd, "changes", name, "--format", "json")
        assert not any(secret in text for secret in truth(name)["secrets"] if secret)
    assert "no.such.config=***" in shown(capfd, "changes", "kafka44_java_admin")


def metadata(talk: Talk, name: str, error: int, version: int = 9, **more: Any) -> Exchange:
    asked = {"topics": [{"name": name}], "allow_auto_topic_creation": True} | more
    told_topic = {"error_code": error, "name": name, "partitions": []}
    return talk.ask(METADATA, version, asked, {"topics": [told_topic]})


def create(talk: Talk, name: str, error: int = 0, only_check: bool = False) -> Exchange:
    topic = {"name": name, "num_partitions": 2, "replication_factor": 1, "assignments": [], "configs": []}
    answer = {"topics": [{"name": name, "error_code": error, "num_partitions": 2, "replication_factor": 1}]}
    return talk.ask(CREATE_TOPICS, 5, {"topics": [topic], "validate_only": only_check}, answer)


def test_automatic_creation_is_told_where_it_was_asked_for() -> None:
    talk, other = Talk(), Talk("10.0.0.3")
    first = metadata(talk, "orders", UNKNOWN_TOPIC)
    (row,) = told_of(first, metadata(other, "orders", UNKNOWN_TOPIC), metadata(other, "orders", 0))
    assert (row["did"], row["name"], row["address"]) == ("created automatically", "orders", "10.0.0.1")
    assert row["time_ns"] == START_NS + 2 * MS
    assert row["took_ns"] == 3 * MS


@pytest.mark.parametrize("error", [UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE])
def test_what_may_not_create_does_not(error: int) -> None:
    talk = Talk()
    refused = metadata(talk, "orders", error, allow_auto_topic_creation=False)
    assert told_of(refused, metadata(talk, "orders", 0)) == []
    assert told_of(metadata(talk, "orders", error)) == []  # never there


def test_a_topic_that_lost_its_leader_was_not_created() -> None:
    talk = Talk()
    steps = metadata(talk, "t", 0), metadata(talk, "t", LEADER_NOT_AVAILABLE), metadata(talk, "t", 0)
    assert told_of(*steps) == []


def test_who_creates_by_a_request_is_not_told_as_automatic() -> None:
    talk = Talk()
    asked = metadata(talk, "t", UNKNOWN_TOPIC)
    steps = asked, create(talk, "t", error=7), create(talk, "t", only_check=True), create(talk, "t")
    rows = told_of(*steps, metadata(talk, "t", 0))
    assert [(row["did"], row["error"], row["only_check"]) for row in rows] == [
        ("perhaps created", "REQUEST_TIMED_OUT", False), ("created", None, True), ("created", None, False),
    ]  # fmt: skip
    gone = talk.ask(DELETE_TOPICS, 1, {"topic_names": ["t"]}, {"responses": [{"name": "t", "error_code": 0}]})
    again = metadata(talk, "t", UNKNOWN_TOPIC), metadata(talk, "t", 0)
    assert [row["did"] for row in told_of(gone, *again)] == ["deleted", "created automatically"]


def test_a_refused_creation_is_not_called_created() -> None:
    (row,) = told_of(create(Talk(), "t", error=38))  # INVALID_REPLICATION_FACTOR
    assert (row["did"], row["error"]) == ("not created", "INVALID_REPLICATION_FACTOR")


def offset_commit(talk: Talk, error: int = 0, **more: Any) -> Exchange:
    partitions = [{"partition_index": number, "committed_offset": 10 + number} for number in (0, 1)]
    asked = {"group_id": "g", "topics": [{"name": "t", "partitions": partitions}]} | more
    rows = [{"partition_index": number, "error_code": error} for number in (0, 1)]
    return talk.ask(OFFSET_COMMIT, 3, asked, {"topics": [{"name": "t", "partitions": rows}]})


TOOL = {"generation_id_or_member_epoch": -1, "member_id": ""}
MEMBER = {"generation_id_or_member_epoch": 3, "member_id": "m"}


def test_offsets_that_a_tool_sets_are_changes() -> None:
    rows = told_of(offset_commit(Talk(), **TOOL), offset_commit(Talk("10.0.0.3"), **MEMBER))
    assert [(row["address"], row["kind"], row["name"], row["did"], row["detail"]) for row in rows] == [
        ("10.0.0.1", "offsets", "of g", "set", "t-0 to 10"),
        ("10.0.0.1", "offsets", "of g", "set", "t-1 to 11"),
    ]
    refused = told_of(offset_commit(Talk(), error=25, **TOOL))  # UNKNOWN_MEMBER_ID: the group has members
    assert {(row["did"], row["error"]) for row in refused} == {("not set", "UNKNOWN_MEMBER_ID")}


def test_what_a_client_has_read_and_commits_is_no_change() -> None:
    """A consumer without a subscription commits as a tool does."""
    talk = Talk()
    body = {"replica_id": -1, "max_wait_ms": 1, "min_bytes": 1, "topics": []}
    reads = talk.ask(FETCH, 4, body, {"throttle_time_ms": 0, "responses": []})
    assert told_of(reads, offset_commit(talk, **TOOL)) == []


def test_what_is_not_answered_says_so_and_values_of_configs_are_masked() -> None:
    talk = Talk()
    configs = [{"name": "ssl.key.password", "value": "hush"}, {"name": "retention.ms", "value": "5"}]
    resource = {"resource_type": 2, "resource_name": "t", "configs": configs}
    (row,) = told_of(talk.ask(ALTER_CONFIGS, 1, {"resources": [resource]}, None))
    assert (row["kind"], row["name"], row["did"]) == ("config", "topic t", "perhaps replaced")
    assert row["detail"] == "ssl.key.password=***, retention.ms=5"
    assert (row["answered"], row["error"], row["took_ns"]) == (False, None, None)
