"""Committed offsets that go back, commit by commit and in blocks."""

from __future__ import annotations

from kdissect.causes.evidence.rewinds import Rewinds
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from tests.history.talk import MS, START_NS, Talk


def commit(
    talk: Talk, *offsets: int, error: int = 0, answered: bool = True, group: str = "g"
) -> ExchangeView:
    """Of partitions 0, 1, ... of one topic."""
    rows = [
        {"partition_index": at, "committed_offset": offset, "committed_metadata": None}
        for at, offset in enumerate(offsets)
    ]
    results = [{"partition_index": at, "error_code": error} for at in range(len(offsets))]
    asked = {
        "group_id": group, "generation_id_or_member_epoch": 1, "member_id": "m", "retention_time_ms": -1,
        "topics": [{"name": "t", "partitions": rows}],
    }  # fmt: skip
    answer = {"topics": [{"name": "t", "partitions": results}]} if answered else None
    return ExchangeView(talk.ask(8, 2, asked, answer))


def rewinds(*commits: ExchangeView) -> Rewinds:
    found = Rewinds(TopicNames())
    for each in commits:
        found.add(each)
    return found


def test_a_commit_below_the_one_before() -> None:
    talk = Talk()
    found = rewinds(commit(talk, 10, 5), commit(talk, 10, 3), commit(Talk(), 12, 0))
    assert [(one.group, one.topic, one.partition, one.before, one.after) for one in found.found] == [
        ("g", "t", 1, 5, 3),
        ("g", "t", 1, 3, 0),
    ]
    assert found.found[0].client.client_id == "client"
    assert found.found[0].packets.exchange == 1


def test_what_is_no_rewind() -> None:
    talk = Talk()
    assert rewinds(commit(talk, 5), commit(talk, -1)).found == []
    assert rewinds(commit(talk, 5), commit(talk, 3, error=25)).found == []
    assert rewinds(commit(talk, 5), commit(talk, 3, answered=False)).found == []
    assert rewinds(commit(talk, 5), commit(talk, 3, group="h")).found == []


def test_when_the_offset_of_a_partition_moved() -> None:
    talk = Talk()  # it sends every 2 ms
    found = rewinds(commit(talk, 5), commit(talk, 5), commit(talk, 6), commit(talk, 6))
    assert found.moved.peek((talk.info.scope, "g", "t", 0)) == START_NS + 6 * MS


def test_commits_of_a_block() -> None:
    """They are learned unless one goes back; then each comes as an exchange."""
    talk = Talk()
    found = rewinds(commit(talk, 5, 5))

    def is_back(first: int, second: int, sent_ns: int) -> bool:
        return found.is_back(talk.info, "g", [("t", [(0, first), (1, second)])], sent_ns)  # type: ignore[list-item]

    def moved() -> list[int | None]:
        return [found.moved.peek((talk.info.scope, "g", "t", at)) for at in (0, 1)]

    first_ns = START_NS + 2 * MS
    assert is_back(6, 4, 100)
    assert moved() == [first_ns, first_ns]
    assert not is_back(5, 5, 200)
    assert moved() == [first_ns, first_ns]
    assert not is_back(5, 7, 300)
    assert moved() == [first_ns, 300]
    assert is_back(5, 6, 400)
    assert found.found == []


def test_connections_that_carry_commits() -> None:
    one, other = Talk(), Talk(broker="10.0.0.3")
    found = rewinds(commit(one, 5), commit(one, 6), commit(other, 7, answered=False))
    info = one.info
    who = info.client_id or "", info.client_text.rpartition(":")[0], info.broker_text
    assert found.carrying(*who) == 1
    assert not found.is_back(one.info, "g", [("t", [(0, 8)])], 400)  # type: ignore[list-item]
    assert found.is_back(other.info, "g", [("t", [(0, 9)])], 400)  # type: ignore[list-item]
    found.add(commit(other, 9))
    assert not found.is_back(other.info, "g", [("t", [(0, 9)])], 400)  # type: ignore[list-item]
    assert (found.carrying(*who), found.carrying(*who[:2], other.info.broker_text)) == (1, 1)
    assert found.carrying("another", *who[1:]) == 0


def _outside(talk: Talk, *offsets: int) -> ExchangeView:
    found = commit(talk, *offsets)
    assert found.request is not None
    found.request.member_id, found.request.generation_id_or_member_epoch = "", -1
    return found


def test_offsets_that_somebody_outside_the_group_sets() -> None:
    member, tool = Talk(), Talk("10.0.0.9")
    found = rewinds(commit(member, 5, 5), _outside(tool, 9, 5), _outside(tool, 3, 4))
    sets = [(one.group, one.topic, one.partition, one.before, one.after) for one in found.set_from_outside]
    assert sets == [("g", "t", 0, 5, 9), ("g", "t", 0, 9, 3), ("g", "t", 1, 5, 4)]
    assert rewinds(commit(member, 5), _outside(member, 9)).set_from_outside == []  # as in blocks


def test_a_partition_that_a_commit_names_twice() -> None:
    """The last offset counts, and a commit of a block that then comes as an exchange changes nothing."""
    talk = Talk()
    found = rewinds(commit(talk, 3), _twice(talk, 1000, 500))
    assert found.found == []
    again = _twice(talk, 1200, 700)
    assert not found.is_back(talk.info, "g", [("t", [(0, 1200), (0, 700)])], again.sent_ns)  # type: ignore[list-item]
    found.add(again)
    assert found.found == []
    assert found.is_back(talk.info, "g", [("t", [(0, 1200), (0, 600)])], 400)  # type: ignore[list-item]
    found.add(_twice(talk, 1200, 600))
    assert [(one.before, one.after) for one in found.found] == [(700, 600)]


def _twice(talk: Talk, *offsets: int) -> ExchangeView:
    found = commit(talk, *offsets)
    assert found.request is not None
    assert found.response is not None
    for row in (*found.request.topics[0].partitions, *found.response.topics[0].partitions):
        row.partition_index = 0
    return found
