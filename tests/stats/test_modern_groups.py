"""`kdissect groups` of groups whose members only heartbeat: rebalances under way, members that come back.

Against what the recording scripts knew, and against exchanges made by hand.
"""

from typing import Any

import pytest

from kdissect.engine.times import rfc3339
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.packets.stream import CloseKind
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import Close
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic
from tests.history.talk import MS, START_NS, Talk
from tests.stats.truth import Facts, shown, told, truth

CONSUMER, SHARE, STREAMS = 68, 76, 88
KINDS = [CONSUMER, SHARE, STREAMS]
TOPIC_ID = bytes(range(16))
UNKNOWN_MEMBER, MAX_SIZE = 25, 81


def given(partitions: tuple[int, ...] | None) -> Any:
    return None if partitions is None else [{"topic_id": TOPIC_ID, "partitions": list(partitions)}]


def beats(
    talk: Talk, member: str, epoch: int, to: int | None, at: int, key: int = CONSUMER, error: int = 0,
    gets: tuple[int, ...] | None = None, owns: tuple[int, ...] | None = None, instance: str | None = None,
) -> Exchange:  # fmt: skip
    """Return a heartbeat with an epoch, answered with the epoch `to`; None: it is not answered."""
    body: dict[str, Any] = {"group_id": "g", "member_id": member, "member_epoch": epoch}
    answer: dict[str, Any] = {
        "error_code": error, "member_id": member, "member_epoch": to, "heartbeat_interval_ms": 1000,
    }  # fmt: skip
    if key != SHARE and instance is not None:
        body["instance_id"] = instance
    if key == STREAMS:
        tasks = (("active_tasks", gets, answer), ("active_tasks", owns, body))
        for name, partitions, into in tasks:
            into[name] = (
                None if partitions is None else [{"subtopology_id": "0", "partitions": list(partitions)}]
            )
    else:
        answer["assignment"] = None if gets is None else {"topic_partitions": given(gets)}
        if key == CONSUMER:
            body["topic_partitions"] = given(owns)
    return talk.ask(key, 1, body, None if to is None else answer, at=at, client_id=f"client-{member}")


def unanswered(exchange: Exchange, ended_ms: int | None = None, how: CloseKind = CloseKind.FIN) -> Exchange:
    exchange.state = State.UNANSWERED
    if ended_ms is not None:
        exchange.close = Close("client", how, START_NS + ended_ms * MS)
    return exchange


def facts_of(*exchanges: Exchange) -> Facts:
    traffic = GroupTraffic(TopicNames())
    for exchange in exchanges:
        traffic.add(exchange)
    (group,) = group_facts(traffic)
    return group


def causes(group: Facts) -> list[set[tuple[str, str | None]]]:
    return [{(row["cause"], row["member"]) for row in one["causes"]} for one in group["rebalances"]]


def gone(group: Facts) -> dict[str, str | None]:
    return {member["member_id"]: member["gone"] for member in group["members"]}


ONE, TWO = "10.0.0.1", "10.0.0.3"


# What was recorded.


def test_a_reconciliation_that_waits(capfd: pytest.CaptureFixture[str]) -> None:
    name = "kafka44_java_waiting"
    # Each of the two groups has one that polls no more, and one that waits for it when the capture ends.
    assert [note.partition(" polls")[0] for note in truth(name)["notes"]] == [
        "classic-hangs",
        "consumer-hangs",
    ]
    held = {row["client_id"]: row["partitions"] for row in truth(name)["groups"] if row["what"] == "assigned"}
    groups = {row["kind"]: row for row in told(capfd, "groups", name)["groups"]}
    assert (groups["classic"]["state"], groups["consumer"]["state"]) == ("rebalancing", "reconciling")
    for kind, group in groups.items():
        open_one = group["rebalancing"]
        assert open_one["waiting_for"] == [f"{kind}-hangs"]
        assert [(row["cause"], row["member"]) for row in open_one["causes"]] == [
            ("member_joined", f"{kind}-waits")
        ]
        assert open_one["gave_up"] == []  # the capture ended, they did not
        assert {member["gone"] for member in group["members"]} == {None}
    (revoking,) = groups["consumer"]["rebalancing"]["revoking"]
    assert revoking["member"] == "consumer-hangs"
    assert set(revoking["partitions"]) < set(held["consumer-hangs"])  # it says that it still holds all
    (queue,) = revoking["partitions"]
    text = shown(capfd, "groups", name)
    assert f"joined consumer-waits; waiting for consumer-hangs (has not revoked {queue})" in text
    assert "joined and not answered: classic-waits; waiting for classic-hangs" in text


def test_members_that_leave_and_join_over_and_over(capfd: pytest.CaptureFixture[str]) -> None:
    name = "kafka44_java_rejoins"
    for group in told(capfd, "groups", name)["groups"]:
        slow = f"{group['kind']}-slow"
        joined = [
            row for row in truth(name)["groups"]
            if row["client_id"] == slow and row["what"] == "assigned" and row["partitions"]
        ]  # fmt: skip
        (again,) = group["rejoins"]
        assert (again["client_id"], again["after"], again["count"]) == (slow, "left", len(joined) - 1)
        assert again["every_ns"] > 2_000_000_000  # it works for two seconds each time
        came = [one["causes"][0] for one in group["rebalances"] if one["causes"][0]["member"] == slow]
        assert [row["cause"] for row in came] == ["member_joined", "member_left"] * len(joined)
    assert "left (consumer poll timeout has expired.)" in shown(capfd, "groups", name)


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_a_member_killed_while_it_waited_is_missed(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    name = "kafka44_java_killed"
    works, dies = f"{kind}-works", f"{kind}-dies"
    assert f"{dies} was killed while {works} had not given it anything" in truth(name)["notes"]
    (group,) = (row for row in told(capfd, "groups", name)["groups"] if row["kind"] == kind)
    assert causes(group) == [{("first_member", works)}, {("member_joined", dies)}, {("member_lost", dies)}]
    assert {row["client_id"]: row["gone"] for row in group["members"]} == {works: "left", dies: "lost"}
    assert [one["members"] for one in group["rebalances"]] == [1, 2, 1]
    assert (group["state"], group["rebalancing"]) == ("empty", None)


# Made by hand.


@pytest.mark.parametrize("key", KINDS)
def test_an_unanswered_join_is_a_member_that_waits_and_a_cause(key: int) -> None:
    one, two = Talk(ONE), Talk(TWO)
    before = [beats(one, "a", 0, 1, 0, key, gets=(0, 1)), beats(one, "a", 1, 1, 1000, key, owns=(0, 1))]
    group = facts_of(*before, unanswered(beats(two, "b", 0, None, 2000, key)))
    open_one = group["rebalancing"]
    assert (group["state"], open_one["time"]) == ("reconciling", rfc3339(START_NS + 2000 * MS))
    assert (open_one["joined"], open_one["gave_up"]) == (["client-b"], [])
    assert [(row["cause"], row["member"]) for row in open_one["causes"]] == [("member_joined", "client-b")]
    assert gone(group) == {"a": None, "b": None}
    # Known when its connection ends: the next epoch may have been told before.
    group = facts_of(
        *before, beats(one, "a", 1, 2, 3000, key), unanswered(beats(two, "b", 0, None, 2000, key), 2500)
    )
    assert causes(group)[1] == {("member_joined", "client-b")}
    assert group["rebalancing"] is None
    assert gone(group)["b"] == "refused"


def test_all_that_asked_went_before_there_was_an_answer() -> None:
    one, two = Talk(ONE), Talk(TWO)
    group = facts_of(beats(one, "a", -1, -1, 0), unanswered(beats(two, "b", 0, None, 10), 5000))
    assert (group["state"], group["rebalancing"]["gave_up"][0]["member"]) == ("join unanswered", "client-b")


@pytest.mark.parametrize("how", [CloseKind.CAPTURE_END, CloseKind.IDLE])
def test_the_end_of_a_capture_is_no_giving_up(how: CloseKind) -> None:
    one, two = Talk(ONE), Talk(TWO)
    group = facts_of(beats(one, "a", -1, -1, 0), unanswered(beats(two, "b", 0, None, 10), 5000, how))
    assert group["rebalancing"]["joined"] == ["client-b"]
    assert group["rebalancing"]["gave_up"] == []


def test_a_capture_of_one_direction_has_no_unanswered_joins() -> None:
    assert facts_of(unanswered(beats(Talk(), "b", 0, None, 0), 10))["rebalancing"] is None


@pytest.mark.parametrize("key", [CONSUMER, STREAMS])
def test_who_has_not_revoked_is_waited_for(key: int) -> None:
    one, two = Talk(ONE), Talk(TWO)
    begun = [
        beats(one, "a", 0, 1, 0, key, gets=(0, 1)), beats(one, "a", 1, 1, 1000, key, owns=(0, 1)),
        beats(two, "b", 0, 2, 1500, key, gets=()), beats(one, "a", 1, 1, 2000, key, gets=(0,)),
    ]  # fmt: skip
    open_one = facts_of(*begun)["rebalancing"]
    assert (open_one["generation"], open_one["waiting_for"]) == (2, ["client-a"])
    assert len(open_one["revoking"][0]["partitions"]) == 1
    assert open_one["time"] == rfc3339(START_NS + 1500 * MS)
    revoked = [*begun, beats(one, "a", 1, 2, 2500, key, owns=(0,))]
    group = facts_of(*revoked)
    assert (group["state"], group["rebalancing"]["waiting_for"]) == ("reconciling", ["client-b"])
    assert [one["took_ns"] for one in group["rebalances"]] == [1 * MS, None]
    group = facts_of(*revoked, beats(two, "b", 2, 2, 2600, key, gets=(1,)))
    assert (group["state"], group["rebalancing"]) == ("stable", None)
    assert [one["took_ns"] // MS for one in group["rebalances"]] == [1, 1101]


JOIN_GROUP, SYNC_GROUP, LEAVE_GROUP = 11, 14, 13


def classic(talk: Talk, member: str, generation: int, at: int) -> list[Exchange]:
    """Return a classic member joins a generation and gets its assignment."""
    protocols = [{"name": "range", "metadata": b"m"}]
    asked = {
        "group_id": "g", "session_timeout_ms": 1000, "rebalance_timeout_ms": 1000, "member_id": member,
        "protocol_type": "consumer", "protocols": protocols,
    }  # fmt: skip
    told_of = {
        "error_code": 0, "generation_id": generation, "protocol_name": "range", "leader": member,
        "member_id": member, "members": [],
    }  # fmt: skip
    join = talk.ask(JOIN_GROUP, 4, asked, told_of, at=at, client_id=f"client-{member}")
    body = {"group_id": "g", "generation_id": generation, "member_id": member, "assignments": []}
    answer = {"error_code": 0, "assignment": b""}
    return [join, talk.ask(SYNC_GROUP, 2, body, answer, at=at + 10, client_id=f"client-{member}")]


def test_a_group_that_migrates_is_one_group() -> None:
    """A classic member, then one of the consumer protocol, then the classic one leaves (KIP-848)."""
    one, two = Talk(ONE), Talk(TWO)
    leaves = one.ask(
        LEAVE_GROUP, 1, {"group_id": "g", "member_id": "a"}, {"error_code": 0}, at=4000, client_id="client-a"
    )
    group = facts_of(
        *classic(one, "a", 1, 0),
        beats(two, "b", 0, 2, 1000, gets=()),
        *classic(one, "a", 2, 1500),
        beats(two, "b", 2, 2, 2000, gets=(0,)),
        leaves,
        beats(two, "b", 2, 3, 5000, gets=(0, 1)),
    )
    assert (group["kind"], group["generation"], group["rebalance_count"]) == ("consumer", 3, 3)
    found = [(one["generation"], one["members"]) for one in group["rebalances"]]
    assert found == [(1, 1), (2, 2), (3, 1)]
    assert causes(group) == [
        {("first_member", "client-a")}, {("member_joined", "client-b")}, {("member_left", "client-a")},
    ]  # fmt: skip


@pytest.mark.parametrize("key", KINDS)
def test_a_rebalance_lasts_until_members_have_partitions(key: int) -> None:
    """The coordinator lets the first member in with nothing and assigns some seconds later."""
    talk = Talk()
    begun = [beats(talk, "a", 0, 1, 0, key, gets=()), beats(talk, "a", 1, 1, 2500, key)]
    group = facts_of(*begun)
    assert (group["state"], group["rebalances"][0]["took_ns"]) == ("unassigned", None)
    group = facts_of(*begun, beats(talk, "a", 1, 2, 5000, key, gets=(0,)))
    assert group["state"] == "stable"
    assert [(one["took_ns"] // MS, one["causes"][0]["cause"]) for one in group["rebalances"]] == [
        (5001, "first_member"), (0, "assignment_delayed"),
    ]  # fmt: skip
    idle = beats(Talk(TWO), "b", 0, 3, 6000, key, gets=()), beats(talk, "a", 2, 3, 7000, key)
    group = facts_of(*begun, beats(talk, "a", 1, 2, 5000, key, gets=(0,)), *idle)
    assert (group["state"], group["rebalances"][2]["took_ns"] // MS) == ("stable", 1001)  # b gets none


def test_what_has_happened_before_anybody_is_told() -> None:
    """A coordinator may let a member in and assign anew later."""
    one, two = Talk(ONE), Talk(TWO)
    begun = [beats(one, "a", 0, 1, 0, gets=(0, 1)), beats(two, "b", 0, 1, 1000, gets=())]
    open_one = facts_of(*begun)["rebalancing"]
    assert [(row["cause"], row["member"]) for row in open_one["causes"]] == [("member_joined", "client-b")]
    group = facts_of(*begun, beats(one, "a", 1, 2, 2000, gets=(0,)))
    assert causes(group)[1] == {("member_joined", "client-b")}
    assert group["rebalances"][1]["time"] == rfc3339(START_NS + 1000 * MS)


def test_a_member_that_died_is_not_waited_for_forever() -> None:
    one, two = Talk(ONE), Talk(TWO)
    begun = [beats(one, "a", 0, 1, 0, gets=(0, 1)), beats(two, "b", 0, 2, 1000, gets=())]
    assert facts_of(*begun)["rebalancing"]["waiting_for"] == ["client-a"]
    assert facts_of(*begun, beats(two, "b", 2, 2, 60_000))["rebalancing"] is None


def test_who_never_gave_up_what_another_gets_is_lost() -> None:
    """And that is what began the rebalance, not the one after it."""
    one, two = Talk(ONE), Talk(TWO)
    group = facts_of(
        beats(one, "a", 0, 1, 0, gets=(0, 1)), beats(two, "b", 0, 2, 1000, gets=()),
        beats(one, "a", 1, 1, 1500, gets=(0,)), beats(one, "a", 1, 2, 2000, owns=(0,)),
        beats(two, "b", 2, 2, 2500, gets=(1,)), beats(two, "b", 2, 3, 50_000, gets=(0, 1)),
    )  # fmt: skip
    assert gone(group) == {"a": "lost", "b": None}
    assert causes(group)[2] == {("member_lost", "client-a")}
    assert (group["state"], group["rebalancing"]) == ("stable", None)


def test_who_gives_up_while_another_gets_it_is_not_lost() -> None:
    """What it was told is known after what the other was told."""
    one, two = Talk(ONE), Talk(TWO)
    group = facts_of(
        beats(one, "a", 0, 1, 0, gets=(0, 1)), beats(one, "a", 1, 1, 900, owns=(0, 1)),
        beats(two, "b", 0, 2, 1000, gets=()),
        beats(two, "b", 2, 2, 2001, gets=(1,)), beats(one, "a", 1, 2, 2000, gets=(0,), owns=(0,)),
        beats(two, "b", 2, 3, 9000, gets=(1,)),
    )  # fmt: skip
    assert gone(group) == {"a": None, "b": None}
    assert causes(group)[2] == {("unknown", None)}


@pytest.mark.parametrize("key", KINDS)
def test_who_is_told_that_it_was_lost_is_the_cause_of_what_was_told_before(key: int) -> None:
    one, two = Talk(ONE), Talk(TWO)
    group = facts_of(
        beats(one, "a", 0, 1, 0, key), beats(two, "b", 0, 2, 1000, key), beats(one, "a", 1, 2, 1500, key),
        beats(two, "b", 2, 3, 50_000, key), beats(one, "a", 2, 0, 60_000, key, error=UNKNOWN_MEMBER),
        beats(one, "a", 0, 4, 60_100, key),
    )  # fmt: skip
    assert causes(group)[2:] == [{("member_lost", "client-a")}, {("member_joined", "client-a")}]
    assert gone(group) == {"a": None, "b": None}
    ((again),) = group["rejoins"]
    assert (again["after"], again["count"]) == ("fenced", 1)
    (failure,) = group["failures"]
    assert (failure["error"], failure["count"]) == ("UNKNOWN_MEMBER_ID", 1)


@pytest.mark.parametrize("key", KINDS)
def test_another_id_on_a_connection_replaces_the_one_before(key: int) -> None:
    talk = Talk()
    begun = [beats(talk, "a1", 0, 1, 0, key, gets=(0,)), beats(talk, "a2", 0, 2, 5000, key, gets=(0,))]
    group = facts_of(*begun)
    assert gone(group) == {"a1": "replaced", "a2": None}
    assert (group["state"], group["rebalances"][1]["members"]) == ("stable", 1)
    # Unless both go on: then two share a connection.
    assert gone(facts_of(*begun, beats(talk, "a1", 1, 2, 6000, key))) == {"a1": None, "a2": None}


@pytest.mark.parametrize("key", [CONSUMER, STREAMS])
def test_a_static_member_comes_back(key: int) -> None:
    """It leaves for a while, which is no cause; under its new id it replaces the old one."""
    one, two, three = Talk(ONE), Talk(TWO), Talk("10.0.0.4")
    group = facts_of(
        beats(one, "a", 0, 1, 0, key), beats(two, "s1", 0, 2, 1000, key, instance="s"),
        beats(one, "a", 1, 2, 1200, key), beats(two, "s1", -2, -2, 2000, key, instance="s"),
        beats(three, "s2", 0, 2, 3000, key, instance="s"), beats(one, "a", 2, 3, 9000, key),
    )  # fmt: skip
    assert causes(group) == [{("first_member", "client-a")}, {("member_joined", "s")}, {("unknown", None)}]
    assert gone(group) == {"a": None, "s1": "left", "s2": None}
    crashed = facts_of(
        beats(two, "s1", 0, 1, 0, key, instance="s"), beats(three, "s2", 0, 2, 9000, key, instance="s")
    )
    assert gone(crashed) == {"s1": "replaced", "s2": None}
    assert causes(crashed)[1] == {("member_restarted", "s")}
    assert crashed["rejoins"][0]["after"] == "replaced"


@pytest.mark.parametrize("key", KINDS)
def test_who_was_not_let_in_is_no_member(key: int) -> None:
    talk = Talk()
    group = facts_of(*(beats(talk, "a", 0, 0, 1000 * n, key, error=MAX_SIZE) for n in range(3)))
    assert (group["state"], gone(group)) == ("empty", {"a": "refused"})
    (failure,) = group["failures"]
    assert (failure["error"], failure["count"], failure["every_ns"]) == (
        "GROUP_MAX_SIZE_REACHED",
        3,
        1000 * MS,
    )


@pytest.mark.parametrize("key", KINDS)
def test_the_epoch_a_capture_begins_with_is_no_rebalance(key: int) -> None:
    talk = Talk()
    group = facts_of(beats(talk, "a", 7, 7, 0, key), beats(talk, "a", 7, 8, 1000, key))
    assert (group["generation"], [one["generation"] for one in group["rebalances"]]) == (8, [8])
    assert gone(group) == {"a": None}


@pytest.mark.parametrize("partition", [0, 7, -1, -(1 << 31)])
def test_a_partition_is_the_number_that_was_assigned(partition: int) -> None:
    """Also one that no partition can have, next to a name with dashes."""
    group = facts_of(beats(Talk(), "m", 0, 1, 0, SHARE, gets=(partition,)))
    ((member,), (row,)) = group["members"], group["partitions"]
    assert row["partition"] == partition
    assert member["assigned"] == [f"{row['topic']}-{partition}"]
