"""`kdissect groups` against what the recording scripts knew, and against exchanges made by hand."""

from typing import Any

import pytest

from kdissect.history.topics import TopicNames
from kdissect.history.turn import Turn
from kdissect.session.exchange import Exchange
from kdissect.stats import group_log, groups
from kdissect.stats.group_rows import group_facts
from kdissect.stats.groups import GroupTraffic
from tests.history.talk import Talk
from tests.stats.truth import Facts, shown, told, truth

# Groups in which a member is told what is added: the truth names that, not all it holds.
INCREMENTAL = ("cooperative", "coop", "sticky", "new", "served")
OFFSET_COMMIT, FIND_COORDINATOR, HEARTBEAT = 8, 10, 12


def of(facts: Facts, group: str, kind: str = "classic") -> Facts:
    (found,) = (row for row in facts["groups"] if (row["group"], row["kind"]) == (group, kind))
    return dict(found)


def causes(group: Facts) -> list[set[tuple[str, str]]]:
    return [{(row["cause"], row["member"]) for row in r["causes"]} for r in group["rebalances"]]


def traffic_of(*exchanges: Exchange) -> list[dict[str, Any]]:
    traffic = GroupTraffic(TopicNames())
    for exchange in exchanges:
        traffic.add(Turn(exchange))
    return group_facts(traffic)


@pytest.mark.parametrize(
    "name",
    ["kafka44_java_groups", "kafka44_java_kip848", "kafka44_rdkafka_groups", "kafka44_franz_groups",
     "kafka44_sarama_groups", "kafka44_kp3_groups", "kafka44_aiokafka_groups", "kafka44_kafkajs_groups",
     "kafka44_segmentio_groups"],
)  # fmt: skip
def test_members_and_what_they_held(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    last: dict[tuple[str, str], list[str]] = {}
    for row in truth(name)["groups"]:
        if row["what"] == "assigned" and row.get("partitions"):
            last[row["group"], row["client_id"]] = sorted(row["partitions"])
    told_of = {
        (group["group"], member["client_id"]): member["assigned"]
        for group in told(capfd, "groups", name)["groups"]
        for member in group["members"]
        if member["assigned"]
    }
    for key, partitions in last.items():
        if key[0] not in INCREMENTAL:
            assert told_of[key] == partitions, key


def test_rebalances_of_classic_groups(capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "groups", "kafka44_java_groups")
    assert causes(of(facts, "eager")) == [
        {("first_member", "eager-1")}, {("member_joined", "eager-2")}, {("member_left", "eager-2")}
    ]  # fmt: skip
    assert causes(of(facts, "cooperative"))[1:] == [
        {("member_joined", "cooperative-2")}, {("member_left", "cooperative-2")}
    ]  # fmt: skip
    # static-2 was killed and came back as static-3; static-3 was killed for good (notes of the truth)
    assert causes(of(facts, "static")) == [
        {("first_member", "instance-1")},
        {("member_joined", "instance-2"), ("member_restarted", "instance-2")},
        {("member_lost", "instance-2")},
    ]
    assert [rebalance["members"] for rebalance in of(facts, "static")["rebalances"]] == [1, 2, 1]
    gone = {member["client_id"]: member["gone"] for member in of(facts, "static")["members"]}
    assert gone == {"static-1": None, "static-2": "replaced", "static-3": "lost"}


def test_reasons_members_give(capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "groups", "kafka44_java_groups")
    (left,) = of(facts, "eager")["rebalances"][2]["causes"]
    assert left["reason"] == "the consumer is being closed"
    reasons = of(facts, "cooperative")["rebalances"][2]["reasons"]
    assert reasons == {"cooperative-1": "need to revoke partitions and re-join"}


def test_rebalances_of_modern_groups(capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "groups", "kafka44_rdkafka_groups")
    assert causes(of(facts, "served", "consumer")) == [
        {("first_member", "served-first")}, {("member_joined", "served-second")},
        {("member_left", "served-second")},
    ]  # fmt: skip
    facts = told(capfd, "groups", "kafka44_java_share")
    assert ("member_joined", "worker-2") in causes(of(facts, "workers", "share"))[2]
    facts = told(capfd, "groups", "kafka44_java_streams")
    (member,) = of(facts, "count-streams", "streams")["members"]
    assert member["assigned"] == ["active 0_0", "active 0_1", "active 1_0", "active 1_1"]


def test_connect_assignments(capfd: pytest.CaptureFixture[str]) -> None:
    members = of(told(capfd, "groups", "kafka44_java_connect"), "connect-cluster")["members"]
    assert {member["client_id"]: member["assigned"] for member in members}["connect-2"] == ["sink", "sink/0"]


def test_lag_and_commits(capfd: pytest.CaptureFixture[str]) -> None:
    name = "kafka44_java_groups"
    sent = truth(name)["records"]["sent"]
    for row in of(told(capfd, "groups", name), "eager")["partitions"]:
        written = sum(record["partition"] == row["partition"] for record in sent)
        assert (row["high_watermark"], row["fetch_offset"], row["lag"]) == (written, written, 0)
        assert (row["committed"], row["committed_lag"]) == (written, 0)


def test_a_coordinator_elsewhere() -> None:
    talk = Talk()
    answer = {"coordinators": [
        {"key": "g", "node_id": 3, "host": "10.0.0.9", "port": 9092, "error_code": 0, "error_message": None}
    ]}  # fmt: skip
    ask = talk.ask(FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": ["g"]}, answer)
    (group,) = traffic_of(ask)
    assert (group["state"], group["coordinator"]) == ("coordinator not in the capture", "10.0.0.9:9092")
    near = Talk(broker="10.0.0.9").ask(HEARTBEAT, 0, {"group_id": "h", "member_id": "m", "generation_id": 1})
    states = {row["group"]: row["state"] for row in traffic_of(ask, near)}
    assert states["g"] == "no member seen"


def test_who_was_denied(capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "groups", "kafka44_java_errors")
    denied = {row["principal"] for group in facts["groups"] for row in group["denied"]}
    assert denied == {"mallory"}
    refused = {row["client_id"]: row["code"] for row in truth("kafka44_java_errors")["errors"]}
    assert refused["quarrel-2"] == "InconsistentGroupProtocolException"
    assert of(facts, "quarrel")["errors"]["INCONSISTENT_GROUP_PROTOCOL"] == 1


def test_transactional_ids_are_no_groups() -> None:
    ask = Talk().ask(FIND_COORDINATOR, 4, {"key_type": 1, "coordinator_keys": ["txn"]}, {"coordinators": []})
    assert traffic_of(ask) == []


def test_commits_that_were_refused_do_not_count() -> None:
    talk = Talk()

    def commit(offset: int, error: int) -> Exchange:
        row = {"partition_index": 0, "committed_offset": offset, "committed_metadata": None}
        body = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": "",
                "topics": [{"name": "t", "partitions": [row]}]}  # fmt: skip
        result = {"partition_index": 0, "error_code": error}
        return talk.ask(OFFSET_COMMIT, 5, body, {"topics": [{"name": "t", "partitions": [result]}]})

    (group,) = traffic_of(commit(7, 0), commit(9, 25))
    assert [(row["topic"], row["committed"], row["lag"]) for row in group["partitions"]] == [("t", 7, None)]


def test_longest_gap_between_heartbeats() -> None:
    talk = Talk()
    body = {"group_id": "g", "member_id": "m", "generation_id": 1}
    (group,) = traffic_of(*(talk.ask(HEARTBEAT, 0, body, {"error_code": 0}, at=at) for at in (0, 100, 700)))
    (member,) = group["members"]
    assert (member["heartbeats"], member["heartbeat_gap_ns"]["max"]) == (3, 600_000_000)


def test_groups_and_members_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "GROUPS_KEPT", 3)
    monkeypatch.setattr(group_log, "MEMBERS_KEPT", 2)
    talk = Talk()
    found = traffic_of(
        *(talk.ask(HEARTBEAT, 0, {"group_id": f"g{n // 10}", "member_id": f"m{n}", "generation_id": 1},
                   {"error_code": 0}) for n in range(50))
    )  # fmt: skip
    assert [len(group["members"]) for group in found] == [2, 2, 2]


def test_tables(capfd: pytest.CaptureFixture[str]) -> None:
    text = shown(capfd, "groups", "kafka44_java_groups", "--group", "eag*")
    assert "member left eager-2 (the consumer is being closed)" in text
    assert "cooperative" not in text
    assert [line for line in text.splitlines() if line and " " not in line] == [
        "members", "rebalances", "partitions"
    ]  # fmt: skip
    assert "members\n" not in shown(capfd, "groups", "kafka44_java_groups").splitlines()
