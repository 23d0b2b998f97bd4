"""What evidence consists of: errors of a body, bytes that cannot be read, old versions, silences, sums."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.causes.cause import client_text, clients_text, joined, quoted
from kdissect.causes.evidence.body_errors import BodyError, asked, body_errors
from kdissect.causes.evidence.broken_bytes import WIRE_RULES, BrokenBytes, BrokenKey
from kdissect.causes.evidence.evidence import Errors, Evidence, parties_of, refusals
from kdissect.causes.evidence.exchange_log import ExchangeLog, Open
from kdissect.causes.evidence.old_versions import CutOff, OldVersions
from kdissect.causes.evidence.reported_trouble import ReportedTrouble, is_refusal, trouble_in
from kdissect.causes.evidence.seen import Seen, packets_of
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence as Shown
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.cause import Packets, Party
from kdissect.model.finding import Who
from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL, Exchange
from kdissect.session.info import Close, CloseKind
from kdissect.session.problem import Reason
from kdissect.stats.client import Client
from kdissect.stats.times.silences import Silences, route_of
from tests.causes.fixtures.boundaries import (
    BROKER_2,
    NAMELESS,
    OTHER,
    _connection,
    _error,
    _fact,
    _failed,
    _late,
    _link,
    _made,
    _unanswered,
)
from tests.causes.fixtures.case import BROKER, NOTHING, SECOND, WHO, Change, Made, gathered, several
from tests.history.talk import Talk

MS = 1_000_000
ID = bytes(15) + b"\x07"


# Errors of a body


def body(key: int, version: int, request: dict[str, Any], answer: dict[str, Any]) -> ExchangeView:
    return ExchangeView(Talk().ask(key, version, request, answer))


def created(*codes: int, message: str | None = None) -> Any:
    topic = {"name": "t", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    rows = [{"name": f"t{at}", "error_code": code, "error_message": message} for at, code in enumerate(codes)]
    request = {"topics": [topic], "timeout_ms": 1, "validate_only": False}
    return body(19, 1, request, {"topics": rows}).response


def test_errors_have_what_they_are_about() -> None:
    assert body_errors(created(0, 36, message="m" * 201)) == [BodyError(36, "t1", None, "m" * 200)]
    assert body_errors(created(36)) == [BodyError(36, "t0", None, "")]
    row = {"index": 7, "error_code": 6, "base_offset": 0}
    other = {"name": "u", "partition_responses": [row | {"index": 0}]}
    answer = {"responses": [{"name": "t", "partition_responses": [row]}, other], "throttle_time_ms": 0}
    produced = body(0, 3, {"transactional_id": None, "acks": 1, "timeout_ms": 1, "topic_data": []}, answer)
    assert body_errors(produced.response) == [BodyError(6, "t", 7, ""), BodyError(6, "u", 0, "")]


@pytest.mark.parametrize(
    ("name", "topic_id", "topic"),
    [("t", ID, "t"), (None, ID, ID), (None, bytes(16), None), ("t", bytes(16), "t")],
)
def test_a_topic_has_a_name_or_an_id(name: str | None, topic_id: bytes, topic: str | bytes | None) -> None:
    row = {"error_code": 100, "name": name, "topic_id": topic_id, "is_internal": False, "partitions": []}
    answer = {"throttle_time_ms": 0, "brokers": [], "cluster_id": "c", "controller_id": 1, "topics": [row]}
    request = {"topics": [], "allow_auto_topic_creation": True, "include_topic_authorized_operations": False}
    (found,) = body_errors(body(3, 12, request, answer | {"topics": [row]}).response)
    assert (found.code, found.topic) == (100, topic)


def test_of_one_response_so_many_errors_count() -> None:
    assert len(body_errors(created(*[36] * 199))) == 199
    assert len(body_errors(created(*[36] * 201))) == 200


@pytest.mark.parametrize(
    ("version", "request_body", "about"),
    [
        (1, {"key": "k", "key_type": 0}, ("k", None)),
        (1, {"key": "k", "key_type": 1}, (None, "k")),
        (4, {"key_type": 0, "coordinator_keys": ["k"]}, ("k", None)),
        (4, {"key_type": 1, "coordinator_keys": ["k"]}, (None, "k")),
        (4, {"key_type": 0, "coordinator_keys": ["k", "l"]}, (None, None)),
        (0, {"key": "k"}, (None, None)),
    ],
)
def test_what_a_coordinator_is_asked_for(version: int, request_body: dict[str, Any], about: Any) -> None:
    exchange = Talk().ask(10, version, request_body)
    assert asked(ExchangeView(exchange).request) == about


@pytest.mark.parametrize(
    ("token", "is_it"),
    [
        (b'{"status":"x"}', True),
        (b' {"status":"x"}', False),
        (b'{"other":"x"}', False),
        (b'"status"', False),
    ],
)
def test_a_refusal_of_a_token(token: bytes, is_it: bool) -> None:
    assert is_refusal(token) is is_it


def challenge(token: bytes, error: int = 0) -> list[ReportedTrouble]:
    answer = {"error_code": error, "error_message": None, "auth_bytes": token}
    return trouble_in(36, body(36, 0, {"auth_bytes": b"x"}, answer).response)


def test_a_challenge_that_refuses() -> None:
    assert challenge(b"e=" + b"x" * 300) == [ReportedTrouble(None, "e=" + "x" * 198)]
    assert challenge(b"v=ok") == challenge(b"") == challenge(b"e=x", 58) == []
    assert trouble_in(12, created(0)) == []


def streams(*rows: dict[str, Any]) -> Exchange:
    """Return a heartbeat of a Streams group; its response has these statuses."""
    answer = {
        "throttle_time_ms": 0,
        "error_code": 0,
        "error_message": None,
        "member_id": "m",
        "member_epoch": 1,
        "heartbeat_interval_ms": 1,
        "acceptable_recovery_lag": 1,
        "task_offset_interval_ms": 1,
        "status": list(rows),
        "active_tasks": None,
        "standby_tasks": None,
        "warmup_tasks": None,
        "endpoint_information_epoch": 1,
        "partitions_by_user_endpoint": None,
    }
    request = {
        "group_id": "g",
        "member_id": "m",
        "member_epoch": 1,
        "endpoint_information_epoch": 1,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout_ms": -1,
        "topology": None,
        "active_tasks": None,
        "standby_tasks": None,
        "warmup_tasks": None,
        "process_id": None,
        "user_endpoint": None,
        "client_tags": None,
        "task_offsets": None,
        "task_end_offsets": None,
        "shutdown_application": False,
    }
    return Talk().ask(88, 0, request, answer)


def test_the_status_of_a_streams_group() -> None:
    exchange = streams(
        {"status_code": 1, "status_detail": "d" * 201}, {"status_code": 0, "status_detail": ""}
    )
    both = [ReportedTrouble(1, "d" * 200), ReportedTrouble(0, "")]
    assert trouble_in(88, ExchangeView(exchange).response) == both
    log = ExchangeLog(TopicNames())
    assert log.add(exchange)
    assert [(key.group, key.trouble) for key, _ in log.troubles.items()] == [("g", one) for one in both]
    assert not log.add(streams())


# Bytes that cannot be read


def finding(
    code: str = "VER012", role: Who = Who.BROKER, exchange: int = 5, at_s: float = 10, **place: Any
) -> Any:
    where = SimpleNamespace(
        connection="c0",
        exchange=exchange,
        api="Fetch",
        api_version=4,
        time_ns=int(at_s * SECOND),
        first_ref=3,
        last_ref=9,
    )
    vars(where).update(place)
    return SimpleNamespace(
        code=code, name="a-rule", place=where, party=SimpleNamespace(role=role), expected="a", seen="b"
    )


def broken(*findings: Any, by: str | None = "client", at_s: float = 12, exchanges: int = 7) -> BrokenBytes:
    found = BrokenBytes()
    for one in findings:
        found.add(WIRE_RULES[0], one)
    close = None if by is None else Close(by, CloseKind.FIN, int(at_s * SECOND))
    info = SimpleNamespace(
        id="c0",
        capture_set="a",
        client_text="[fe80::1]:4000",
        client_id="app",
        broker_text=BROKER,
        start_ns=SECOND,
        close=close,
        exchanges=exchanges,
    )
    found.close(info)  # type: ignore[arg-type]
    found.close(info)  # type: ignore[arg-type]
    return found


KEY = BrokenKey("a", "VER012", "a-rule", "broker", "app", "fe80::1", BROKER, "Fetch")


def test_bytes_that_cannot_be_read_are_counted_when_their_connection_is_over() -> None:
    ((key, one),) = broken(finding(), finding(at_s=11), finding(at_s=12)).found.items()
    assert key == KEY
    assert (one.expected, one.saw, one.seen.times) == ("a", "b", 3)
    assert one.seen.evidence == [Packets("c0", 5, "Fetch v4", 10 * SECOND, 3, 9)]
    two = broken(finding(), finding("PAI001"), finding())
    assert [(key.code, one.seen.times) for key, one in two.found.items()] == [("PAI001", 1), ("VER012", 2)]
    frame = broken(finding(api=None, api_version=None, time_ns=0))
    assert [one.seen.evidence[0].what for one in frame.found] == ["frame"]
    assert [one.seen.first_ns for one in frame.found] == [SECOND]


@pytest.mark.parametrize(
    ("closed", "found", "has_left"),
    [
        ({}, {}, True),
        ({"at_s": 12.001}, {}, False),
        ({"by": "broker"}, {}, False),
        ({"by": None}, {}, False),
        ({"by": "broker"}, {"role": Who.CLIENT}, True),
        ({"by": "client"}, {"role": Who.CLIENT}, False),
        ({"exchanges": 8}, {}, False),
        ({"exchanges": 8}, {"exchange": -1}, True),
        ({"exchanges": 9}, {"exchange": 0}, False),
    ],
)
def test_who_left_right_after(closed: dict[str, Any], found: dict[str, Any], has_left: bool) -> None:
    ((_, one),) = broken(finding(**found), **closed).found.items()
    assert one.left.times == has_left


def test_of_one_connection_so_many_kinds_are_kept() -> None:
    codes = [f"RUL{number:03}" for number in range(len(WIRE_RULES) + 1)]
    assert len(broken(*map(finding, codes)).found) == len(WIRE_RULES)
    assert not BrokenBytes().repeats((), 0)


# Old versions


def old(
    *kinds: tuple[int, int], by: str | None = "broker", at_s: float = 11, gap: bool = False, **values: Any
) -> OldVersions:
    info = _connection(close=None if by is None else Close(by, CloseKind.FIN, int(at_s * SECOND)))
    info.api_versions_seen = dict.fromkeys(kinds)  # type: ignore[assignment]
    for name, value in {"unanswered": 1, "complete": 0, "middle_start": False, **values}.items():
        setattr(info, name, value)
    if gap:
        info.note(Anomaly(AnomalyKind.GAP, "", 0, 5 * SECOND))
    found = OldVersions()
    found.add(info)
    return found


PRODUCE_0, FETCH_0, PRODUCE_9 = (0, 0), (1, 0), (0, 9)


@pytest.mark.parametrize(
    ("kinds", "values", "kind"),
    [
        ((PRODUCE_0,), {}, PRODUCE_0),
        ((PRODUCE_9, FETCH_0, PRODUCE_0), {}, PRODUCE_0),
        ((PRODUCE_0, PRODUCE_9), {}, None),
        ((PRODUCE_9,), {}, None),
        (((18, 0), PRODUCE_0), {}, None),
        ((PRODUCE_0,), {"at_s": 11.001}, None),
        ((PRODUCE_0,), {"by": "client"}, None),
        ((PRODUCE_0,), {"by": None}, None),
        ((PRODUCE_0,), {"unanswered": 0}, None),
        ((PRODUCE_0,), {"unanswered": 2}, None),
        ((PRODUCE_0,), {"middle_start": True}, None),
        ((PRODUCE_0,), {"gap": True}, None),
    ],
)
def test_who_is_cut_off_after_an_old_version(kinds: Any, values: dict[str, Any], kind: Any) -> None:
    cut_off = list(old(*kinds, **values).cut_off.items())
    if kind is None:
        assert cut_off == []
        return
    ((key, seen),) = cut_off
    assert key == CutOff(WHO, BROKER, kind)
    assert seen.evidence == [Packets("c0", -1, "Produce v0", SECOND)]


def test_who_uses_old_versions() -> None:
    found = old(PRODUCE_0, PRODUCE_9, FETCH_0, complete=1)
    ((client, one),) = found.clients.items()
    assert (client, list(one.kinds)) == (WHO, [PRODUCE_0, FETCH_0])
    assert one.seen.evidence == [Packets("c0", -1, f"10.0.0.5:40000 > {BROKER}", SECOND)]
    assert list(old(PRODUCE_0).clients.items()) == []
    assert list(old(PRODUCE_9, complete=1).clients.items()) == []
    # Between brokers: LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown, WriteTxnMarkers.
    for api_key in (4, 5, 6, 7, 27):
        assert list(old((api_key, 0), complete=1).clients.items()) == []


# Silences


def responding(*times: tuple[float, float], connection: str = "c", waited_s: float = 0) -> Silences:
    """Responses from a second to another one."""
    found = Silences()
    for first, last in times:
        found.add(response(first, last, connection, waited_s))
    return found


def response(
    first: float, last: float | None = None, connection: str = "c", waited_s: float | None = 0
) -> Any:
    first_ns, last_ns = int(first * SECOND), int((first if last is None else last) * SECOND)
    info = SimpleNamespace(
        id=connection, capture_set="a", broker_text=BROKER, client_text="h:1", same_as=None
    )
    request = None
    if waited_s is not None:
        request = SimpleNamespace(end_time_ns=first_ns - int(waited_s * SECOND))
    return SimpleNamespace(
        connection=info, request=request, response=SimpleNamespace(time_ns=first_ns, end_time_ns=last_ns)
    )


def silent(*times: tuple[float, float]) -> list[tuple[float, float]]:
    found = responding(*times).of(("a", BROKER))
    return [(one.from_ns / SECOND, one.until_ns / SECOND) for one in found]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([(1, 1), (2, 2)], [(1, 2)]),
        ([(1, 1), (1.999, 2)], []),
        ([(1, 3), (5, 6), (9, 9)], [(3, 5), (6, 9)]),
        ([(1, 1), (9, 9), (4, 5)], [(1, 4), (5, 9)]),  # completed late, begun within
        ([(1, 1), (9, 9), (1.999, 5)], [(5, 9)]),
        ([(1, 1), (9, 9), (4, 8.001)], [(1, 4)]),
        ([(1, 1), (9, 9), (4, 8)], [(1, 4), (8, 9)]),
        ([(1, 1), (5, 5), (9, 9), (3, 7)], [(1, 3), (7, 9)]),
        ([(1, 1), (5, 5), (9, 9), (6, 7)], [(1, 5), (5, 6), (7, 9)]),
        ([(1, 1), (5, 5), (9, 9), (5, 5)], [(1, 5), (5, 9)]),
        ([(5, 5), (9, 9), (1, 1)], [(5, 9)]),
    ],
)
def test_silences_of_a_broker(times: list[tuple[float, float]], expected: list[tuple[float, float]]) -> None:
    assert silent(*times) == expected


def test_only_the_last_silences_are_kept() -> None:
    assert len(silent(*((number * 2, number * 2) for number in range(2001)))) == 2000
    kept = silent(*((number * 2, number * 2) for number in range(2002)))
    assert (len(kept), kept[0]) == (1001, (2000, 2002))


@pytest.mark.parametrize(
    ("waited_s", "second_s", "before_s"), [(1, 3, 2), (0.999, 3, None), (1, 2.999, None), (2, 9, 2)]
)
def test_the_first_response_after_a_silence_that_was_waited_for(
    waited_s: float, second_s: float, before_s: float | None
) -> None:
    found = responding((1, 2), (second_s, second_s + 1), waited_s=waited_s)
    expected = None if before_s is None else int(before_s * SECOND)
    assert found.before("c", int(second_s * SECOND)) == expected
    assert found.before("d", int(second_s * SECOND)) is None
    assert found.last("c") == int((second_s + 1) * SECOND)


def test_the_first_response_of_a_connection_has_none_before() -> None:
    found = responding((5, 6), waited_s=1)
    assert found.before("c", 5 * SECOND) == 0
    found.close(response(1).connection)
    assert found.last("c") is None
    assert found.last("d") is None


@pytest.mark.parametrize(("waited_s", "longest_s"), [(0, 7), (2, 5), (6, 1), (6.001, 0)])
def test_after_which_silence_a_connection_still_works(waited_s: float, longest_s: float) -> None:
    """It is silent from its response to the next request."""
    found = responding((1, 2), (9, 9), (11, 11), waited_s=waited_s)
    route = route_of(response(1).connection)
    assert route == ("a", "h", BROKER)
    assert found.served_after(route) == int(longest_s * SECOND)
    assert found.served_after(("b", "h", BROKER)) == 0


def test_what_is_no_response_of_a_broker() -> None:
    found = Silences()
    orphan = response(5, waited_s=None)
    found.add(orphan)
    assert (found.last("c"), found.before("c", 5 * SECOND)) == (5 * SECOND, None)
    twin = response(9)
    twin.connection.same_as = "other"
    found.add(twin)
    found.add(SimpleNamespace(request=None, response=None, connection=twin.connection))
    assert (found.last("c"), found.of(("a", BROKER)), found.of(("b", BROKER))) == (5 * SECOND, [], [])


@pytest.mark.parametrize(
    ("from_s", "until_s", "responds"),
    [
        (3, 5, False),  # all of it within a silence
        (3.5, 4.5, False),
        (2.5, 5, True),
        (3, 5.5, True),
        (0, 1, False),
        (0, 1.001, True),
        (6, 9, False),
        (5.999, 9, True),
    ],
)
def test_whether_any_broker_responds_within_a_time(from_s: float, until_s: float, responds: bool) -> None:
    found = responding((1, 3), (5, 6))
    assert found.responds_within("a", int(from_s * SECOND), int(until_s * SECOND)) is responds
    assert not found.responds_within("b", int(from_s * SECOND), int(until_s * SECOND))


# Sums


def seen(*changes: Change) -> Evidence:
    found = Made(gathered(NOTHING))
    _made(*changes)(found)
    return found


def test_errors_that_belong_together() -> None:
    found = Errors()
    log = seen(
        _error(6, 0, 2, topic="t", group="g"),
        _error(3, 0, 1, who=OTHER, broker=BROKER_2, txn="x"),
        _error(6, 1, 4, who=NAMELESS, topic="t"),
    ).gathering.log.errors
    for key, at in log.items():
        found.add(key, at)
    assert found.times == {"NOT_LEADER_OR_FOLLOWER": 6, "UNKNOWN_TOPIC_OR_PARTITION": 1}
    assert (found.seen.times, found.clients, found.brokers) == (7, [WHO, OTHER, NAMELESS], [BROKER, BROKER_2])
    assert (found.names("topic"), found.names("group"), found.names("txn")) == (["t"], ["g"], ["x"])
    assert found.parties == {
        Party("broker", BROKER),
        Party("broker", BROKER_2),
        Party("topic", "t"),
        Party("group", "g"),
        Party("id", "x"),
        Party("client", "orders"),
        Party("client", "billing"),
        *(Party("host", one.address) for one in (WHO, OTHER, NAMELESS)),
    }
    assert parties_of([Client(None, "a", None, "")]) == {Party("client", "a")}


def test_errors_by_code_and_api() -> None:
    found = seen(
        _error(6, 0, 2), _error(3, 0, 1), _error(6, 1, 4, who=OTHER), _error(6, 0, 3, capture_set="b")
    )
    assert [one.seen.times for one in found.errors({6})] == [2, 4, 3]
    assert [one.seen.times for one in found.errors({6, 3}, {0})] == [3, 3]
    assert [one.seen.times for one in found.errors({6}, by=lambda key: None)] == [6, 3]


_REFUSED = "ProducerFact.refused"


def test_facts_that_no_cause_reads_are_not_stored() -> None:
    with pytest.raises(AssertionError, match="StoredFact"):
        seen().facts(_REFUSED, "StoredFact.lost")


def test_refusals_by_broker() -> None:
    found = seen(
        _fact(_REFUSED), _fact(_REFUSED, who=OTHER, at_s=3), _fact(_REFUSED, who=None),
        _fact(_REFUSED, broker=BROKER_2),
    )  # fmt: skip
    first, second = refusals(found.facts(_REFUSED, "LeaderFact.learned"))
    assert (first.broker, first.clients, first.seen.times, len(first.facts)) == (BROKER, [WHO, OTHER], 2, 2)
    assert first.parties == parties_of([WHO, OTHER]) | {Party("broker", BROKER)}
    assert (second.broker, second.clients) == (BROKER_2, [WHO])
    assert len(refusals(found.facts(_REFUSED), lambda fact: fact.evidence.sent_ns)) == 3


def test_connections_of_a_client() -> None:
    found = seen(_link(), _link(broker=BROKER_2, first_id="second"), _link(OTHER))
    assert found.connection_of("orders", WHO.address, BROKER_2) == "second"
    assert found.connection_of("orders", OTHER.address, BROKER) == ""
    assert found.connection_of_client(WHO) == "first-orders"
    assert found.connection_of_client(NAMELESS) == ""


def test_requests_that_are_open_wait_until_the_end() -> None:
    found = seen(_unanswered(0, 2, 5, None), _unanswered(1, 3, 7, "client"))
    waiting = Open()
    waiting.add(40 * SECOND)
    waiting.add(30 * SECOND)
    ((key, _), _) = found.gathering.log.unanswered.items()
    found.gathering.log.open.put(key, waiting)
    first, second = (at for _, at in found.unanswered())
    assert (first.times, first.longest_ns, first.time_ns) == (2, 70 * SECOND, 130 * SECOND)
    assert (second.times, second.longest_ns, second.time_ns) == (3, 7, 21)
    assert [at.longest_ns for _, at in seen(_late(0, 1, 5, 6)).late] == [6]


def test_problems_by_reason() -> None:
    found = seen(_failed(Reason.REFUSED, 2), _failed(Reason.PROBE, 3))
    assert len(found.problems(Reason.REFUSED)) == 2
    assert len(found.problems(Reason.REFUSED, Reason.PROBE)) == 5
    assert found.problems() == []


def test_the_span_of_a_capture() -> None:
    found = seen()
    assert found.span_ns == 99 * SECOND
    found.last_ns = 0
    assert found.span_ns == 0


# Packets


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, Packets("c", 5, "Fetch v4", 100, 6, 9)),
        ({"request": None, "sent_ns": 0}, Packets("c", 5, "Fetch v4", 200, 8, 9)),
        ({"response": None}, Packets("c", 5, "Fetch v4", 100, 6, 7)),
        ({"request": None, "response": None}, Packets("c", 5, "Fetch v4", 100, 0, 0)),
        ({"api_key": None, "api_version": None}, Packets("c", 5, "frame", 100, 6, 9)),
        ({"api_key": 9999}, Packets("c", 5, "key 9999 v4", 100, 6, 9)),
        (
            {"ordinal": FIRST_ORPHAN_ORDINAL - 1},
            Packets("c", FIRST_ORPHAN_ORDINAL - 1, "Fetch v4", 100, 6, 9),
        ),
        ({"ordinal": FIRST_ORPHAN_ORDINAL}, Packets("c", -1, "Fetch v4", 100, 6, 9)),
    ],
)
def test_packets_of_an_exchange(changed: dict[str, Any], expected: Packets) -> None:
    shown = Shown("c", 5, 1, 4, (6, 7), (8, 9), 100, 200)
    assert packets_of(shown._replace(**changed)) == expected


def test_of_one_kind_some_packets_and_many_connections_are_kept() -> None:
    found = several(301)
    assert (found.times, len(found.evidence), len(found.connections)) == (301, 3, 300)
    both = Seen()
    both.merge(found)
    both.merge(several(5))
    assert (both.times, len(both.evidence)) == (306, 3)


# Words


def test_names_in_words() -> None:
    assert [joined("abcd"[:count]) for count in range(5)] == [
        "",
        "a",
        "a and b",
        "a, b and c",
        "a, b, c and 1 more",
    ]
    assert joined("abc", 2) == "a, b and 1 more"
    assert quoted("ab") == "'a' and 'b'"
    assert client_text(Client("User:x", "app", None, "h")) == "client 'app' (user User:x) at h"
    assert client_text(Client(None, None, None, "")) == "a client without an id"
    assert clients_text([WHO, WHO]) == "client 'orders' at 10.0.0.5"
    assert clients_text([]) == "no client that the capture names"
