"""What holds in every capture: sums by any grouping, causes before effects, who is gone is silent."""

from collections import Counter, defaultdict

import pytest

from kdissect.api import Dissection
from kdissect.engine.times import rfc3339
from kdissect.history.exchange_view import ExchangeView
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from kdissect.stats.dimensions import DIMENSIONS
from tests.stats.truth import CORPUS, EVERY, Facts, listed_once, told_once
from tests.support.console import CAPTURES

FILES = sorted([*CAPTURES.glob("*.pcap*"), *(CAPTURES / "taps").glob("*.pcap*")])
# An exchange has one value of each of these, and any number of the others.
ONE_VALUE = (
    "api", "api_version", "client_id", "software", "client", "connection", "broker", "principal", "state",
    "client_rack", "broker_rack",
)  # fmt: skip
COUNTS = ("exchanges", "failed", "request_bytes", "response_bytes", "unclear", "empty_early")
SUMS = ("latency_ns", "wait_ns", "throttle_ns", "broker_ns")
GROUPINGS = 4  # of each capture; the next capture takes the next ones, and all come in turn
HEARTBEATS, LEFT = (12, 68, 76, 88), ("left", "removed")  # Heartbeat, and those of newer groups
JOINS = (11, 68, 76, 88)  # JoinGroup, and the heartbeats by which members of newer groups join
CAME = ("first_member", "member_joined")


def summed(facts: Facts, field: str) -> int:
    rows = [*facts["rows"], *([facts["other"]] if facts["other"] else [])]
    return sum(row[field] for row in rows)


@pytest.mark.rotated(4)
@pytest.mark.sampled(112)
@pytest.mark.parametrize("name", EVERY, scope="module")
def test_each_grouping_has_the_same_sums(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    total = told_once(capfd, "stats", name)["total"]
    names = [*DIMENSIONS]
    first = EVERY.index(name) * GROUPINGS
    for by in (names[(first + at) % len(names)] for at in range(GROUPINGS)):
        facts = told_once(capfd, "stats", name, "--by", by)
        assert facts["total"] == total, by
        for field in COUNTS:
            found = summed(facts, field)
            assert found == total[field] if by in ONE_VALUE else found >= total[field], (by, field)
        if by in ONE_VALUE:
            for field in SUMS:
                rows = [*facts["rows"], *([facts["other"]] if facts["other"] else [])]
                for part in ("count", "sum"):
                    assert sum(row[field][part] or 0 for row in rows if row[field]) == (
                        (total[field] or {}).get(part) or 0
                    ), (by, field)


@pytest.mark.sampled(32)
@pytest.mark.parametrize("name", EVERY, scope="module")
def test_no_member_is_gone_and_heartbeats(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Behind the time at which a member left, no heartbeat of its is answered without an error."""
    beats: dict[tuple[str, str], str] = {}
    for exchange in listed_once(name):
        view = ExchangeView(exchange)
        request, response = view.request, view.response
        if exchange.api_key not in HEARTBEATS or not (exchange.request and request and response):
            continue
        # A member of a newer group joins and leaves by heartbeats too, with an epoch of 0 and less.
        if not response.error_code and getattr(request, "member_epoch", 1) > 0:
            member = str(request.group_id), str(request.member_id)
            beats[member] = max(beats.get(member, ""), rfc3339(exchange.request.time_ns))
    for group in told_once(capfd, "groups", name)["groups"]:
        for member in group["members"]:
            if member["gone"] in LEFT and member["gone_at"] is not None:
                last = beats.get((group["group"], member["member_id"]), "")
                assert last <= member["gone_at"], (group["group"], member["member_id"])
            if member["joined"] is not None and member["gone_at"] is not None:
                assert member["joined"] <= member["gone_at"]


@pytest.mark.sampled(32)
@pytest.mark.parametrize("name", EVERY, scope="module")
def test_no_cause_is_later_than_its_effect(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing ends before it began; generations go up; changes stand in their order."""
    for group in told_once(capfd, "groups", name)["groups"]:
        for one in group["rebalances"]:
            assert one["took_ns"] is None or one["took_ns"] >= 0
        known = [one["generation"] for one in group["rebalances"] if one["generation"] is not None]
        assert known == sorted(known), group["group"]
    facts = told_once(capfd, "producers", name)
    for one in (each for row in facts["transactional_ids"] for each in row["transactions"]):
        assert one["ended"] is None or one["began"] is None or one["began"] <= one["ended"]
        assert one["took_ns"] is None or one["took_ns"] >= 0
    times = [row["time_ns"] for row in told_once(capfd, "changes", name)["changes"]]
    assert times == sorted(times)


def came(name: str) -> dict[tuple[str, str], str]:
    """Return when a member, by each of its names, was first seen to ask its group for anything."""
    found: dict[tuple[str, str], str] = {}
    for exchange in listed_once(name):
        view = ExchangeView(exchange)
        if exchange.api_key not in JOINS or exchange.request is None or view.request is None:
            continue
        names = {exchange.client_id, getattr(view.response, "member_id", None)}
        for field in ("member_id", "group_instance_id", "instance_id"):
            names.add(getattr(view.request, field, None))
        time = rfc3339(exchange.request.time_ns)
        for one in filter(None, names):
            key = str(view.request.group_id), str(one)
            found[key] = min(found.get(key, time), time)
    return found


@pytest.mark.sampled(32)
@pytest.mark.parametrize("name", EVERY, scope="module")
def test_who_brings_a_rebalance_about_came_before_it(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The first of those who joined did before it began; nobody is the first member whom others preceded."""
    seen = came(name)
    for group in told_once(capfd, "groups", name)["groups"]:
        for one in group["rebalances"]:
            times: dict[str, list[str]] = {cause: [] for cause in CAME}
            for cause in one["causes"]:
                known = [
                    seen[group["group"], who]
                    for who in (cause["member_id"], cause["member"])
                    if (group["group"], who) in seen
                ]
                if cause["cause"] in CAME and known:
                    times[cause["cause"]].append(min(known))
            first, joined = (times[cause] for cause in CAME)
            if first or (joined and len(joined) == len(one["causes"])):
                assert min(first + joined) <= one["time"], (group["group"], one["generation"])
            if first and joined:
                assert max(first) <= min(joined), (group["group"], one["generation"])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_is_laid_on_exchanges_was_sent_again(path: object) -> None:
    """No more delays than retransmissions of the connection, none longer than the exchange."""
    laid: dict[str, set[object]] = defaultdict(set)
    again: Counter[str] = Counter()
    for event in Dissection(str(path)).events():
        if isinstance(event, Exchange):
            laid[event.connection.id].update(event.delays)
            if event.request is not None and event.response is not None:
                span_ns = event.response.end_time_ns - event.request.time_ns
                assert 0 <= (event.delay_ns or 0) <= max(span_ns, 0)
            for delay in event.delays:
                assert delay.from_ns < delay.until_ns
        elif isinstance(event, ConnectionClosed) and event.connection.tcp is not None:
            tcp = event.connection.tcp
            again[event.connection.id] = tcp.retransmissions + tcp.out_of_order
    for connection, delays in laid.items():
        assert len(delays) <= again[connection]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", CORPUS, scope="module")
def test_records_by_topic_are_those_listed(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Batches and records that were written: by topic, and by who wrote them."""
    topics = told_once(capfd, "topics", name)["topics"]
    rows = told_once(capfd, "stats", name, "--by", "topic", "-Y", "api == Produce", "--top", "100000")["rows"]
    asked = {row["topic"]: row["exchanges"] for row in rows if row["topic"]}
    written: Counter[str] = Counter()  # topics of one name, in several clusters or one after the other
    for topic in topics:
        written[topic["topic"]] += topic["written"]["requests"]
    for topic, requests in written.items():
        if requests and topic in asked:
            assert requests == asked[topic], topic
