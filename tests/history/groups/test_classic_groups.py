"""Classic groups: generations, causes, and members who do otherwise."""

import struct
from typing import Any

import pytest

from kdissect.history.fact import Fact
from kdissect.history.groups.classic_group import Cause, ClassicState
from kdissect.history.groups.classic_groups import ClassicGroups
from kdissect.history.groups.group_payloads import assigned_partitions, subscribed_topics
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk, brief, feed, kinds

JOIN, SYNC, HEARTBEAT, LEAVE, COMMIT = 11, 14, 12, 13, 8


def subscription(*topics: str) -> bytes:
    rows = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + rows + struct.pack(">i", -1)


def join(
    talk: Talk, member: str, generation: int, leader: str = "a", members: tuple[str, ...] = (),
    asked: str | None = None, error: int = 0, instance: str | None = None, topics: tuple[str, ...] = ("t",),
    chosen: str = "range", patience: int = 60000, offered: tuple[str, ...] = ("range",),
    told: str = "", at: int | None = None, took: int = 1,
) -> Exchange:  # fmt: skip
    body = {
        "group_id": "g", "session_timeout_ms": 10000, "rebalance_timeout_ms": patience,
        "member_id": member if asked is None else asked,
        "group_instance_id": instance, "protocol_type": "consumer",
        "protocols": [{"name": name, "metadata": subscription(*topics)} for name in offered],
    }  # fmt: skip
    answer = {
        "error_code": error, "generation_id": generation, "protocol_type": "consumer",
        "protocol_name": chosen, "leader": leader, "member_id": member,
        "members": [
            {"member_id": one, "metadata": subscription(*((told,) if told else topics))} for one in members
        ],
    }  # fmt: skip
    return talk.ask(JOIN, 7, body, answer, at, took=took)


def sync(
    talk: Talk,
    member: str,
    generation: int,
    gives: tuple[str, ...] = (),
    error: int = 0,
    protocol: str = "range",
    given: bytes | None = None,
    sends: tuple[tuple[str, bytes], ...] = (),
) -> Exchange:  # fmt: skip
    body = {
        "group_id": "g", "generation_id": generation, "member_id": member, "protocol_type": "consumer",
        "protocol_name": protocol,
    }  # fmt: skip
    sends = sends or tuple((one, own(one)) for one in gives)
    body["assignments"] = [{"member_id": one, "assignment": sent} for one, sent in sends]
    given = dict(sends).get(member, own(member)) if given is None else given
    return talk.ask(SYNC, 5, body, {"error_code": error, "assignment": given})


def own(member: str) -> bytes:
    """Return a partition for each member; bytes that are no assignment for none."""
    if not member:
        return b"\0"
    return assignment(("t", ord(member) - ord("a")))


def assignment(*partitions: tuple[str, int]) -> bytes:
    rows = b"".join(
        struct.pack(">h", len(topic)) + topic.encode() + struct.pack(">ii", 1, partition)
        for topic, partition in partitions
    )
    return struct.pack(">hi", 0, len(partitions)) + rows + struct.pack(">i", -1)


def heartbeat(talk: Talk, member: str, generation: int, error: int = 0, at: int | None = None) -> Exchange:
    body = {"group_id": "g", "generation_id": generation, "member_id": member}
    return talk.ask(HEARTBEAT, 3, body, {"error_code": error}, at=at)


def leave(talk: Talk, member: str) -> Exchange:
    body = {"group_id": "g", "members": [{"member_id": member, "reason": "done"}]}
    answer = {"members": [{"member_id": member, "group_instance_id": None, "error_code": 0}]}
    return talk.ask(LEAVE, 5, body, answer)


def commit(talk: Talk, member: str, generation: int) -> Exchange:
    body = {"group_id": "g", "generation_id_or_member_epoch": generation, "member_id": member}
    return talk.ask(COMMIT, 7, body, {})


def causes(machine: ClassicGroups) -> set[tuple[Cause, str]]:
    """Return why the only group's last rebalance took place."""
    (group,) = machine.groups
    assert group.rebalance is not None
    return {(cause, who) for cause, members in group.rebalance.why(group.leader).items() for who in members}


def group_of_two(first: Talk, second: Talk, machine: ClassicGroups) -> None:
    feed(
        machine, join(first, "a", 1, members=("a",)), sync(first, "a", 1, ("a",)),
        join(first, "a", 2, members=("a", "b")), join(second, "b", 2),
        sync(first, "a", 2, ("a", "b")), sync(second, "b", 2),
    )  # fmt: skip


def test_two_members_join_one_after_the_other() -> None:
    first, second, machine = Talk(), Talk("10.0.0.9"), ClassicGroups()
    facts = feed(
        machine, join(first, "a", -1, asked="", error=79), join(first, "a", 1, members=("a",)),
        sync(first, "a", 1, ("a",)),
    )  # fmt: skip
    assert kinds(facts) == ["member_id_given", "generation_began", "joined", "assigned"]
    assert causes(machine) == {(Cause.FIRST_MEMBER, "a")}
    assert assigned_partitions(facts[-1].seen) == {("t", 0)}
    facts = feed(
        machine, heartbeat(first, "a", 1, error=27), join(first, "a", 2, members=("a", "b")),
        join(second, "b", 2), sync(second, "b", 2), sync(first, "a", 2, ("a", "b")), heartbeat(first, "a", 2),
    )  # fmt: skip
    assert causes(machine) == {(Cause.MEMBER_JOINED, "b")}
    (group,) = machine.groups
    assert (group.generation, group.state, group.roster) == (2, ClassicState.STABLE, {"a", "b"})
    assert (group.leader, group.total_rebalances, len(group.members)) == ("a", 2, 2)


def test_leaving_and_being_lost_are_causes() -> None:
    first, second, machine = Talk(), Talk("10.0.0.9"), ClassicGroups()
    group_of_two(first, second, machine)
    facts = feed(machine, leave(second, "b"), join(first, "a", 3, members=("a",)))
    assert causes(machine) == {(Cause.MEMBER_LEFT, "b")}
    assert [(fact.seen, fact.detail) for fact in facts if fact.kind == "left"] == [("b", "done")]
    first, second, machine = Talk(), Talk("10.0.0.9"), ClassicGroups()
    group_of_two(first, second, machine)
    feed(machine, join(first, "a", 3, members=("a",)))
    assert causes(machine) == {(Cause.MEMBER_LOST, "b")}
    (group,) = machine.groups
    assert [member.member_id for member in group.members] == ["a"]


def test_a_heartbeat_under_way_while_its_member_joins() -> None:
    talk, machine = Talk(), ClassicGroups()
    feed(machine, join(talk, "a", 1, members=("a",)), join(talk, "a", 2, members=("a",)))
    assert not feed(
        machine, heartbeat(talk, "a", 1, at=talk.now)
    )  # sent with the second join, answered later
    assert kinds(feed(machine, heartbeat(talk, "a", 1, at=talk.now + 10))) == ["generation_differs"]


def test_other_causes() -> None:
    first, second, machine = Talk(), Talk("10.0.0.9"), ClassicGroups()
    group_of_two(first, second, machine)
    second.now = first.now + 2  # the follower asks after the leader
    feed(machine, join(first, "a", 3, members=("a", "b")), join(second, "b", 3))
    (group,) = machine.groups
    assert group.rebalance is not None
    assert group.rebalance.why(group.leader) == {Cause.LEADER_REJOINED: {"a"}}
    first.now = second.now + 4  # told by a heartbeat, so to speak
    feed(machine, join(second, "b", 4, topics=("t", "u")), join(first, "a", 4, members=("a", "b")))
    assert causes(machine) == {(Cause.SUBSCRIPTION_CHANGED, "b")}
    assert subscribed_topics(subscription("t", "u")) == ("t", "u")


def test_the_first_member_is_who_asked_first_whoever_is_answered_first() -> None:
    first, second, machine = Talk(), Talk("10.0.0.9"), ClassicGroups()
    asked = join(first, "a", 1, members=("a", "b"))
    asked_later = join(second, "b", 1, at=1000)
    feed(machine, asked_later, asked)
    assert causes(machine) == {(Cause.FIRST_MEMBER, "a"), (Cause.MEMBER_JOINED, "b")}


def test_a_static_member_comes_back() -> None:
    talk, machine = Talk(), ClassicGroups()
    feed(machine, join(talk, "a", 1, members=("a",), instance="i"))
    feed(machine, join(talk, "b", 2, leader="b", members=("b",), instance="i", asked=""))
    assert causes(machine) == {(Cause.MEMBER_RESTARTED, "b")}


def test_the_last_to_leave_empties_the_group() -> None:
    talk, machine = Talk(), ClassicGroups()
    feed(machine, join(talk, "a", 1, members=("a",)), leave(talk, "a"))
    (group,) = machine.groups
    assert group.state is ClassicState.EMPTY
    feed(machine, join(talk, "c", 3, leader="c", members=("c",)))
    assert causes(machine) >= {(Cause.FIRST_MEMBER, "c")}


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (lambda one, two: heartbeat(one, "a", 1), ("generation_differs", 2, 1)),
        (lambda one, two: commit(one, "a", 1), ("generation_differs", 2, 1)),
        (lambda one, two: sync(two, "b", 3), ("generation_differs", 2, 3)),
        (lambda one, two: sync(two, "b", 2, ("b",)), ("assignments_of_follower", "a", "b")),
        (lambda one, two: sync(one, "a", 2, ("a", "x")), ("assignment_to_stranger", None, ["x"])),
        (
            lambda one, two: sync(one, "a", 2, protocol="sticky"),
            ("protocol_differs", ("consumer", "range"), ("consumer", "sticky")),
        ),
        (lambda one, two: join(one, "a", 3, chosen="sticky"), ("protocol_not_offered", ("range",), "sticky")),
        (lambda one, two: heartbeat(one, "a", 2, at=20000), ("silent_too_long", 10000, 19992)),
        (lambda one, two: heartbeat(one, "a", 2, error=82), ("fenced", 0, 82)),
        (lambda one, two: heartbeat(one, "a", 2, error=25), ("refused", 0, 25)),
    ],
)
def test_what_differs(step: Any, expected: tuple[str, Any, Any]) -> None:
    first, second, machine = Talk(), Talk("10.0.0.9"), ClassicGroups()
    group_of_two(first, second, machine)
    assert expected in brief(feed(machine, step(first, second)))


def test_a_given_id_that_is_not_used() -> None:
    talk = Talk()
    facts = feed(
        ClassicGroups(), join(talk, "a", -1, asked="", error=79), join(talk, "b", -1, asked="", error=79)
    )
    assert ("given_id_unused", "a", "") in brief(facts)


def test_heartbeats_that_ignore_a_rebalance_are_counted() -> None:
    first, second, machine = Talk(), Talk("10.0.0.9"), ClassicGroups()
    group_of_two(first, second, machine)
    facts = feed(machine, *[heartbeat(first, "a", 2, error=27) for _ in range(3)])
    assert [fact.seen for fact in facts] == [1, 2, 3]


def test_members_who_were_not_seen_to_join_are_not_compared() -> None:
    talk, machine = Talk(), ClassicGroups()
    facts = feed(
        machine, heartbeat(talk, "x", 7), sync(talk, "x", 9), commit(talk, "x", 3), commit(talk, "", -1)
    )
    assert kinds(facts) == ["assigned"]


def test_a_group_seen_from_the_middle_has_no_known_cause() -> None:
    talk, machine = Talk(), ClassicGroups()
    feed(machine, join(talk, "a", 9, members=("a",)))
    assert causes(machine) == {(Cause.UNKNOWN, "a")}


@pytest.mark.parametrize("data", [b"\0", b"\0\0\0\0\0\5", b"\xff\xff", bytes(3)])
def test_payloads_of_another_form(data: bytes) -> None:
    assert assigned_partitions(data) is None
    assert subscribed_topics(data) is None


def test_a_member_that_does_not_join_again() -> None:
    def facts(last: int) -> list[Fact]:
        talk = Talk()
        return feed(
            ClassicGroups(), join(talk, "a", 1, members=("a", "b"), patience=9000), join(talk, "b", 1),
            heartbeat(talk, "a", 1, error=27, at=1000), heartbeat(talk, "a", 1, error=27, at=10_500),
            heartbeat(talk, "a", 1, error=27, at=last),
        )  # fmt: skip

    assert "rejoin_overdue" not in kinds(facts(20_000))  # the other member waits for 60 s
    assert ("rejoin_overdue", 60_000, 61_999) in brief(facts(63_000))
    talk, machine = Talk(), ClassicGroups()
    joined = feed(
        machine, join(talk, "a", 1, members=("a",)), heartbeat(talk, "a", 1, error=27, at=1000),
        join(talk, "a", 2, members=("a",)), heartbeat(talk, "a", 2, at=70_000),
    )  # fmt: skip
    assert "rejoin_overdue" not in kinds(joined)


@pytest.mark.parametrize("is_late", [False, True])
def test_a_member_is_given_what_the_leader_sent(is_late: bool) -> None:
    """Answers to leader and follower come in any order."""
    first, second, machine = Talk(), Talk("10.0.0.9"), ClassicGroups()
    led = sync(first, "a", 2, ("a", "b"))
    followed = sync(second, "b", 2, given=own("c"))
    facts = feed(
        machine, join(first, "a", 2, members=("a", "b")), join(second, "b", 2),
        *((followed, led) if is_late else (led, followed)),
    )  # fmt: skip
    (found,) = [fact for fact in facts if fact.kind == "assignment_differs"]
    assert (found.expected, found.seen, found.side) == ("t-1", "t-2", "response")
    assert found.evidence.connection == "10.0.0.9-10.0.0.2"
    assert found.earlier is not None
    assert found.earlier.connection == "10.0.0.1-10.0.0.2"


def test_which_assignments_a_coordinator_took_is_not_known_of_two() -> None:
    """A leader that was not answered sends again, others: the coordinator keeps those that came first."""
    talk, machine = Talk(), ClassicGroups()
    lost = talk.ask(
        SYNC, 5,
        {"group_id": "g", "generation_id": 2, "member_id": "a", "protocol_type": "consumer",
         "protocol_name": "range", "assignments": [{"member_id": "a", "assignment": own("b")}]},
    )  # fmt: skip
    facts = feed(machine, join(talk, "a", 2, members=("a",)), lost, sync(talk, "a", 2, ("a",)))
    assert "assignment_differs" not in kinds(facts)


def test_a_heartbeat_under_way_when_its_member_left_may_be_answered() -> None:
    first, second, machine = Talk(), Talk("10.0.0.9"), ClassicGroups()
    facts = feed(
        machine, join(first, "a", 2, members=("a",)), leave(first, "a"), heartbeat(second, "a", 2, at=3),
    )  # fmt: skip
    assert "answered_after_leave" not in kinds(facts)
    assert "answered_after_leave" in kinds(feed(machine, heartbeat(second, "a", 2, at=30)))


def test_static_members_may_be_told_of_another_leader() -> None:
    talk, machine = Talk(), ClassicGroups()
    facts = feed(
        machine,
        join(talk, "a", 2, members=("a",), instance="i"),
        join(talk, "b", 2, leader="b", instance="i"),
    )
    assert "two_leaders" not in kinds(facts)


def test_a_member_that_joins_again_does_not_prolong_the_rebalance() -> None:
    """A broker answers a JoinGroup that changes nothing with the present generation (GroupCoordinator)."""
    talk, groups = Talk(), ClassicGroups()
    feed(groups, join(talk, "a", 1, members=("a",)), sync(talk, "a", 1, gives=("a",)))
    (group,) = groups.groups
    assert group.rebalance is not None
    stable_ns = group.rebalance.stable_ns
    feed(groups, join(talk, "a", 1, leader="", at=9000), sync(talk, "a", 1))
    assert group.rebalance.generation == 1
    assert group.rebalance.stable_ns == stable_ns
