"""Quotas of a real broker that are not of bytes (kafka44_java_quotas)."""

import pytest

from tests.stats.truth import told, truth

NAME = "kafka44_java_quotas"


def test_who_is_above_its_quota_is_throttled_and_nobody_else(capfd: pytest.CaptureFixture[str]) -> None:
    rows = told(capfd, "stats", NAME, "--by", "api,client_id")["rows"]
    throttled = {(row["api"], row["client_id"]) for row in rows if (row["throttle_ns"] or {}).get("max")}
    assert {client for _, client in throttled} == {"busy", "creator"}
    assert {("Fetch", "busy"), ("CreateTopics", "creator")} <= throttled


def test_topics_are_there_after_as_many_tries_as_the_quota_took(capfd: pytest.CaptureFixture[str]) -> None:
    calls = [row for row in truth(NAME)["events"] if row.get("call") == "createTopics"]
    changes = told(capfd, "changes", NAME, "-Y", "api == CreateTopics")["changes"]
    done = [row["name"] for row in changes if row["error"] is None]
    assert done == [f"wide-{number}" for number in range(len(calls))]
    refused = [row for row in changes if row["error"] is not None]
    assert {row["error"] for row in refused} == {"THROTTLING_QUOTA_EXCEEDED"}
    assert {row["name"] for row in refused} <= set(done)
    quotas = {
        row["name"]: row["detail"]
        for row in told(capfd, "changes", NAME)["changes"]
        if row["kind"] == "quota"
    }
    assert quotas == {
        "client-id busy": "request_percentage=1", "client-id creator": "controller_mutation_rate=1",
    }  # fmt: skip


def test_one_consumer_more_than_there_are_fetch_sessions(capfd: pytest.CaptureFixture[str]) -> None:
    rows = told(capfd, "fetch-sessions", NAME)["clients"]
    refused = {row["client_id"] for row in rows if row["not_created"] and not row["sessions"]}
    assert len(refused) == 1
    assert next(iter(refused)).startswith("many-")
