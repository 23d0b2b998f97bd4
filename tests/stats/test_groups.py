"""`kdissect groups` against what the recording scripts knew, and against exchanges made by hand."""

from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.engine.times import rfc3339
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.groups.classic_group import Cause
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.packets.stream import CloseKind
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import Close
from kdissect.stats.by_group import group_log
from kdissect.stats.by_group import group_traffic as groups
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic
from tests.history.talk import MS, START_NS, Talk
from tests.stats.test_offsets import commit, fetch, list_offsets, produce, stored
from tests.stats.truth import Facts, shown, told, truth
from tests.support.console import CAPTURES

# Groups in which a member is told what is added: the truth names that, not all it holds.
INCREMENTAL = ("cooperative", "coop", "sticky", "new", "served")
DELETE_TOPICS, DELETE_GROUPS, OFFSET_DELETE = 20, 42, 47
METADATA, OFFSET_COMMIT, FIND_COORDINATOR, HEARTBEAT, CONSUMER_GROUP_HEARTBEAT = 3, 8, 10, 12, 68


def of(facts: Facts, group: str, kind: str = "classic") -> Facts:
    (found,) = (row for row in facts["groups"] if (row["group"], row["kind"]) == (group, kind))
    return dict(found)


def causes(group: Facts) -> list[set[tuple[str, str]]]:
    return [{(row["cause"], row["member"]) for row in r["causes"]} for r in group["rebalances"]]


def traffic_of(*exchanges: Exchange) -> list[dict[str, Any]]:
    traffic = GroupTraffic(TopicNames())
    for exchange in exchanges:
        traffic.add(exchange)
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
    # static-2 was killed and came back as static-3; static-3 was killed for good (notes of the truth). It
    # came back after the rebalance that static-2 began: it is no cause of that one.
    assert causes(of(facts, "static")) == [
        {("first_member", "instance-1")},
        {("member_joined", "instance-2")},
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


def lags(*exchanges: Exchange) -> list[tuple[int | None, int | None]]:
    """Return lag and committed lag of all partitions of a group."""
    (group,) = traffic_of(*exchanges)
    return [(row["lag"], row["committed_lag"]) for row in group["partitions"]]


def reader_of(talk: Talk, at: int) -> list[Exchange]:
    """Return the requests with which a member joins, and receives partition 0 of topic `t`."""
    body = {"group_id": "g", "member_id": "m", "rebalance_timeout_ms": 1000, "member_epoch": 0}
    owned = {"topic_partitions": [{"topic_id": b"t" * 16, "partitions": [0]}]}
    answer = {"member_id": "m", "member_epoch": 1, "heartbeat_interval_ms": 1000, "assignment": owned}
    names = {"topics": [{"error_code": 0, "name": "t", "topic_id": b"t" * 16, "partitions": []}]}
    return [
        talk.ask(METADATA, 12, {"topics": None}, names, at=at),
        talk.ask(CONSUMER_GROUP_HEARTBEAT, 0, body, {"error_code": 0, **answer}, at=at + 2),
    ]


def alive(talk: Talk, at: int) -> Exchange:
    body = {"group_id": "g", "member_id": "m", "rebalance_timeout_ms": -1, "member_epoch": 1}
    answer = {"error_code": 0, "member_id": "m", "member_epoch": 1, "heartbeat_interval_ms": 1000}
    return talk.ask(CONSUMER_GROUP_HEARTBEAT, 0, body, answer, at=at)


def test_the_end_of_a_partition_is_known_from_any_response() -> None:
    """A consumer that fetches no more receives no high watermark. Producers and other clients do."""
    talk, other = Talk(), Talk(client="10.0.0.9")
    read = [*reader_of(talk, 0), fetch(talk, 0, stored(0, 5), high=5, at=10), commit(talk, 5)]
    assert lags(*read) == [(0, 0)]
    for more, end in (
        (produce(other, stored(0, 7), 40), 47),
        (produce(other, stored(0, 7) + stored(7, 2), 40), 41),  # the offset of the first record
        (produce(other, stored(0, 7), 40, error=6), 5),
        (list_offsets(other, -1, 30), 30),
        (list_offsets(other, -2, 30), 5),
        (fetch(other, 0, high=20), 20),
        (fetch(Talk(client="10.0.0.9", capture_set="another"), 0, high=20), 5),
    ):
        assert lags(*read, more) == [(end - 5, end - 5)], end


def test_an_end_that_may_be_old_is_no_lag_of_0() -> None:
    talk = Talk()
    read = [*reader_of(talk, 0), fetch(talk, 0, stored(0, 5), high=5, at=10), commit(talk, 5)]
    assert lags(*read, alive(talk, 5_000)) == [(0, 0)]
    silent = [*read, alive(talk, 60_000)]  # the member is there, and fetches no more
    assert lags(*silent) == [(None, None)]
    assert lags(*silent, produce(Talk(client="10.0.0.9"), stored(0), 8)) == [(4, 4)]
    assert lags(*silent, fetch(talk, 5, high=5, at=60_002)) == [(0, 0)]
    assert lags(*read, commit(talk, 9)) == [(0, None)]  # somebody read records beyond the known end


def test_the_end_of_a_deleted_topic_is_not_that_of_the_next_one() -> None:
    """Old clients and brokers know no topic ids, so that both topics have one name."""
    talk, other = Talk(), Talk(client="10.0.0.9")
    asked = {"topic_names": ["t"], "timeout_ms": 1}
    for error, lag in ((0, 0), (29, 998)):
        answer = {"responses": [{"name": "t", "error_code": error}]}
        for show in (lambda: produce(other, stored(0), 999), lambda: fetch(other, 0, high=1000)):
            read = [*reader_of(talk, 0), fetch(talk, 0, stored(0, 5), high=5), commit(talk, 5), show()]
            assert lags(*read) == [(995, 995)]
            read.append(talk.ask(DELETE_TOPICS, 3, asked, answer))
            assert lags(*read) == [(995, 995)]
            again = fetch(talk, 0, stored(0, 2), high=2), commit(talk, 2), fetch(talk, 2, high=2)
            assert lags(*read, *again) == [(lag, lag)]


def test_deleted_offsets_are_committed_no_longer() -> None:
    talk = Talk()
    row = {"name": "t", "partitions": [{"partition_index": 0, "error_code": 0}]}
    of_offset = talk.ask(
        OFFSET_DELETE, 0, {"group_id": "g", "topics": [row]}, {"error_code": 0, "topics": [row]}
    )
    groups_gone = {"results": [{"group_id": "g", "error_code": 0}]}
    of_group = talk.ask(DELETE_GROUPS, 0, {"groups_names": ["g"]}, groups_gone)
    for deletes in (of_offset, of_group):
        (group,) = traffic_of(commit(talk, 5), fetch(talk, 5, high=9), deletes)
        assert group["partitions"] == []


def test_a_negative_offset_is_none() -> None:
    talk = Talk()
    assert lags(*reader_of(talk, 0), fetch(talk, -1, high=5), commit(talk, -1)) == [(None, None)]


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


def test_the_coordinator_of_an_empty_name() -> None:
    """Apache Kafka answers it, although no group can have it."""
    row = {"key": "", "node_id": 3, "host": "10.0.0.9", "port": 9092, "error_code": 0, "error_message": None}
    asked = {"key_type": 0, "coordinator_keys": [""]}
    assert traffic_of(Talk().ask(FIND_COORDINATOR, 4, asked, {"coordinators": [row]})) == []


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


JOIN_GROUP, SYNC_GROUP = 11, 14


def joins(
    talk: Talk, member: str, generation: int | None, asked: str | None = None,
    members: tuple[str, ...] = (), at: int | None = None, client_id: str = "client", error: int = 0,
) -> Exchange:  # fmt: skip
    """Return a JoinGroup; `generation` None: it is not answered."""
    body = {
        "group_id": "g", "session_timeout_ms": 10000, "rebalance_timeout_ms": 60000,
        "member_id": member if asked is None else asked, "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }  # fmt: skip
    answer = {
        "error_code": error, "generation_id": generation, "protocol_name": "range", "leader": "a",
        "member_id": member, "members": [{"member_id": one} for one in members],
    }  # fmt: skip
    return talk.ask(JOIN_GROUP, 7, body, None if generation is None else answer, at=at, client_id=client_id)


def syncs(talk: Talk, member: str, generation: int, error: int = 0, at: int | None = None) -> Exchange:
    body = {"group_id": "g", "generation_id": generation, "member_id": member, "assignments": []}
    return talk.ask(SYNC_GROUP, 3, body, {"error_code": error, "assignment": b""}, at=at, client_id=member)


def beats(talk: Talk, member: str, generation: int, error: int = 0, at: int | None = None) -> Exchange:
    body = {"group_id": "g", "generation_id": generation, "member_id": member}
    return talk.ask(HEARTBEAT, 3, body, {"error_code": error}, at=at, client_id=member)


def unanswered(exchange: Exchange, given_up_ms: int | None = None) -> Exchange:
    exchange.state = State.UNANSWERED
    if given_up_ms is not None:
        exchange.close = Close("client", CloseKind.FIN, START_NS + given_up_ms * MS)
    return exchange


def test_a_rebalance_that_does_not_end() -> None:
    """One member is told to join again and does; another one joined before. Neither is answered."""
    one, two = Talk("10.0.0.1"), Talk("10.0.0.3")
    found = [
        joins(one, "a", 1, members=("a",), at=0, client_id="a"), syncs(one, "a", 1, at=10),
        beats(one, "a", 1, at=100), beats(one, "a", 1, error=27, at=5000),
        unanswered(joins(one, "a", None, at=5010, client_id="a")),
        unanswered(joins(two, "b", None, asked="", at=4000, client_id="late-comer")),
    ]  # fmt: skip
    (group,) = traffic_of(*found)
    assert (group["state"], group["rebalance_count"]) == ("rebalancing", 1)
    open_one = group["rebalancing"]
    assert [(row["cause"], row["member"]) for row in open_one["causes"]] == [("member_joined", "late-comer")]
    assert open_one["time"] == rfc3339(START_NS + 4000 * MS)
    assert sorted(open_one["joined"]) == ["a", "late-comer"]
    assert (open_one["waiting_for"], open_one["gave_up"]) == ([], [])
    assert [member["gone"] for member in group["members"]] == [None]


def test_who_is_waited_for() -> None:
    one, two = Talk("10.0.0.1"), Talk("10.0.0.3")
    found = [
        joins(one, "a", 1, members=("a", "b"), at=0, client_id="a"),
        joins(two, "b", 1, at=1, client_id="b"), syncs(one, "a", 1, at=10), syncs(two, "b", 1, at=11),
        beats(one, "a", 1, error=27, at=5000), unanswered(joins(one, "a", None, at=5010, client_id="a")),
    ]  # fmt: skip
    (group,) = traffic_of(*found)
    assert group["rebalancing"]["waiting_for"] == ["b"]
    assert group["rebalancing"]["joined"] == ["a"]
    assert [row["cause"] for row in group["rebalancing"]["causes"]] == ["unknown"]


def test_an_unanswered_join_is_the_cause_and_a_later_one_is_not() -> None:
    """Who gave up began the rebalance; who joined while the others were told to join again did not."""
    one, two, three = Talk("10.0.0.1"), Talk("10.0.0.3"), Talk("10.0.0.4")
    found = [
        joins(one, "a", 1, members=("a",), at=0, client_id="a"), syncs(one, "a", 1, at=10),
        unanswered(joins(two, "b", None, asked="", at=1000, client_id="gave-up"), 1600),
        beats(one, "a", 1, error=27, at=1100),
        joins(one, "a", 2, members=("a", "c"), at=1500, client_id="a"),
        joins(three, "c", 2, asked="", at=3000, client_id="later"),
    ]  # fmt: skip
    (group,) = traffic_of(*found)
    assert causes(group)[1] == {("member_joined", "gave-up")}


def test_a_capture_of_one_direction_has_no_unanswered_joins() -> None:
    (group,) = traffic_of(unanswered(joins(Talk(), "a", None, asked="")))
    assert (group["state"], group["rebalancing"]) == ("no member seen", None)


def test_a_loop_of_failures_is_counted_with_its_rhythm() -> None:
    talk = Talk()
    found = [joins(talk, "a", 1, members=("a",), at=0, client_id="a")]
    for round_ in range(5):
        found += [
            joins(talk, "a", 1, members=("a",), at=1000 + 6000 * round_, client_id="a"),
            syncs(talk, "a", 1, error=27, at=1100 + 6000 * round_),
        ]
    (group,) = traffic_of(*found)
    ((failure),) = group["failures"]
    assert (failure["api"], failure["error"], failure["count"]) == ("SyncGroup", "REBALANCE_IN_PROGRESS", 5)
    assert failure["every_ns"] == 6000 * MS


def test_a_member_that_came_back_under_another_id_is_replaced() -> None:
    talk = Talk()
    found = [
        joins(talk, "a1", 1, asked="", members=("a1",), at=0), syncs(talk, "a1", 1, at=10),
        beats(talk, "a1", 1, error=25, at=60_000), joins(talk, "a2", 2, asked="", members=("a2",), at=60_010),
    ]  # fmt: skip
    (group,) = traffic_of(*found)
    assert {member["member_id"]: member["gone"] for member in group["members"]} == {
        "a1": "replaced", "a2": None,
    }  # fmt: skip


def test_a_member_that_heartbeats_is_there() -> None:
    talk = Talk()
    (group,) = traffic_of(beats(talk, "a", 3), beats(talk, "a", 3))
    assert [(member["member_id"], member["gone"]) for member in group["members"]] == [("a", None)]


def test_the_end_of_a_capture_is_no_giving_up() -> None:
    one, two = Talk("10.0.0.1"), Talk("10.0.0.3")
    waits = unanswered(joins(two, "b", None, asked="", at=4000, client_id="late-comer"), 9000)
    assert waits.close is not None
    begun = [joins(one, "a", 1, members=("a",), at=0, client_id="a"), syncs(one, "a", 1, at=10)]
    for how in (CloseKind.CAPTURE_END, CloseKind.IDLE):
        waits.close = waits.close._replace(how=how)
        (group,) = traffic_of(*begun, waits)
        assert (group["rebalancing"]["joined"], group["rebalancing"]["gave_up"]) == (["late-comer"], [])


def causes_come_first(traffic: GroupTraffic, joined: dict[str, int]) -> None:
    for key, group in traffic.modern.groups.items():
        for raised in group.rebalances:
            for cause, members in raised.why().items():
                for who in members:
                    asked = joined.get(who, 0) if cause is Cause.MEMBER_JOINED else 0
                    assert asked <= raised.shown_ns, ("a cause later than its effect", key)
            assert raised.since_ns <= raised.shown_ns
            assert raised.settled_ns is None or raised.settled_ns >= raised.since_ns
        assert group.raises >= len(group.rebalances)
        for who, raised in group.lost().items():
            member = group.members.peek(who)
            assert member is not None
            assert member.last_ns < raised.shown_ns, ("lost, and heartbeating", key)
        assert set(group.behind) <= {member.member_id for member in group.members}
    for group in traffic.classic.groups:
        for rebalance in group.rebalances:
            joiners = rebalance.why(group.leader).get(Cause.MEMBER_JOINED, set()) & set(joined)
            for who in joiners if rebalance.shown_ns is not None else ():
                assert joined[who] <= rebalance.shown_ns, "a cause later than its effect"
            assert rebalance.since_ns <= rebalance.began.answered_ns


BEATS = (HEARTBEAT, 68, 76, 88)


def member_of(turn: ExchangeView) -> str:
    return str(turn.request.member_id or turn.response.member_id)


EVERY = sorted(path for path in CAPTURES.iterdir() if ".pcap" in path.name)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.name)
def test_what_holds_of_all_groups(path: Path) -> None:
    traffic = GroupTraffic(TopicNames())
    last_beat: dict[tuple[str, str], int] = {}
    joined: dict[str, int] = {}
    for exchange in Dissection(str(path)):
        turn = ExchangeView(exchange)
        traffic.add(exchange)
        if exchange.api_key == JOIN_GROUP and turn.response is not None:
            joined.setdefault(turn.response.member_id, turn.sent_ns)
        if exchange.api_key in BEATS and turn.response is not None and not turn.response.error_code:
            epoch = getattr(turn.request, "member_epoch", None)
            if epoch == 0:
                joined.setdefault(turn.response.member_id, turn.sent_ns)
            if epoch is None or epoch >= 0:
                last_beat[turn.request.group_id, member_of(turn)] = turn.sent_ns
    causes_come_first(traffic, joined)
    for row in group_facts(traffic):
        there = {one["member_id"] for one in row["members"] if one["gone"] is None}
        for one in row["members"]:
            beat = last_beat.get((row["group"], one["member_id"]), 0)
            assert one["gone"] != "refused" or not beat, "never let in, and heartbeating"
            if one["gone_at"] is not None:
                assert rfc3339(beat) <= one["gone_at"], "gone, and heartbeating"
        if row["rebalancing"] is not None and row["state"] == "rebalancing":
            assert there or row["rebalancing"]["joined"]
