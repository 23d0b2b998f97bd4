"""Consumer, share and streams groups: member epochs and what they hold."""

from typing import Any

import pytest

from kdissect.history.groups.modern_group import ModernKind
from kdissect.history.groups.modern_groups import ModernGroups
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk, brief, feed, kinds

CONSUMER, SHARE, STREAMS = 68, 76, 88
UUID = bytes(range(16))


def beat(
    talk: Talk, epoch: int, told: int | None = None, error: int = 0, holds: tuple[int, ...] | None = None,
    member: str = "m", key: int = CONSUMER, at: int | None = None, answered_as: str | None = None,
    owns: tuple[int, ...] | None = None,
) -> Exchange:  # fmt: skip
    body: dict[str, Any] = {"group_id": "g", "member_id": member, "member_epoch": epoch}
    if owns is not None:
        body["topic_partitions"] = [{"topic_id": UUID, "partitions": list(owns)}]
    given = None if holds is None else {"topic_partitions": [{"topic_id": UUID, "partitions": list(holds)}]}
    answer = {
        "error_code": error, "member_id": member if answered_as is None else answered_as,
        "member_epoch": epoch if told is None else told, "heartbeat_interval_ms": 1000, "assignment": given,
    }  # fmt: skip
    return talk.ask(key, 1, body, answer if told is not None or error else None, at=at)


@pytest.mark.parametrize("key", [CONSUMER, SHARE])
def test_join_epochs_assignment_leave(key: int) -> None:
    talk, machine = Talk(), ModernGroups()
    facts = feed(
        machine, beat(talk, 0, 1, holds=(0, 1), key=key), beat(talk, 1, 1, key=key),
        beat(talk, 1, 2, holds=(0,), key=key), beat(talk, 2, 2, key=key), beat(talk, -1, -1, key=key),
    )  # fmt: skip
    assert kinds(facts) == [
        "joined", "group_epoch", "assigned", "epoch_given", "group_epoch", "assigned", "left",
    ]  # fmt: skip
    assert facts[5].expected - facts[5].seen == {(UUID, 1)}
    (group,) = machine.groups
    assert (group.epoch, group.raises, len(group.members), group.gone) == (2, 2, 0, 1)


def test_what_is_held_is_kept_once() -> None:
    """However often assignments change, of partitions that are created and deleted."""
    talk, machine = Talk(), ModernGroups()
    feed(machine, beat(talk, 0, 1, holds=(0,)))
    for number in range(1, 50):
        feed(machine, beat(talk, 1, 1, holds=(number, number + 100)))
    (group,) = machine.groups
    assert set(group.holders) == {(UUID, 49), (UUID, 149)}
    feed(machine, beat(talk, -1, -1))
    assert not group.holders


def test_streams_tasks() -> None:
    talk, machine = Talk(), ModernGroups()
    tasks = [{"subtopology_id": "0", "partitions": [0, 1]}]
    body = {"group_id": "g", "member_id": "m", "member_epoch": 0}
    answer = {
        "member_id": "m", "member_epoch": 1, "heartbeat_interval_ms": 5, "active_tasks": tasks,
        "standby_tasks": [], "warmup_tasks": [],
    }  # fmt: skip
    facts = feed(machine, talk.ask(STREAMS, 1, body, answer))
    assert facts[-1].seen == {("active", "0", 0), ("active", "0", 1)}
    (group,) = machine.groups
    assert group.kind is ModernKind.STREAMS


@pytest.mark.parametrize(
    ("role", "task", "strange"),
    [
        ("standby", ("0", 1), None),  # a task may change its role
        ("active", ("0", 2), "active-0-2"),
        ("warmup", ("9", 0), "warmup-9-0"),
    ],
)
def test_streams_tasks_that_were_not_assigned(role: str, task: tuple[str, int], strange: str | None) -> None:
    talk, machine = Talk(), ModernGroups()
    names = ("active_tasks", "standby_tasks", "warmup_tasks")
    none: dict[str, Any] = {name: [] for name in names}
    body = {"group_id": "g", "member_id": "m", "member_epoch": 0}
    answer = {"member_id": "m", "member_epoch": 1, "heartbeat_interval_ms": 5}
    given = {**none, "active_tasks": [{"subtopology_id": "0", "partitions": [0, 1]}]}
    owned = {**none, f"{role}_tasks": [{"subtopology_id": task[0], "partitions": [task[1]]}]}
    facts = feed(
        machine, talk.ask(STREAMS, 1, body | none, answer | given),
        talk.ask(STREAMS, 1, body | {"member_epoch": 1} | owned, answer | dict.fromkeys(names)),
    )  # fmt: skip
    found = [(fact.path, fact.seen) for fact in facts if fact.kind == "owns_unassigned"]
    assert found == ([] if strange is None else [(f"{role}_tasks", strange)])


@pytest.mark.parametrize("epoch", [3, 2, 0, -1, -2])
def test_epochs_that_are_expected(epoch: int) -> None:
    talk, machine = Talk(), ModernGroups()
    facts = feed(machine, beat(talk, 0, 2), beat(talk, 2, 3), beat(talk, epoch, max(epoch, 3)))
    assert "epoch_differs" not in kinds(facts)


def test_epochs_that_differ() -> None:
    talk, machine = Talk(), ModernGroups()
    facts = feed(machine, beat(talk, 0, 2), beat(talk, 7, 7))
    assert ("epoch_differs", 2, 7) in brief(facts)


def test_after_an_answer_that_was_not_seen_nothing_is_expected() -> None:
    talk, machine = Talk(), ModernGroups()
    assert "epoch_differs" not in kinds(feed(machine, beat(talk, 0, 2), beat(talk, 2), beat(talk, 7, 7)))


def test_a_member_seen_from_the_middle() -> None:
    talk, machine = Talk(), ModernGroups()
    assert kinds(feed(machine, beat(talk, 8, 8), beat(talk, 8, 9))) == [
        "group_epoch",
        "epoch_given",
        "group_epoch",
    ]


def test_a_fenced_member_joins_again() -> None:
    talk, machine = Talk(), ModernGroups()
    facts = feed(machine, beat(talk, 0, 2), beat(talk, 2, error=110), beat(talk, 0, 4), beat(talk, 4, 4))
    assert kinds(facts) == ["joined", "group_epoch", "fenced", "joined", "group_epoch"]
    assert kinds(feed(machine, beat(talk, 4, error=111))) == ["refused"]


def test_late_and_other_member() -> None:
    talk, machine = Talk(), ModernGroups()
    facts = feed(
        machine, beat(talk, 0, 2, at=0), beat(talk, 2, 2, at=2000), beat(talk, 2, 2, at=4100, answered_as="x")
    )
    assert brief(facts)[2:] == [("late", 1000, 2100), ("other_member_id", "m", "x")]


def test_the_coordinator_may_name_the_member() -> None:
    talk, machine = Talk(), ModernGroups()
    feed(machine, beat(talk, 0, 1, member="", answered_as="given"), beat(talk, 1, 1, member="given"))
    (group,) = machine.groups
    assert [member.member_id for member in group.members] == ["given"]


def test_of_partitions_that_two_members_hold_the_least_is_reported() -> None:
    """Whatever the order of sets is, which differs from process to process."""
    talk, machine, many = Talk(), ModernGroups(), tuple(range(60))
    facts = feed(
        machine, beat(talk, 1, 1, holds=many), beat(talk, 1, 1, owns=many),
        beat(talk, 1, 1, holds=many, member="n"), beat(talk, 1, 1),
    )  # fmt: skip
    assert [str(fact.seen) for fact in facts if str(fact.kind) == "held_by_two"] == [f"{UUID.hex()}-0"]
