"""Ids of topics against the names that they had before."""

from typing import Any

import pytest

from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics import topic_ids
from kdissect.history.topics.topic_ids import TopicIds
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk, brief, feed

METADATA, CREATE_TOPICS, DELETE_TOPICS, CONSUMER_GROUP_DESCRIBE = 3, 19, 20, 69
FIRST, LATER = (bytes.fromhex(f"5d3d70d6a1c34b309b0c8e5b0f3a4c2{n}") for n in (1, 2))
COUNTED = bytes(15) + b"\1"


def metadata(talk: Talk, name: str, topic_id: bytes, error: int = 0) -> Exchange:
    topics = [{"name": name, "topic_id": topic_id, "error_code": error, "partitions": []}]
    return talk.ask(METADATA, 12, {"topics": None}, {"brokers": [], "topics": topics})


def create(talk: Talk, name: str, topic_id: bytes, validate_only: bool) -> Exchange:
    topics = [{"name": name, "topic_id": topic_id}]
    return talk.ask(CREATE_TOPICS, 7, {"topics": [], "validate_only": validate_only}, {"topics": topics})


def delete(talk: Talk, name: str, topic_id: bytes) -> Exchange:
    row = {"name": name, "topic_id": topic_id}
    return talk.ask(DELETE_TOPICS, 6, {"topics": [row]}, {"responses": [row]})


def describe(talk: Talk, name: str, topic_id: bytes) -> Exchange:
    given = {"topic_partitions": [{"topic_id": topic_id, "topic_name": name, "partitions": [0]}]}
    member = {"member_id": "m", "assignment": given, "target_assignment": {"topic_partitions": []}}
    group = {"group_id": "g", "group_state": "Stable", "members": [member]}
    return talk.ask(CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": ["g"]}, {"groups": [group]})


@pytest.mark.parametrize("report", [metadata, delete, describe, lambda *of: create(*of, False)])
def test_an_id_has_one_name(report: Any) -> None:
    one, other, machine = Talk(), Talk(broker="10.0.0.3"), TopicIds()
    assert feed(machine, metadata(one, "t", FIRST), report(other, "t", FIRST)) == []
    (fact,) = feed(machine, report(other, "u", FIRST))
    assert (str(fact.kind), fact.expected, fact.seen) == ("other_name", "t", "u")


def test_two_assignments_of_one_response_are_compared() -> None:
    given = [{"topic_partitions": [{"topic_id": FIRST, "topic_name": n, "partitions": [0]}]} for n in "tu"]
    member = {"member_id": "m", "assignment": given[1], "target_assignment": given[0]}
    group = {"group_id": "g", "group_state": "Stable", "members": [member]}
    one = Talk().ask(CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": ["g"]}, {"groups": [group]})
    (fact,) = feed(TopicIds(), one)
    assert (fact.expected, fact.seen) == ("u", "t")
    assert fact.path == "groups[0].members[0].target_assignment.topic_partitions[0].topic_id"


def test_ids_that_are_not_compared() -> None:
    """An id that is not random, one of a CreateTopics that only validates, and one next to an error."""
    talk, machine = Talk(), TopicIds()
    first = metadata(talk, "t", COUNTED), metadata(talk, "v", FIRST)
    others = create(talk, "u", FIRST, True), metadata(talk, "u", FIRST, error=3), metadata(talk, "u", COUNTED)
    assert feed(machine, *first, *others) == []


def test_a_connection_returns_to_a_former_topic() -> None:
    """Another connection may lead to a broker that is behind."""
    one, two, machine = Talk(), Talk("10.0.0.9"), TopicIds()
    first = metadata(one, "t", FIRST), metadata(two, "t", LATER), metadata(one, "t", FIRST)
    assert feed(machine, *first, metadata(one, "t", LATER)) == []
    assert brief(feed(machine, metadata(one, "t", FIRST))) == [("id_again", LATER.hex(), FIRST.hex())]


def test_a_repeated_response_is_of_its_connection() -> None:
    """`repeat` notes the ids of a connection, so that a former one is known there."""
    one, two, machine = Talk(), Talk("10.0.0.9"), TopicIds()
    first = metadata(one, "t", FIRST)
    feed(machine, first)
    stated = machine.stated(view := ExchangeView(first))
    assert machine.stands(two.info, stated)
    machine.repeat(two.info, stated, view.evidence)
    feed(machine, metadata(two, "t", LATER))
    assert not machine.stands(two.info, stated)
    assert brief(feed(machine, metadata(two, "t", FIRST))) == [("id_again", LATER.hex(), FIRST.hex())]


def test_names_of_a_connection_that_is_over_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_ids, "NAMES_KEPT", 3)
    machine, talks = TopicIds(), [Talk(f"10.0.0.{number}") for number in range(6)]
    for talk in talks:
        feed(machine, metadata(talk, "t", FIRST))
        machine.close(talk.info)
    assert not len(machine.ids)
    for talk in talks:
        feed(machine, metadata(talk, "t", FIRST))
    assert [known for known, _ in machine.ids.items()] == [talk.info.id for talk in talks[-3:]]
    many = Talk("10.0.0.9")
    feed(machine, *(metadata(many, name, FIRST) for name in "tuvwx"))
    ((known, names),) = machine.ids.items()
    assert (known, [*names]) == (many.info.id, [*"vwx"])
