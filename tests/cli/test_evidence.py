"""What real software did, for views that cross requests: its capture, who holds it, where it is shown."""

from typing import NamedTuple

import pytest

from kdissect.cli import main
from tests.cli.test_docs import CONSOLE, QUESTIONS
from tests.stats.truth import capture, truth
from tests.support.console import CHECKOUT


class Evidence(NamedTuple):
    """A filter finds it in a capture, a test holds a view of it to the truth, a question shows it."""

    what: str
    capture: str
    filter: str
    test: str
    command: str
    shows: str


EVIDENCE = (
    Evidence("produce quota", "kafka44_java_throttled", "api == Produce and throttle > 0",
             "stats/test_throttled.py", "stats", "hasty-producer  Produce"),
    Evidence("fetch quota", "kafka44_java_throttled", "api == Fetch and throttle > 0",
             "stats/test_throttled.py", "stats", "hasty-consumer  Fetch"),
    Evidence("request quota", "kafka44_java_quotas", "api == Fetch and throttle > 0",
             "stats/test_quotas.py", "stats", "busy       Fetch"),
    Evidence("controller mutation quota", "kafka44_java_quotas", "errors == THROTTLING_QUOTA_EXCEEDED",
             "stats/test_quotas.py", "stats", "THROTTLING_QUOTA_EXCEEDED"),
    Evidence("gap of sequences", "kafka44_missteps_raw", "errors == OUT_OF_ORDER_SEQUENCE_NUMBER",
             "history/test_missteps.py", "producers", "sequence gap"),
    Evidence("duplicate sequence", "kafka011_twice_raw", "errors == DUPLICATE_SEQUENCE_NUMBER",
             "history/test_missteps.py", "producers", "DUPLICATE_SEQUENCE_NUMBER"),
    Evidence("mechanism", "kafka44_java_refused", "errors == UNSUPPORTED_SASL_MECHANISM",
             "stats/test_logins.py", "logins", "UNSUPPORTED_SASL_MECHANISM"),
    Evidence("fetch session epoch", "kafka44_missteps_raw", "errors == INVALID_FETCH_SESSION_EPOCH",
             "history/test_missteps.py", "inspect", "INVALID_FETCH_SESSION_EPOCH"),
    Evidence("fetch session evicted, one slot", "kafka28_java_evicted",
             "errors == FETCH_SESSION_ID_NOT_FOUND",
             "stats/test_fetch_sessions.py", "fetch-sessions", "1 FETCH_SESSION_ID_NOT_FOUND"),
    Evidence("hanging transaction", "kafka44_hanging_raw", "errors == INVALID_TXN_STATE",
             "stats/test_offsets.py", "offsets", "forgotten"),
    Evidence("leader moves under an idempotent producer", "kafka44_java_leader_moves",
             "api == Produce and errors == NOT_LEADER_OR_FOLLOWER",
             "stats/test_producers.py", "producers", "NOT_LEADER_OR_FOLLOWER"),
    Evidence("consumer killed in a rebalance", "kafka44_java_killed", "client_id == classic-dies",
             "stats/test_modern_groups.py", "groups", "member lost classic-dies"),
    Evidence("rebalance that does not end", "kafka44_java_waiting",
             "api == JoinGroup and state == unanswered",
             "stats/test_modern_groups.py", "groups", "not over"),
    Evidence("rebalances over and over", "kafka44_java_rejoins", "api == LeaveGroup",
             "stats/test_modern_groups.py", "groups", "consumer poll timeout has expired"),
    Evidence("consumer that resets", "kafka44_java_positions", "errors == OFFSET_OUT_OF_RANGE",
             "stats/test_offsets.py", "offsets", "its offset was out of range"),
    Evidence("gaps of a compacted topic", "kafka44_java_gaps", "api == Fetch and client_id == reads",
             "stats/test_offsets.py", "offsets", "offsets without records"),
    Evidence("follower fetching", "kafka44_java_racks",
             "response.body.responses.partitions.preferred_read_replica >= 0",
             "stats/test_racks.py", "stats", "asked to read from another replica"),
    Evidence("share redelivery", "kafka44_java_redelivery",
             "response.body.responses.partitions.acquired_records.delivery_count > 2",
             "cli/captures/test_records.py", "inspect", '"delivery_count":3'),
    Evidence("too few replicas", "kafka44_java_racks", "errors == NOT_ENOUGH_REPLICAS",
             "stats/test_racks.py", "stats", "NOT_ENOUGH_REPLICAS"),
)  # fmt: skip


@pytest.mark.parametrize("one", EVIDENCE, ids=lambda one: one.what)
def test_it_is_recorded_held_and_shown(one: Evidence, capfd: pytest.CaptureFixture[str]) -> None:
    assert truth(one.capture)["broker"]["software"] == "Apache Kafka"
    assert main(["inspect", capture(one.capture), "-Y", one.filter, "-e", "api", "--no-header"]) == 0
    assert capfd.readouterr().out.split()
    assert one.capture in (CHECKOUT / "tests" / one.test).read_text()
    # The output is that of the command: test_docs.
    shown = [match[2] for match in CONSOLE.finditer(QUESTIONS.read_text())
             if match[1].startswith(f"kdissect {one.command} captures/{one.capture}.")]  # fmt: skip
    assert any(one.shows in output for output in shown)
