"""Tasks, epochs and statuses of streams groups, from exchanges made by hand and from a recording."""

from typing import Any

import pytest

from kdissect.history.topics.topic_names import TopicNames
from kdissect.session.exchange import Exchange
from kdissect.stats.by_group import streams_log
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic
from tests.history.talk import Talk
from tests.stats.truth import Facts, told

STREAMS_HEARTBEAT = 88
MISSING_SOURCE, DELAYED = 1, 5
ROLES = ("active", "standby", "warmup")
Tasks = dict[str, tuple[int, ...]]
"""Partitions of subtopology 0, by role."""


def beats(
    talk: Talk, epoch: int, to: int, at: int, gets: Tasks | None = None,
    statuses: tuple[tuple[int, str], ...] = (), member: str = "a", **more: Any,
) -> Exchange:  # fmt: skip
    """Return a heartbeat, answered with the epoch `to`, tasks and statuses."""
    topology = {"epoch": 3, "subtopologies": []} if epoch == 0 else None
    body = {"group_id": "g", "member_id": member, "member_epoch": epoch, "topology": topology, **more}
    answer: Facts = {
        "error_code": 0, "member_id": member, "member_epoch": to, "heartbeat_interval_ms": 1000,
        "status": [{"status_code": code, "status_detail": detail} for code, detail in statuses],
    }  # fmt: skip
    for role in ROLES if gets is not None else ():
        rows = (gets or {}).get(role, ())
        answer[f"{role}_tasks"] = [{"subtopology_id": "0", "partitions": list(rows)}] if rows else []
    return talk.ask(STREAMS_HEARTBEAT, 1, body, answer, at=at, client_id=f"client-{member}")


def group_of(*exchanges: Exchange) -> Facts:
    traffic = GroupTraffic(TopicNames())
    for exchange in exchanges:
        traffic.add(exchange)
    (group,) = group_facts(traffic)
    return group


def test_tasks_by_role_with_epochs() -> None:
    talk = Talk()
    begin = beats(talk, 0, 1, 0, {}, process_id="p-1")
    (row,) = group_of(begin)["tasks"]
    assert [row[role] for role in ROLES] == [[], [], []]
    later = beats(talk, 1, 4, 1000, {"active": (0, 2), "standby": (1,), "warmup": (3,)})
    (row,) = group_of(begin, later)["tasks"]
    assert [row[role] for role in ROLES] == [["0_0", "0_2"], ["0_1"], ["0_3"]]
    assert (row["epoch"], row["topology_epoch"], row["process_id"]) == (4, 3, "p-1")
    assert (row["client_id"], row["gone"]) == ("client-a", None)
    (member,) = group_of(begin, later)["members"]
    assert member["epoch"] == 4


def test_tasks_are_unknown_before_a_response_has_them() -> None:
    (row,) = group_of(beats(Talk(), 5, 5, 0))["tasks"]
    assert [row[role] for role in ROLES] == [None, None, None]
    assert row["topology_epoch"] is None


def test_statuses_by_member_with_their_times() -> None:
    talk, other = Talk("10.0.0.1"), Talk("10.0.0.3")
    missing = (MISSING_SOURCE, "Source topics words are missing.")
    found = group_of(
        beats(talk, 0, 1, 0, {}, ((DELAYED, "wait"), missing)), beats(talk, 1, 1, 1000, statuses=(missing,)),
        beats(talk, 1, 1, 2000, statuses=(missing,)), beats(other, 0, 1, 2500, {}, (missing,), member="b"),
    )["statuses"]  # fmt: skip
    rows = [(row["member_id"], row["status"], row["count"], row["lasts"]) for row in found]
    assert rows == [
        ("a", "ASSIGNMENT_DELAYED", 1, False),
        ("a", "MISSING_SOURCE_TOPICS", 3, True),
        ("b", "MISSING_SOURCE_TOPICS", 1, True),
    ]
    assert found[1]["detail"] == missing[1]
    assert found[1]["first"] < found[1]["last"]


def test_a_status_lasts_no_longer_than_its_responses() -> None:
    talk = Talk()
    (row,) = group_of(
        beats(talk, 0, 1, 0, {}, ((MISSING_SOURCE, "gone"),)),
        beats(talk, 1, 1, 1000),
        beats(talk, 1, 1, 2000),
    )["statuses"]
    assert (row["count"], row["lasts"]) == (1, False)


def test_an_unknown_status_is_a_number_and_statuses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_log, "_STATUSES_KEPT", 3)
    talk = Talk()
    rows = group_of(
        *(beats(talk, min(at, 1), 1, 1000 * at, statuses=((99, f"{at}" * 900),)) for at in range(9))
    )["statuses"]
    assert [row["status"] for row in rows] == ["99"] * 3
    assert {len(row["detail"]) for row in rows} == {200}


def test_the_recorded_application(capfd: pytest.CaptureFixture[str]) -> None:
    classic, streams = told(capfd, "groups", "kafka44_java_streams")["groups"]
    assert (classic["tasks"], classic["statuses"], classic["deliveries"]) == ([], [], [])
    assert {member["epoch"] for member in classic["members"]} == {None}
    (row,) = streams["tasks"]
    assert row["active"] == ["0_0", "0_1", "1_0", "1_1"]
    # Seven responses before the rebalance delay was over, the first two before the topics were created.
    counts = {one["status"]: one["count"] for one in streams["statuses"]}
    assert counts == {"ASSIGNMENT_DELAYED": 7, "MISSING_INTERNAL_TOPICS": 2}
