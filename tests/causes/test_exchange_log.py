"""What is recorded of exchanges made by hand: errors, late responses, requests without one, readers."""

from __future__ import annotations

from typing import Any

import pytest

from kdissect.causes.evidence.exchange_log import (
    ErrorKey,
    ExchangeLog,
    HeldKey,
    LateKey,
    Open,
    TroubleKey,
    UnansweredKey,
)
from kdissect.causes.evidence.reported_trouble import ReportedTrouble
from kdissect.causes.evidence.seen import EVIDENCE_KEPT, Seen
from kdissect.causes.evidence.watching_judge import WatchingJudge
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.cause import Packets
from kdissect.session.exchange import DelayOfSide, Exchange, State
from kdissect.session.info import Close, CloseKind
from kdissect.stats.client import Client
from kdissect.stats.times.stalls import Stalls, Wait
from kdissect.stats.times.waited import bytes_are_missing
from tests.history.talk import MS, START_NS, Talk

WHO = Client(None, "client", None, "10.0.0.1")
NOBODY = Client(None, None, None, "")
BROKER = "10.0.0.2:9092"
ID = bytes(15) + b"\x07"


def log(*exchanges: Exchange) -> ExchangeLog:
    found = ExchangeLog(TopicNames())
    for each in exchanges:
        found.add(each)
    return found


def times(table: Any) -> dict[Any, int]:
    return {key: seen.times for key, seen in table.items()}


def metadata(talk: Talk, *codes: int, version: int = 4, **asked: Any) -> Exchange:
    """Return a request for topics `t0` ..., and an error code for each."""
    rows = [
        {"error_code": code, "name": f"t{at}", "is_internal": False, "partitions": []}
        for at, code in enumerate(codes)
    ]
    request = {"topics": [{"name": row["name"]} for row in rows], "allow_auto_topic_creation": True}
    answer = {"throttle_time_ms": 0, "brokers": [], "cluster_id": "c", "controller_id": 1, "topics": rows}
    return talk.ask(3, version, request | asked, answer)


def test_errors_of_one_response_are_counted_once_for_each_thing() -> None:
    talk = Talk()
    found = log(metadata(talk, 3, 0, 5), metadata(talk, 3))

    def key(code: int, topic: str) -> ErrorKey:
        return ErrorKey("set", 3, code, WHO, BROKER, topic, None, None)

    assert times(found.errors) == {key(5, "t2"): 1, key(3, "t0"): 2}
    first = found.errors.peek(key(3, "t0"))
    assert first is not None and first.time_ns == 2 * MS  # the time of both responses
    assert [one.exchange for one in first.evidence] == [0, 1]


@pytest.mark.parametrize(
    ("code", "version", "may_create", "count"),
    [(3, 4, True, 1), (5, 4, True, 1), (6, 4, True, 0), (5, 4, False, 0), (5, 1, True, 1), (3, 1, True, 0)],
)
def test_topics_that_a_request_may_create(code: int, version: int, may_create: bool, count: int) -> None:
    found = log(metadata(Talk(), code, version=version, allow_auto_topic_creation=may_create))
    assert [key for key, _ in found.may_create.items()] == [("set", WHO, "t0")] * count


def test_the_first_request_for_a_topic_is_the_one_that_may_have_created_it() -> None:
    talk = Talk()
    ((_, packets),) = log(metadata(talk, 3), metadata(talk, 3)).may_create.items()
    assert packets.exchange == 0


def test_topics_that_somebody_creates() -> None:
    topic = {"name": "t", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    asked = {"topics": [topic], "timeout_ms": 1, "validate_only": False}
    answered = {"topics": [{"name": "t", "error_code": 42, "error_message": "no"}]}
    found = log(Talk().ask(19, 1, asked, answered))
    assert found.created == {("set", "t")}
    key = ErrorKey("set", 19, 42, WHO, BROKER, "t", None, None)
    assert dict(found.messages.items()) == {key: "no"}


@pytest.mark.parametrize(
    ("kind", "group", "txn"), [(0, "x", None), (1, None, "x"), (2, None, None)], ids=["group", "txn", "share"]
)
def test_errors_name_what_a_coordinator_is_asked_for(kind: int, group: str | None, txn: str | None) -> None:
    asked = {"key": "x", "key_type": kind}
    answered = {
        "throttle_time_ms": 0, "error_code": 15, "error_message": None, "node_id": 1, "host": "h", "port": 1,
    }  # fmt: skip
    found = log(Talk().ask(10, 1, asked, answered))
    assert times(found.errors) == {ErrorKey("set", 10, 15, WHO, BROKER, None, group, txn): 1}


def test_trouble_in_words() -> None:
    answered = {"error_code": 0, "error_message": None, "auth_bytes": b'{"status":"invalid_token"}'}
    talk = Talk()
    found = log(*(talk.ask(36, 0, {"auth_bytes": b"x"}, answered) for _ in range(2)))
    trouble = ReportedTrouble(None, '{"status":"invalid_token"}')
    assert times(found.troubles) == {TroubleKey("set", 36, WHO, BROKER, None, trouble): 2}


def heartbeat(talk: Talk, took: int | None, throttle: int | None = None) -> Exchange:
    version = 0 if throttle is None else 2
    answered = {"error_code": 0} if throttle is None else {"error_code": 0, "throttle_time_ms": throttle}
    asked = {"group_id": "g", "generation_id": 1, "member_id": "m"}
    return talk.ask(12, version, asked, None if took is None else answered, took=took or 0)


def waits(*exchanges: Exchange) -> list[Wait]:
    found = Stalls()
    for each in exchanges:
        found.add(each)
    return list(found.waits)


def late(*exchanges: Exchange) -> list[tuple[LateKey, int]]:
    return [(key, seen.time_ns // MS) for key, seen in log(*exchanges).late.items()]


@pytest.mark.parametrize(("took", "is_late"), [(100, True), (99, False)])
def test_responses_are_late_from_a_tenth_of_a_second_on(took: int, is_late: bool) -> None:
    assert late(heartbeat(Talk(), took)) == [(LateKey("set", 12, WHO, BROKER), 100)] * is_late


def test_the_network_is_not_the_broker() -> None:
    far = heartbeat(Talk(), 150)
    far.broker_trip_ns = 51 * MS
    assert late(far) == []
    far.broker_trip_ns = 50 * MS
    assert [took for _, took in late(far)] == [100]
    again = heartbeat(Talk(), 150)
    sent_ns = START_NS + 2 * MS
    again.delays = [DelayOfSide(False, sent_ns + 10 * MS, sent_ns + 40 * MS)]
    assert [took for _, took in late(again)] == [120]


@pytest.mark.parametrize(("version", "took"), [(1, 130), (2, 180)])
def test_a_broker_that_throttles_an_old_client_waits_before_it_answers(version: int, took: int) -> None:
    """From version 2 on the client waits."""
    asked = {"group_id": "g", "generation_id": 1, "member_id": "m"}
    exchange = Talk().ask(12, version, asked, {"error_code": 0, "throttle_time_ms": 50}, took=180)
    assert [one for _, one in late(exchange)] == [took]


def fetch(talk: Talk, took: int | None = 1, asked: dict[str, Any] | None = None, **row: Any) -> Exchange:
    """Of one partition, by a client that waits for half a second."""
    partition = {
        "partition": 3, "current_leader_epoch": -1, "fetch_offset": 0, "log_start_offset": -1,
        "partition_max_bytes": 1,
    }  # fmt: skip
    request = {
        "replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1, "isolation_level": 1,
        "session_id": 0, "session_epoch": -1, "forgotten_topics_data": [], "rack_id": "",
        "topics": [{"topic": "t", "partitions": [partition]}],
    }  # fmt: skip
    answered = {
        "partition_index": 3, "error_code": 0, "high_watermark": 10, "last_stable_offset": 10,
        "log_start_offset": 0, "aborted_transactions": None, "preferred_read_replica": -1, "records": None,
    }  # fmt: skip
    responses = [{"topic": "t", "partitions": [answered | row]}]
    answer = {"throttle_time_ms": 0, "error_code": 0, "session_id": 0, "responses": responses}
    return talk.ask(1, 11, request | (asked or {}), None if took is None else answer, took=took or 0)


def test_time_in_line_is_not_late_but_the_client_waits() -> None:
    exchange = heartbeat(Talk(), 5000)
    assert exchange.request is not None
    exchange.answered_before_ns = exchange.request.end_time_ns + 4901 * MS
    assert late(exchange) == []
    assert len(waits(exchange)) == 1
    exchange.answered_before_ns -= MS
    assert [took for _, took in late(exchange)] == [100]
    exchange.broker_trip_ns = 40 * MS  # of the time in line that was on the way
    assert [took for _, took in late(exchange)] == [100]


@pytest.mark.parametrize(("took", "is_late"), [(600, True), (599, False)])
def test_a_fetch_is_late_after_the_wait_that_it_asks_for(took: int, is_late: bool) -> None:
    assert late(fetch(Talk(), took)) == [(LateKey("set", 1, WHO, BROKER), 100)] * is_late


def test_who_waits_for_a_group_is_not_late() -> None:
    asked = {"group_id": "g", "generation_id": 1, "member_id": "m", "assignments": []}
    assert late(Talk().ask(14, 0, asked, {"error_code": 0, "assignment": b""}, took=5000)) == []


def unanswered(exchange: Exchange, close: Close | None = None, **changed: Any) -> ExchangeLog:
    exchange.close, exchange.state = close, State.UNANSWERED
    for name, value in changed.items():
        setattr(exchange, name, value)
    return log(exchange)


@pytest.mark.parametrize(
    ("close", "closed_by", "waited"),
    [
        (None, None, 0),
        (Close("client", CloseKind.FIN, START_NS + 2 * MS + 300 * MS), "client", 300),
        (Close("broker", CloseKind.RST, START_NS + 2 * MS + 300 * MS), "broker", 300),
        (Close(None, CloseKind.CAPTURE_END, START_NS + 2 * MS + 300 * MS), None, 0),
    ],
)
def test_a_request_without_a_response(close: Close | None, closed_by: str | None, waited: int) -> None:
    found = unanswered(heartbeat(Talk(), None), close)
    ((key, seen),) = found.unanswered.items()
    assert key == UnansweredKey("set", 12, WHO, BROKER, closed_by)
    assert (seen.times, seen.time_ns) == (1, waited * MS)


@pytest.mark.parametrize(
    ("by", "after", "count"), [("client", 1000, 1), ("client", 999, 0), ("broker", 1000, 0), (None, 1000, 0)]
)
def test_requests_that_waited_for_a_second(by: str | None, after: int, count: int) -> None:
    """Until the client ended the connection, or until the response."""
    close = Close(by, CloseKind.FIN, START_NS + 2 * MS + after * MS)
    exchange = heartbeat(Talk(), None)
    exchange.close, exchange.state = close, State.UNANSWERED
    evidence = ExchangeView(exchange).evidence
    assert (evidence.connection, evidence.ordinal) == ("10.0.0.1-10.0.0.2", 0)
    one = Wait(("set", BROKER), WHO, 12, evidence, START_NS + 2 * MS, START_NS + 1002 * MS, False)
    assert waits(exchange) == [one] * count
    answered = waits(heartbeat(Talk(), after))
    assert [wait.until_ns - wait.since_ns for wait in answered] == [after * MS] * (after >= 1000)


@pytest.mark.parametrize(
    ("acks", "replica", "needs"), [(-1, -1, True), (1, -1, False), (0, 2, True), (0, -1, False)]
)
def test_which_requests_wait_for_other_brokers(acks: int, replica: int, needs: bool) -> None:
    """A Produce with acks=all, or, with acks 0 in this table, a Fetch of a replica."""
    if acks:
        asked = {"transactional_id": None, "acks": acks, "timeout_ms": 1, "topic_data": []}
        exchange = Talk().ask(0, 3, asked, {"responses": [], "throttle_time_ms": 0}, took=1000)
    else:
        exchange = fetch(Talk(), 1500, asked={"replica_id": replica})
    assert [one.needs_replicas for one in waits(exchange)] == [needs]


@pytest.mark.parametrize(("after", "waited"), [(600, 100), (400, 0)])
def test_a_fetch_without_a_response_waits_after_the_time_that_it_asks_for(after: int, waited: int) -> None:
    close = Close("client", CloseKind.FIN, START_NS + 2 * MS + after * MS)
    ((_, seen),) = unanswered(fetch(Talk(), None), close).unanswered.items()
    assert seen.time_ns == waited * MS


@pytest.mark.parametrize(
    ("how", "before_end", "count"),
    [(CloseKind.CAPTURE_END, 0, 1), (CloseKind.CAPTURE_END, 1, 0), (CloseKind.FIN, 0, 0)],
)
def test_requests_that_are_open_when_the_capture_ends(how: CloseKind, before_end: int, count: int) -> None:
    talk = Talk()
    exchange = heartbeat(talk, None)
    talk.info.end_ns = START_NS + 1000 * MS + before_end
    found = unanswered(exchange, Close(None, how, START_NS + 1000 * MS))
    assert [one.since_ns for one in found.open] == [START_NS + 2 * MS] * count


def test_what_is_no_request_without_a_response() -> None:
    gap = Anomaly(AnomalyKind.GAP, "", 0, 0)
    later = Anomaly(AnomalyKind.LIMIT_REACHED, "", 0, 0)
    assert len(unanswered(heartbeat(Talk(), None), anomalies=[later]).unanswered) == 1
    assert len(unanswered(heartbeat(Talk(), None), anomalies=[gap]).unanswered) == 0
    assert len(unanswered(heartbeat(Talk(), None), api_key=None).unanswered) == 0
    assert len(unanswered(heartbeat(Talk(), None), request=None).unanswered) == 0
    open_one = heartbeat(Talk(), None)
    open_one.state = State.COMPLETE
    assert len(log(open_one).unanswered) == 0
    unread = fetch(Talk(), None)
    unread.api_version = 99
    assert len(unanswered(unread).unanswered) == 0


@pytest.mark.parametrize(("kind", "is_missing"), [(AnomalyKind.GAP, True), (AnomalyKind.SKIPPED_BYTES, True),
                                                  (AnomalyKind.LIMIT_REACHED, False)])  # fmt: skip
def test_bytes_are_missing_from_a_time_on(kind: AnomalyKind, is_missing: bool) -> None:
    info = Talk().info
    assert not bytes_are_missing(info, 0)
    info.note(Anomaly(kind, "", 0, 50))
    assert bytes_are_missing(info, 50) is is_missing
    assert bytes_are_missing(info, 51) is False
    info.note(Anomaly(kind, "", 0, 70))
    assert bytes_are_missing(info, 51) is is_missing
    info.count_anomalies({kind: 1})  # one more that is not kept may be later
    assert bytes_are_missing(info, 99) is is_missing


def test_open_requests_wait_until_the_end() -> None:
    found = Open()
    for since_ns in (40, 30, 70):
        found.add(since_ns)
    assert found.waits(100) == (70, 160)
    assert found.waits(20) == (0, 0)


@pytest.mark.parametrize(
    ("stable", "error", "level", "reader"),
    [
        (4, 0, 1, WHO), (4, 0, 0, NOBODY), (0, 0, 1, WHO), (10, 0, 1, None), (-1, 0, 1, None),
        (4, 6, 1, None),
    ],
)  # fmt: skip
def test_readers_that_an_open_transaction_holds_back(
    stable: int, error: int, level: int, reader: Client | None
) -> None:
    exchange = fetch(Talk(), asked={"isolation_level": level}, last_stable_offset=stable, error_code=error)
    found = dict(log(exchange).held.items())
    if reader is None:
        assert found == {}
        return
    held = found[HeldKey("set", "t", 3, stable)]
    assert (held.seen.times, held.behind, list(held.readers)) == (1, 10 - stable, [WHO][: reader is WHO])


def test_what_is_behind_a_transaction_is_the_most_that_was_seen() -> None:
    talk = Talk()
    ends = (10, 12, 11)
    found = log(*(fetch(talk, last_stable_offset=4, high_watermark=end) for end in ends))
    (held,) = found.held
    assert (held.seen.times, held.behind) == (3, 8)


@pytest.mark.parametrize(
    ("rack", "replica", "fetches", "preferred"),
    [("r", -1, 2, 0), ("r", 0, 2, 2), ("", 0, 0, 0)],
)
def test_fetches_that_name_a_rack(rack: str, replica: int, fetches: int, preferred: int) -> None:
    talk = Talk()
    each = [fetch(talk, asked={"rack_id": rack}, preferred_read_replica=replica) for _ in range(2)]
    found = log(*each)
    size = sum(one.response.size for one in each if one.response is not None)
    assert [(one.seen.times, one.bytes, one.rack) for one in found.racks] == [(2, size, "r")][:fetches]
    assert times(found.preferred) == ({(WHO, BROKER): preferred} if preferred else {})


def test_of_one_transaction_twenty_readers_are_kept() -> None:
    talks = [Talk(f"10.0.1.{number}") for number in range(21)]
    (held,) = log(*(fetch(talk, last_stable_offset=4) for talk in talks)).held
    assert (held.seen.times, len(held.readers)) == (21, 20)


def test_the_reader_says_what_it_reads() -> None:
    found = log(fetch(Talk(), asked={"isolation_level": 2}, last_stable_offset=4))
    assert [list(one.readers) for one in found.held] == [[]]


def test_followers_are_no_readers() -> None:
    found = log(fetch(Talk(), asked={"replica_id": 2, "rack_id": "r"}, last_stable_offset=4))
    assert (len(found.racks), len(found.held)) == (0, 0)


@pytest.mark.parametrize(
    ("replica", "stable", "is_shown"), [(-1, 4, True), (-1, 10, False), (-1, -1, False), (2, 4, False)]
)
def test_only_fetches_of_consumers_that_wait_are_shown(replica: int, stable: int, is_shown: bool) -> None:
    """All others pass the judge as rows."""
    shown: list[Exchange] = []
    judge = WatchingJudge(lambda exchange: bool(shown.append(exchange)), lambda fact, view: None, print)
    talk = Talk()
    for _ in range(3):  # the first ones of a kind are shown for what is counted
        judge.add(fetch(talk, asked={"replica_id": replica}, last_stable_offset=stable))
    before = len(shown)
    judge.add(fetch(talk, asked={"replica_id": replica}, last_stable_offset=stable))
    assert len(shown) - before == is_shown


def test_it_reports_which_exchanges_count_each() -> None:
    """The others may come as rows of a block."""
    talk, found = Talk(), ExchangeLog(TopicNames())
    assert found.add(metadata(talk, 3)) is True
    assert found.add(metadata(talk, 0)) is False
    assert found.add(heartbeat(talk, 100)) is True
    assert found.add(heartbeat(talk, 1)) is False
    assert found.add(fetch(talk, last_stable_offset=4)) is True
    assert found.add(fetch(talk, asked={"rack_id": "r"})) is True
    assert found.add(fetch(talk)) is False
    answered = {"error_code": 0, "error_message": None, "auth_bytes": b'{"status":"invalid_token"}'}
    assert found.add(talk.ask(36, 0, {"auth_bytes": b"x"}, answered)) is True
    assert found.add(talk.ask(36, 0, {"auth_bytes": b"x"}, answered | {"auth_bytes": b"v=x"})) is False
    assert found.add(fetch(talk, asked={"rack_id": "r"}, last_stable_offset=4)) is True
    assert found.add(fetch(talk, asked={"replica_id": 2, "rack_id": "r"})) is False
    open_one = heartbeat(talk, None)
    open_one.state = State.UNANSWERED
    assert found.add(open_one) is True
    unread = fetch(talk, None)
    unread.api_version, unread.state = 99, State.UNANSWERED
    assert found.add(unread) is False
    open_one.anomalies = [Anomaly(AnomalyKind.GAP, "", 0, 0)]
    assert found.add(open_one) is False
    open_one.anomalies, open_one.request = [], None
    assert found.add(open_one) is False
    found.wanted = False
    assert found.add(metadata(talk, 3)) is False
    assert sum(one.times for one in found.errors) == 1


# Things that happened several times.


def at(time_ns: int, connection: str = "c") -> Packets:
    return Packets(connection, 0, "Fetch", time_ns)


def test_things_that_happened_several_times() -> None:
    seen = Seen()
    for time_ns, took_ns in ((50, 3), (20, 9), (70, 4), (60, 1)):
        seen.add(at(time_ns), took_ns)
    assert (seen.times, seen.first_ns, seen.last_ns, seen.span_ns) == (4, 20, 70, 50)
    assert (seen.time_ns, seen.longest_ns, seen.connections) == (17, 9, {"c"})
    assert [one.time_ns for one in seen.evidence] == [50, 20, 70]
    assert EVIDENCE_KEPT == 3


@pytest.mark.parametrize(("first", "second"), [((50, 20), (10, 90)), ((10, 90), (50, 20))])
def test_things_are_put_together_in_their_order(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    parts = []
    for number, time in enumerate((first, second)):
        part = Seen()
        for time_ns in time:
            part.add(at(time_ns, f"c{number}"), time_ns)
        parts.append(part)
    whole = Seen()
    for part in (*parts, Seen()):
        whole.merge(part)
    assert (whole.times, whole.first_ns, whole.last_ns) == (4, 10, 90)
    assert (whole.time_ns, whole.longest_ns, whole.connections) == (170, 90, {"c0", "c1"})
    assert [one.time_ns for one in whole.evidence] == [10, 20, 50]
