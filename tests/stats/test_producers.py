"""`kdissect producers` against what the recording scripts knew, and against exchanges made by hand."""

from collections import Counter

import pytest

from kdissect.stats.by_producer import producer_log
from tests.stats.truth import Facts, shown, told, truth

NAMES = [
    "kafka44_java_transactions", "kafka44_franz_transactions", "kafka44_kp3_transactions",
    "kafka44_rdkafka_transactions", "kafka44_aiokafka_transactions", "kafka44_kafkajs_transactions",
    "kafka44_sarama_transactions",
]  # fmt: skip


def outcomes(facts: Facts) -> Counter[tuple[str, str]]:
    return Counter(
        (row["transactional_id"], transaction["outcome"])
        for row in facts["transactional_ids"]
        for transaction in row["transactions"]
    )


@pytest.mark.parametrize("name", NAMES)
def test_how_transactions_ended(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    known = Counter((row["id"], row["outcome"]) for row in truth(name)["transactions"])
    found = outcomes(told(capfd, "producers", name))
    if name == "kafka44_java_transactions":
        found -= Counter([("ledger-2", "open")])  # left open on purpose (its story)
    assert found == known


@pytest.mark.parametrize("name", NAMES)
def test_records_of_committed_transactions(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "producers", name)
    for row in facts["transactional_ids"]:
        for transaction in row["transactions"]:
            assert len(set(transaction["partitions"])) == len(transaction["partitions"])
            assert transaction["records"] >= (1 if transaction["outcome"] == "committed" else 0)
    ids = {row["transactional_id"]: row["client_ids"] for row in facts["transactional_ids"]}
    for row in truth(name)["transactions"]:
        assert any(client.startswith(row["client_id"].split("-")[0]) for client in ids[row["id"]])


def test_fencing_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "producers", "kafka44_java_transactions", "--producer", "ledger-1")
    (row,) = facts["transactional_ids"]
    assert row["outcomes"]["fenced"] == 1
    assert [e["what"] for e in row["events"]][-3:] == ["taken", "old_epoch", "refused"]
    assert row["errors"]["PRODUCER_FENCED"] == 1
    assert [p["transactional_id"] for p in facts["producers"]] == ["ledger-1"]


def test_markers_and_groups(capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "producers", "kafka44_java_transactions")
    (row,) = (row for row in facts["transactional_ids"] if row["transactional_id"] == "ledger-1")
    third = row["transactions"][2]
    assert (third["groups"], third["marked"], third["markers"]) == (["ledger-group"], "commit", 2)


def test_sequences_and_retries(capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "producers", "kafka44_java_transactions")
    (producer,) = (row for row in facts["producers"] if row["transactional_id"] == "ledger-1")
    assert (producer["retries"], producer["duplicates"], producer["sequence_jumps"]) == (3, 0, 0)
    (plain,) = (row for row in facts["producers"] if row["client_ids"] == ["idempotent"])
    (partition,) = plain["partitions"]
    assert (partition["epoch"], partition["next_sequence"]) == (0, 3)
    details = {event["detail"] for event in producer["events"] if event["what"] == "retried"}
    assert details == {"CONCURRENT_TRANSACTIONS"}


def test_who_writes_without_an_id(capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "producers", "kafka28_java_generations_early")
    assert {"v0-8-2-2-producer", "v0-9-0-1-producer"} <= {row["client_id"] for row in facts["without_id"]}


def test_events_are_bounded(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = told(capfd, "producers", "kafka44_quorum_failover")["transactional_ids"][0]
    monkeypatch.setattr(producer_log, "EVENTS_KEPT", 2)
    bounded = told(capfd, "producers", "kafka44_quorum_failover")["transactional_ids"][0]
    assert bounded["events"] == whole["events"][-2:]
    assert bounded["event_counts"] == whole["event_counts"]


def test_tables(capfd: pytest.CaptureFixture[str]) -> None:
    lines = shown(capfd, "producers", "kafka44_java_transactions").splitlines()
    assert [line for line in lines if line in ("transactions", "what happened")] == [
        "transactions", "what happened"
    ]  # fmt: skip
    assert any("PRODUCER_FENCED" in line and "fenced" in line for line in lines)


def test_a_leader_that_moves_costs_retries_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    name = "kafka44_java_leader_moves"
    sent, read = truth(name)["records"]["sent"], truth(name)["records"]["read"]
    assert len({row["value"] for row in sent}) == len(sent) == len(read)  # nothing was lost or repeated
    (row,) = (one for one in told(capfd, "producers", name)["producers"] if one["client_ids"] == ["writes"])
    assert (row["records"], row["duplicates"], row["sequence_jumps"]) == (len(sent), 0, 0)
    assert row["errors"].keys() == {"NOT_LEADER_OR_FOLLOWER"}
    assert row["retries"] == row["errors"]["NOT_LEADER_OR_FOLLOWER"] == row["refusals"]
    ends = {one["partition"]: one["next_sequence"] for one in row["partitions"]}
    partitions = {one["partition"] for one in sent}
    assert ends == {
        f"moves-{number}": sum(one["partition"] == number for one in sent) for number in partitions
    }
    facts = told(capfd, "offsets", name)
    assert (facts["positions"], facts["written_twice"], facts["gaps"]) == ([], [], [])
    leaders = {
        row["broker"] for row in told(capfd, "stats", name, "--api", "Produce", "--by", "broker")["rows"]
    }
    assert len(leaders) == len(partitions)


def test_a_batch_outside_of_what_the_coordinator_knows(capfd: pytest.CaptureFixture[str]) -> None:
    facts = told(capfd, "producers", "kafka44_hanging_raw")
    (hangs,) = (row for row in truth("kafka44_hanging_raw")["events"] if row["what"] == "hangs")
    (row,) = (one for one in facts["transactional_ids"] if one["transactional_id"] == hangs["id"])
    assert (row["producer_id"], row["epoch"]) == (hangs["producer"], hangs["epoch"])
    found = [(event["what"], event["where"], event["seen"]) for event in row["events"]]
    assert found == [("produced_before_added", "stuck-0", ""), ("refused", "", "INVALID_TXN_STATE")]
