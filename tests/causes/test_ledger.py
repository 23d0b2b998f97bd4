"""Symptoms: when one is normal, which a claim covers, and what they contain of the evidence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.causes.evidence.broken_bytes import Broken, BrokenKey
from kdissect.causes.evidence.exchange_log import LateKey, TroubleKey, UnansweredKey
from kdissect.causes.evidence.links import Link, LinkKey
from kdissect.causes.evidence.reported_trouble import ReportedTrouble
from kdissect.causes.ledger.normal import NORMAL, Normal, reason_why_normal
from kdissect.causes.ledger.sources import symptoms_of
from kdissect.causes.ledger.symptom import Claim, Symptom, SymptomKind
from kdissect.model.cause import Packets, Party
from kdissect.session.problem import Reason
from kdissect.stats.client import Client
from tests.causes.fixtures.case import BROKER, NOTHING, SECOND, WHO, Made, gathered, several
from tests.history.talk import Talk

ERROR = SymptomKind.ERROR
AWAY = Client(None, "away", None, "10.0.0.6")
BUSY = Client(None, "busy", None, "10.0.0.7")


def symptom(times: int = 4, every_ns: int = SECOND, took_ns: int = SECOND, **changed: Any) -> Symptom:
    """Four errors within three seconds, which took one second each, of ten requests."""
    facts = {"api_key": 1, "code": 6, "detail": "d", "total": 10, "goes_on": True}
    return Symptom(ERROR, "a", WHO, BROKER, several(times, every_ns, took_ns), **facts | changed)


LIMITS = {
    "codes": {6}, "apis": {1}, "details": {"d"}, "most": 4, "share": 0.4, "span_ns": 3 * SECOND,
    "longest_ns": SECOND, "sum_ns": 4 * SECOND, "goes_on": True,
}  # fmt: skip
LESS = {
    "codes": {5, 7}, "apis": {0, 2}, "details": {""}, "most": 3, "share": 0.39, "span_ns": 3 * SECOND - 1,
    "longest_ns": SECOND - 1, "sum_ns": 4 * SECOND - 1,
}  # fmt: skip


def normal(**limits: Any) -> Normal:
    return Normal(ERROR, "it is normal", ("KIP-1",), **limits)


def test_a_symptom_is_normal_up_to_each_limit() -> None:
    assert normal(**LIMITS).covers(symptom())
    assert normal().covers(symptom(goes_on=False, total=0))


@pytest.mark.parametrize("name", LESS)
def test_beyond_one_limit_a_symptom_is_not_normal(name: str) -> None:
    assert not normal(**LIMITS | {name: LESS[name]}).covers(symptom())
    assert not normal(**{name: LESS[name]}).covers(symptom())


def test_some_symptoms_are_normal_only_if_the_client_goes_on() -> None:
    assert not normal(**LIMITS).covers(symptom(goes_on=False))
    assert normal(**LIMITS | {"goes_on": False}).covers(symptom(goes_on=False))
    assert not normal(**LIMITS).covers(symptom()._replace(kind=SymptomKind.LATE))


@pytest.mark.parametrize("row", NORMAL, ids=lambda row: row.reason[:40])
def test_each_row_is_why_some_symptom_is_normal(row: Normal) -> None:
    """A symptom at the limits of the row, and one that is just beyond them."""
    times = row.most or 1
    longest = row.longest_ns or (row.sum_ns or 0) // times
    every = SECOND if row.span_ns is None else row.span_ns // times
    at_limits = Symptom(
        row.kind, "a", WHO, BROKER, several(times, every, longest),
        api_key=next(iter(row.apis or ()), None), code=next(iter(row.codes or ()), None),
        detail=next(iter(row.details or ()), ""), total=2 * times, goes_on=row.goes_on, topic=row.topic,
    )  # fmt: skip
    assert row.covers(at_limits)
    assert reason_why_normal(at_limits) in {one.reason for one in NORMAL if one.kind is row.kind}
    if row.most is not None:
        assert not row.covers(at_limits._replace(seen=several(times + 1)))


def test_what_is_not_normal_has_no_reason() -> None:
    assert reason_why_normal(symptom(times=11, total=20)) is None
    assert reason_why_normal(symptom(times=10, total=20)) == (
        "leaders or their epochs changed: the client asks for metadata and goes on"
    )


@pytest.mark.parametrize(("refused", "is_normal"), [(35, True), (49, True), (50, False), (98, False)])
def test_a_client_that_asks_for_its_versions_again_negotiates(refused: int, is_normal: bool) -> None:
    """It may succeed with nothing else: 98 ApiVersions requests, some refused."""
    asked = symptom(times=refused, api_key=18, code=35, total=98, goes_on=False)
    assert (reason_why_normal(asked) is not None) == is_normal


@pytest.mark.parametrize(
    ("claim", "is_covered"),
    [
        (Claim(ERROR), True),
        (Claim(ERROR, {6}, {1}, {"d"}), True),
        (Claim(SymptomKind.LATE, {6}, {1}, {"d"}), False),
        (Claim(ERROR, {5}, {1}, {"d"}), False),
        (Claim(ERROR, {6}, {2}, {"d"}), False),
        (Claim(ERROR, {6}, {1}, {"e"}), False),
    ],
)
def test_a_claim_names_symptoms(claim: Claim, is_covered: bool) -> None:
    assert claim.covers(symptom()) is is_covered


def test_a_symptom_names_its_api_its_error_and_its_parties() -> None:
    named = symptom(topic="t", group="g", txn="x")
    assert (named.api, named.error) == ("Fetch", "NOT_LEADER_OR_FOLLOWER")
    assert named.parties == {
        Party("client", "orders"), Party("host", "10.0.0.5"), Party("broker", BROKER), Party("topic", "t"),
        Party("group", "g"), Party("id", "x"),
    }  # fmt: skip
    unnamed = symptom(api_key=None, code=None)
    assert (unnamed.api, unnamed.error) == ("", "")
    assert {party.kind for party in unnamed.parties} == {"client", "host", "broker"}
    assert symptom(api_key=9999).api == "API key 9999"


# What the evidence becomes.


def tally(
    api: str, exchanges: int, failed: int = 0, client: Client = WHO, to: str = BROKER, **times: int
) -> Any:
    """Return exchanges of a client within the first 100 seconds."""
    times = {"first_ns": 0, "last_ns": 100 * SECOND} | times
    key = api, client.client_id or "", client.address, to
    return key, SimpleNamespace(exchanges=exchanges, failed=failed, **times)


def symptoms(
    seen: Made,
    *tallies: Any,
    unanswered: Any = (),
    groups: Any = (),
    last_ns: int = 200 * SECOND,
    is_poor: bool = False,
) -> list[Symptom]:
    return list(
        symptoms_of(seen.gathering, unanswered, seen.late, tallies, groups, [], last_ns, is_poor=is_poor)
    )


def nothing() -> Made:
    return Made(gathered(NOTHING))


@pytest.mark.parametrize(
    ("api_key", "worked", "detail"),
    [
        (19, "Produce", "administration"),  # CreateTopics
        (37, "Produce", "administration"),  # CreatePartitions
        (3, "Produce", ""),
        (3, "CreateTopics", "administration"),
        (3, "ShareFetch", ""),
        (0, "CreateTopics", ""),
        (88, "CreateTopics", ""),
    ],
)
def test_errors_of_an_administrator(api_key: int, worked: str, detail: str) -> None:
    seen = nothing()
    seen.put_error(6, api_key)
    (found,) = symptoms(seen, tally(worked, 5))
    assert (found.kind, found.code, found.api_key, found.detail) == (ERROR, 6, api_key, detail)


# Requests that a client sends before or while it works; the others are for administrators alone.
WORK = {0, 1, 11, 12, 14, 24, 25, 26, 28, 68, 76, 78, 79, 88}
BOTH = {2, 3, 8, 9, 10, 13, 17, 18, 22, 23, 36, 60, 71, 72}


def test_which_requests_are_work() -> None:
    for api_key in range(93):
        seen = nothing()
        seen.put_error(42, api_key)
        (of_worker,) = symptoms(seen, tally("Produce", 5))
        (of_other,) = symptoms(seen)
        assert (of_worker.detail == "") is (api_key in WORK | BOTH), api_key
        assert (of_other.detail == "") is (api_key in WORK), api_key


def test_an_error_has_what_is_known_of_it() -> None:
    seen = nothing()
    seen.put_error(6, 0, times=4, topic="t", group="g", txn="x")
    ((key, at),) = seen.gathering.log.errors.items()
    seen.gathering.log.messages.put(key, "moved")
    (found,) = symptoms(seen, tally("Produce", 5), tally("Produce", 3, to="b:2"), tally("Fetch", 7))
    assert found == Symptom(
        ERROR, "a", WHO, BROKER, at, 0, 6, "", "moved", "t", "g", "x", total=8, goes_on=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tallies", "end_s", "goes_on"),
    [
        ([tally("Fetch", 5, last_ns=4 * SECOND + 1)], 9, True),
        ([tally("Fetch", 5, last_ns=4 * SECOND)], 9, False),  # the errors end after 4 s
        ([tally("Fetch", 5, failed=5, last_ns=9 * SECOND)], 9, False),
        ([tally("Fetch", 5, client=AWAY, last_ns=9 * SECOND)], 9, False),
        ([tally("Fetch", 5, last_ns=9 * SECOND), tally("Heartbeat", 5, last_ns=SECOND)], 9, True),
        ([tally("Metadata", 5, last_ns=9 * SECOND)], 9, False),  # precedes work, and is no work
        ([tally("Produce", 9, last_ns=SECOND)], 4.9, True),  # 4 of 9 failed, soon before the end
        ([tally("Produce", 8, last_ns=SECOND)], 4.9, False),
        ([tally("Produce", 9, last_ns=SECOND)], 5, False),
    ],
)
def test_whether_a_client_goes_on(tallies: list[Any], end_s: float, goes_on: bool) -> None:
    seen = nothing()
    seen.put_error(6, 0, times=4)
    (found,) = symptoms(seen, *tallies, last_ns=int(end_s * SECOND))
    assert found.goes_on is goes_on


@pytest.mark.parametrize(("api_key", "goes_on"), [(3, True), (10, False)])
def test_who_finds_what_it_asked_for_goes_on(api_key: int, goes_on: bool) -> None:
    seen = nothing()
    seen.put_error(5, api_key, times=4)
    (found,) = symptoms(
        seen, tally("Metadata", 5, last_ns=9 * SECOND), tally("Metadata", 5, to="b:2", last_ns=0)
    )
    assert found.goes_on is goes_on


def test_trouble_has_the_words_of_the_broker() -> None:
    seen = nothing()
    at = several(2)
    seen.gathering.log.troubles.put(TroubleKey("a", 88, WHO, BROKER, "g", ReportedTrouble(3, "no topic")), at)
    assert symptoms(seen, tally("StreamsGroupHeartbeat", 6)) == [
        Symptom(
            SymptomKind.TROUBLE, "a", WHO, BROKER, at, 88, 3, message="no topic", group="g", total=6,
            goes_on=True,
        )
    ]  # fmt: skip


@pytest.mark.parametrize(("closed_by", "detail"), [(None, "nobody"), ("client", "client")])
def test_requests_without_a_response(closed_by: str | None, detail: str) -> None:
    at = several(2)
    (found,) = symptoms(
        nothing(), tally("Produce", 6), unanswered=[(UnansweredKey("a", 0, WHO, BROKER, closed_by), at)]
    )
    assert found == Symptom(
        SymptomKind.UNANSWERED, "a", WHO, BROKER, at, 0, detail=detail, total=6, goes_on=True
    )


def problem(reason: Reason, connection: str = "c1", start_s: int = 1, **changed: Any) -> Any:
    """Return a connection of one second that failed."""
    facts = {
        "id": connection, "capture_set": "a", "client_text": "[fe80::1]:4000", "client_id": None,
        "broker_text": BROKER, "start_ns": start_s * SECOND, "unanswered": 0,
    }  # fmt: skip
    why = SimpleNamespace(reason=reason, fact=f"fact {connection}", age_ns=SECOND)
    return SimpleNamespace(connection=SimpleNamespace(**facts | changed), problem=why)


def linked(seen: Made, host: str, **values: int) -> None:
    link = Link()
    for name, value in values.items():
        setattr(link, name, value)
    seen.gathering.links._links.put(LinkKey("a", host, None, BROKER), link)


def test_connections_that_fail_for_one_reason_are_one_symptom() -> None:
    seen = nothing()
    seen.gathering.problems = [
        problem(Reason.REFUSED), problem(Reason.REFUSED, "c2", 5), problem(Reason.PROBE, "c3", 7)
    ]  # fmt: skip
    refused, probe = symptoms(seen)
    assert (refused.kind, refused.detail, refused.message) == (SymptomKind.CONNECTION, "refused", "fact c1")
    assert refused.client == Client(None, None, None, "fe80::1")
    assert (refused.seen.times, refused.seen.time_ns, refused.seen.span_ns) == (2, 2 * SECOND, 4 * SECOND)
    assert refused.seen.evidence[0] == Packets("c1", -1, f"[fe80::1]:4000 > {BROKER}", SECOND)
    assert (refused.total, refused.goes_on) == (2, False)
    assert (probe.detail, probe.total) == ("probe", 1)


@pytest.mark.parametrize(
    ("exchanges", "last_s", "total", "goes_on"),
    [(4, 5, 6, False), (4, 6, 6, True), (0, 6, 1, False)],
)
def test_other_connections_of_the_host_count(exchanges: int, last_s: int, total: int, goes_on: bool) -> None:
    seen = nothing()
    seen.gathering.problems = [problem(Reason.REFUSED, start_s=5)]
    linked(seen, "fe80::1", opened=5, exchanges=exchanges, last_ns=last_s * SECOND)
    linked(seen, "10.0.0.9", opened=9, exchanges=9, last_ns=100 * SECOND)
    (found,) = symptoms(seen)
    assert (found.total, found.goes_on) == (total, goes_on)


@pytest.mark.parametrize(
    ("reason", "open_requests", "kinds"),
    [
        (Reason.UNANSWERED, 1, ["unanswered"]),
        (Reason.CLOSED_AT_ONCE, 1, ["unanswered"]),
        (Reason.UNANSWERED, 0, ["connection"]),
        (Reason.LOGIN_REFUSED, 1, ["connection"]),
    ],
)
def test_a_request_on_a_connection_that_failed_is_one_symptom(
    reason: Reason, open_requests: int, kinds: list[str]
) -> None:
    seen, at = nothing(), several(1)
    at.connections = {"c1"}
    seen.gathering.problems = [problem(reason, unanswered=open_requests)]
    found = symptoms(seen, unanswered=[(UnansweredKey("a", 0, WHO, BROKER, "client"), at)])
    assert [one.kind for one in found] == kinds


@pytest.mark.parametrize(("left", "goes_on"), [(0, True), (2, False)])
def test_bytes_that_cannot_be_read(left: int, goes_on: bool) -> None:
    seen, at = nothing(), several(3)
    key = BrokenKey("a", "FRM001", "size", "broker", "app", "fe80::1", BROKER, "Fetch")
    seen.gathering.broken.found.put(key, Broken(at, "4", "5", several(left)))
    client = Client(None, "app", None, "fe80::1")
    assert symptoms(seen) == [
        Symptom(
            SymptomKind.BROKEN, "a", client, BROKER, at, detail="FRM001", message="expected 4, seen 5",
            total=left, goes_on=goes_on,
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("other", "is_alone"),
    [
        (tally("Produce", 10, client=BUSY), False),
        (tally("Produce", 9, client=BUSY), True),
        (tally("Fetch", 10, client=BUSY), True),  # a Fetch may wait
        (tally("Produce", 10, client=BUSY, to="b:2"), True),
        (tally("Produce", 10), True),
        (tally("Produce", 10, client=AWAY), True),  # it waits for a response, too
        (tally("Produce", 10, client=BUSY, first_ns=3 * SECOND), False),
        (tally("Produce", 10, client=BUSY, first_ns=3 * SECOND + 1), True),
        (tally("Produce", 10, client=BUSY, last_ns=SECOND), False),
        (tally("Produce", 10, client=BUSY, last_ns=SECOND - 1), True),
    ],
)
@pytest.mark.parametrize("api_key", [0, 3])
def test_whether_a_late_broker_serves_another_client(other: Any, is_alone: bool, api_key: int) -> None:
    """Responses are late from second 1 to second 3."""
    seen = nothing()
    seen.gathering.log.late.put(LateKey("a", api_key, WHO, BROKER), several(3))
    seen.gathering.log.late.put(LateKey("a", 0, AWAY, BROKER), several(1, took_ns=SECOND))
    found, _ = symptoms(seen, other, tally("Metadata", 4))
    assert (found.kind, found.api_key) == (SymptomKind.LATE, api_key)
    assert found.detail == ("all clients" if is_alone else "")


@pytest.mark.parametrize(
    ("again", "rebalances", "is_told"),
    [(3, ["00:00:02"], True), (2, ["00:00:02"], False), (4, ["00:00:01", "00:00:09"], False),
     (1, ["00:00:00", "00:00:10"], True), (5, ["00:00:01", "00:00:09"], True)],
)  # fmt: skip
def test_records_that_are_fetched_again(again: int, rebalances: list[str], is_told: bool) -> None:
    """From second 1 to second 9, twice for each rebalance at most."""
    info = Talk().info
    info.client_id = "app"
    stuck = SimpleNamespace(
        client_id="orders",
        info=info, topic="t", partition=3, offset=1234, again=again, first_ns=SECOND, last_ns=9 * SECOND,
        size=77, sample=b"", is_whole=True, is_last=False,
    )  # fmt: skip
    seen = nothing()
    seen.gathering.groups = SimpleNamespace(  # type: ignore[assignment]
        positions=SimpleNamespace(stuck=lambda: [stuck]),
        links=SimpleNamespace(of_client=lambda key: ["g"]),
    )
    rows = [{"group": "g", "rebalances": [{"time": f"1970-01-01T{one}.000000000Z"} for one in rebalances]}]
    found = symptoms(seen, groups=rows)
    assert len(found) == is_told
    for one in found:
        assert (one.kind, one.api_key, one.topic) == (SymptomKind.REFETCHED, 1, "t")
        assert (one.detail, one.message) == ("partition 3 from offset 1,234", "")
        assert (one.seen.times, one.seen.time_ns, one.seen.span_ns) == (again, 8 * SECOND, 8 * SECOND)
        assert (one.total, one.goes_on) == (77, True)
        assert one.seen.evidence == [Packets(info.id, -1, "Fetch of partition 3", SECOND)]


# In a poor capture.


def test_of_a_poor_capture_nobody_knows_how_it_went_on() -> None:
    seen = nothing()
    seen.put_error(6, 0, times=4)
    assert [one.goes_on for one in symptoms(seen)] == [False]
    assert [one.goes_on for one in symptoms(seen, is_poor=True)] == [True]


@pytest.mark.parametrize(
    ("reason", "is_told"),
    [
        (Reason.NO_ANSWER, False), (Reason.PROBE, False), (Reason.CLOSED_AT_ONCE, False),
        (Reason.UNANSWERED, False), (Reason.REFUSED, True), (Reason.LOGIN_REFUSED, True),
    ],
)  # fmt: skip
def test_a_connection_without_bytes_may_have_had_some(reason: Reason, is_told: bool) -> None:
    seen = nothing()
    seen.gathering.problems = [problem(reason), problem(Reason.HTTP, "c2")]
    assert [one.detail for one in symptoms(seen)] == [str(reason), "http"]
    assert [one.detail for one in symptoms(seen, is_poor=True)] == [str(reason)] * is_told + ["http"]


# Requests without a response.


@pytest.mark.parametrize(("names", "count"), [({"c1"}, 0), ({"c1", "c2"}, 1), ({"c2"}, 1)])
def test_requests_on_connections_that_failed_are_no_symptom_of_their_own(names: set[str], count: int) -> None:
    """All of their connections."""
    seen, at, other = nothing(), several(1), several(2)
    at.connections, other.connections = names, {"c9"}
    seen.gathering.problems = [problem(Reason.LOGIN_REFUSED)]
    pairs = [(UnansweredKey("a", key, WHO, BROKER, "client"), one) for key, one in ((0, at), (1, other))]
    found = symptoms(seen, unanswered=pairs)
    assert [one.kind for one in found] == ["connection"] + ["unanswered"] * (count + 1)


@pytest.mark.parametrize(
    ("api_key", "others", "goes_on"),
    [
        (3, [tally("Produce", 5, client=BUSY, last_ns=3 * SECOND + 1)], True),
        (3, [tally("Produce", 5, client=BUSY, last_ns=3 * SECOND)], False),
        (3, [tally("Produce", 5, client=BUSY, to="b:2")], False),
        (3, [tally("Fetch", 5, failed=5)], False),
        (0, [tally("Produce", 5, client=BUSY)], False),
        (3, [tally("Produce", 5, client=BUSY), tally("Fetch", 5, client=BUSY, last_ns=0)], True),
    ],
)
def test_a_broker_that_serves_others_a_second_later(api_key: int, others: list[Any], goes_on: bool) -> None:
    """The last of two requests is sent after two seconds."""
    unanswered = [(UnansweredKey("a", api_key, WHO, BROKER, None), several(2))]
    (found,) = symptoms(nothing(), *others, unanswered=unanswered)
    assert found.goes_on is goes_on


@pytest.mark.parametrize(("end_s", "goes_on"), [(3.999, True), (4, False)])
def test_a_client_tries_again_within_three_seconds(end_s: float, goes_on: bool) -> None:
    seen = nothing()
    seen.put_error(6, 0, times=2, every_ns=SECOND)
    (found,) = symptoms(seen, tally("Produce", 1, last_ns=SECOND), last_ns=int(end_s * SECOND))
    assert found.goes_on is goes_on


def test_trouble_comes_before_connections_and_they_before_requests() -> None:
    seen = nothing()
    seen.gathering.problems = [problem(Reason.LOGIN_REFUSED, client_text="10.0.0.6:1", client_id="app")]
    seen.gathering.log.late.put(LateKey("a", 0, WHO, BROKER), several(3))
    seen.put_error(6, 0)
    at = several(1)
    found = symptoms(seen, unanswered=[(UnansweredKey("a", 0, WHO, BROKER, None), at)])
    assert [one.kind for one in found] == ["error", "connection", "unanswered", "late"]
    assert found[1].client == Client(None, "app", None, "10.0.0.6")
