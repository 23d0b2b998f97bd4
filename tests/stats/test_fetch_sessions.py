"""`kdissect fetch-sessions` against the bodies that `kdissect inspect` prints, and exchanges made by hand."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.history.sessions.fetch_parts import fetch_parts
from kdissect.session.exchange import Exchange
from kdissect.stats.by_fetcher import fetcher
from kdissect.stats.by_fetcher.fetch_session_traffic import FetchSessionTraffic, fetch_session_facts
from kdissect.stats.times.response_time import is_empty_early
from tests.history.talk import Talk
from tests.stats.truth import capture, shown, told, truth

FETCH = 1
NOT_FOUND = 70  # FETCH_SESSION_ID_NOT_FOUND


def brings_nothing(answer: dict[str, Any]) -> bool:
    rows = [partition for topic in answer["responses"] for partition in topic["partitions"]]
    told_ = any(row["error_code"] or row.get("preferred_read_replica", -1) >= 0 for row in rows)
    records = any((row.get("records") or {}).get("bytes") for row in rows)
    return not (told_ or records or answer["error_code"]) and bool(rows or answer["session_id"])


@pytest.mark.parametrize("name", ["kafka44_java_groups", "kafka44_java_connect", "kafka39_quorum"])
def test_counts_are_those_of_the_bodies(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", capture(name), "--api", "Fetch", "--bodies", "--format", "jsonl"]) == 0
    incremental: Counter[tuple[str, str]] = Counter()
    empty: Counter[tuple[str, str]] = Counter()
    made: Counter[tuple[str, str]] = Counter()
    for line in capfd.readouterr().out.splitlines():
        row = json.loads(line)
        asked, who = row["request"]["body"], (row["client_id"], row["broker"])
        answer = None if row["response"] is None else row["response"]["body"]
        incremental[who] += asked["session_epoch"] > 0 and not (answer and answer["error_code"])
        if answer is None:
            continue
        empty[who] += brings_nothing(answer)
        made[who] += asked["session_epoch"] == 0 and answer["session_id"] != 0
    rows = told(capfd, "fetch-sessions", name)["clients"]
    answered = {(row["client_id"], row["broker"]): row for row in rows}
    for who, count in made.items():
        assert sum(answered[who]["rebuilt"].values()) == max(count - 1, 0)
        assert answered[who]["empty"] == empty[who]
        assert answered[who]["incremental"] == incremental[who]


def fetch(
    talk: Talk, session: int, epoch: int, told_session: int, error: int = 0, max_wait_ms: int = 1,
    min_bytes: int = 1,
) -> Exchange:  # fmt: skip
    limits = {"max_wait_ms": max_wait_ms, "min_bytes": min_bytes, "max_bytes": 1, "isolation_level": 0}
    session_fields = {"session_id": session, "session_epoch": epoch}
    body = limits | session_fields | {"replica_id": -1, "topics": [], "forgotten_topics_data": []}
    answer = {"throttle_time_ms": 0, "error_code": error, "session_id": told_session, "responses": []}
    return talk.ask(FETCH, 7, body, answer)


def facts_of(*exchanges: Exchange) -> dict[str, Any]:
    traffic = FetchSessionTraffic()
    for exchange in exchanges:
        traffic.add(exchange)
    traffic.finish()
    return fetch_session_facts(traffic)


def test_why_sessions_were_rebuilt() -> None:
    talk = Talk()
    (row,) = facts_of(
        fetch(talk, 0, 0, 5), fetch(talk, 5, 1, 5), fetch(talk, 5, 2, 0, NOT_FOUND), fetch(talk, 0, 0, 6),
        fetch(talk, 6, 0, 7), fetch(talk, 0, 0, 8),
    )["clients"]  # fmt: skip
    assert row["rebuilt"] == {"evicted": 1, "closed by the client": 1, "nothing seen": 1}
    assert [session["session_id"] for session in row["sessions"]] == [5, 6, 7, 8]
    assert (row["incremental"], row["empty"]) == (1, 5)  # four were given a session and nothing else
    assert row["refused"] == {"FETCH_SESSION_ID_NOT_FOUND": 1}


def test_a_session_without_partitions_is_ended_by_the_broker() -> None:
    talk = Talk()
    (row,) = facts_of(fetch(talk, 0, 0, 5), fetch(talk, 5, 1, 0), fetch(talk, 0, 0, 6))["clients"]
    assert row["rebuilt"] == {"no partitions left": 1}
    assert [session["open"] for session in row["sessions"]] == [False, True]


def test_a_full_cache() -> None:
    talk = Talk()
    (row,) = facts_of(fetch(talk, 0, 0, 0), fetch(talk, 0, 0, 0))["clients"]
    assert (row["not_created"], row["without_session"], row["sessions"]) == (2, 2, [])


def test_sessions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "SESSIONS_KEPT", 3)
    talk = Talk()
    (row,) = facts_of(*(fetch(talk, 0, 0, number) for number in range(1, 20)))["clients"]
    assert [session["session_id"] for session in row["sessions"]] == [17, 18, 19]
    assert row["rebuilt"] == {"nothing seen": 18}


def test_table(capfd: pytest.CaptureFixture[str]) -> None:
    lines = shown(capfd, "fetch-sessions", "kafka39_quorum").splitlines()
    assert any("follower" in line and "1 new connection" in line for line in lines)


def test_a_session_that_its_own_client_closed_and_uses_again() -> None:
    talk = Talk()
    (row,) = facts_of(
        fetch(talk, 0, 0, 5), fetch(talk, 5, 1, 5), fetch(talk, 5, -1, 0), fetch(talk, 5, 2, 0, NOT_FOUND)
    )["clients"]
    assert (row["odd"], row["refused"]) == ({"used after close": 1}, {"FETCH_SESSION_ID_NOT_FOUND": 1})
    assert (row["incremental"], row["without_session"]) == (1, 1)


def test_the_one_that_was_recorded(capfd: pytest.CaptureFixture[str]) -> None:
    """franz-go closes a session on a second connection and uses it on the first."""
    rows = told(capfd, "fetch-sessions", "kafka28zk_franz_late")["clients"]
    (row,) = (row for row in rows if row["client_id"] == "c-v2-5")
    assert (row["odd"], row["refused"]) == ({"used after close": 1}, {"FETCH_SESSION_ID_NOT_FOUND": 1})
    assert row["incremental"] == 0


def test_clients_that_spin() -> None:
    """Empty answers after a millisecond where half a second was to be waited."""
    talk = Talk()
    polls = [fetch(talk, 0, 0, 5, max_wait_ms=500)]
    polls += [fetch(talk, 5, epoch, 5, max_wait_ms=500) for epoch in range(1, 9)]
    (row,) = facts_of(*polls)["clients"]
    assert row["empty_early"] == 9
    patient = Talk("10.0.0.5")
    (row,) = facts_of(*(fetch(patient, 0, -1, 0, max_wait_ms=5) for _ in range(9)))["clients"]
    assert row["empty_early"] == 0


SPIN = "faults/recorded/spinning-consumer-2"
PATIENCE_MS = (8).to_bytes(4), (500).to_bytes(4)
BYTES_WANTED = (1).to_bytes(4) + (50 << 20).to_bytes(4)  # fetch.min.bytes, fetch.max.bytes of librdkafka


def test_who_spins_without_a_session_and_is_not_held(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A client that waits for 8 ms, as recorded, made one that no broker lets wait for its 500 ms."""
    recorded = gzip.decompress(Path(capture(SPIN)).read_bytes())
    waits, would = (patience + BYTES_WANTED for patience in PATIENCE_MS)
    fetches = recorded.count(waits)
    path = tmp_path / "spin.pcapng"
    path.write_bytes(recorded.replace(waits, would))
    only = "-Y", "api == Fetch and client_id == watch"
    assert main(["stats", str(path), *only, "--format", "json"]) == 0
    total = json.loads(capfd.readouterr().out)["total"]
    answered = total["latency_ns"]["count"]
    assert total["exchanges"] == fetches
    assert (total["unclear"], total["empty_early"]) == (0, answered)
    assert total["broker_ns"] == total["latency_ns"]
    assert main(["fetch-sessions", str(path), *only, "--format", "json"]) == 0
    (row,) = json.loads(capfd.readouterr().out)["clients"]
    assert (row["requests"], row["without_session"], row["sessions"]) == (fetches, fetches, [])
    assert (row["empty"], row["empty_early"]) == (answered, answered)


def test_who_wants_no_bytes_is_answered_at_once() -> None:
    """With fetch.min.bytes=0 no broker waits: that is not early."""
    talk = Talk()
    polls = [fetch(talk, 0, 0, 5, max_wait_ms=500, min_bytes=0)]
    polls += [fetch(talk, 5, epoch, 5, max_wait_ms=500, min_bytes=0) for epoch in range(1, 9)]
    (row,) = facts_of(*polls)["clients"]
    assert (row["requests"], row["empty"], row["empty_early"]) == (9, 9, 0)


def partition(records: bytes | None, error: int = 0) -> dict[str, Any]:
    row = {"partition_index": 0, "error_code": error, "high_watermark": 0, "records": records}
    return {"topic": "t", "partitions": [row | {"last_stable_offset": 0, "aborted_transactions": None}]}


@pytest.mark.parametrize(
    ("responses", "expected"),
    [([partition(None)], True), ([partition(b"")], True), ([partition(None, error=3)], False), ([], False)],
)
def test_without_a_session_a_partition_without_records_is_told(
    responses: list[dict[str, Any]], expected: bool
) -> None:
    asked = {"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 9}]}
    body = {"replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 9, "isolation_level": 0}
    talk = Talk()
    exchange = talk.ask(FETCH, 4, body | {"topics": [asked]}, {"throttle_time_ms": 0, "responses": responses})
    parts = fetch_parts(exchange)
    assert parts is not None
    assert is_empty_early(exchange, parts) is expected


def test_session_that_was_evicted(capfd: pytest.CaptureFixture[str]) -> None:
    """A broker with one slot gives it to another once it was not used for two minutes."""
    name = "kafka28_java_evicted"
    clients = {row["client_id"]: row for row in told(capfd, "fetch-sessions", name)["clients"]}
    pausing, steady = clients["pausing"], clients["steady"]
    assert pausing["refused"] == {"FETCH_SESSION_ID_NOT_FOUND": 1}
    assert pausing["odd"] == {}  # it did nothing wrong
    assert (len(pausing["sessions"]), pausing["incremental"]) == (1, 1)
    assert (
        pausing["not_created"] == pausing["requests"] - 3
    )  # the one that made it, one more, the refused one
    assert (len(steady["sessions"]), steady["refused"]) == (1, {})
    read = [row for row in truth(name)["records"]["read"] if row["client_id"] == "pausing"]
    assert len(read) == 8  # before it paused
