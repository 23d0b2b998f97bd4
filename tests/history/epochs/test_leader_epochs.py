"""Leaders and their epochs."""

from typing import Any

import pytest

from kdissect.history.epochs.leader_epochs import LeaderEpochs
from kdissect.history.exchange_view import ExchangeView
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk, brief, feed, kinds

METADATA, FETCH, PRODUCE, LEADER_AND_ISR = 3, 1, 0, 4
UUID = bytes(range(16))


def metadata(
    talk: Talk, leader: int, epoch: int, topic_id: bytes = UUID, error: int = 0, cluster: str | None = None
) -> Exchange:
    rows = [
        {
            "partition_index": 0,
            "leader_id": leader,
            "leader_epoch": epoch,
            "replica_nodes": [],
            "isr_nodes": [],
        }
    ]
    topic = {"error_code": error, "name": "t", "topic_id": topic_id, "partitions": rows}
    answer = {"brokers": [], "topics": [topic], "cluster_id": cluster}
    return talk.ask(METADATA, 12, {"topics": None}, answer)


def fetch(talk: Talk, leader: int, epoch: int) -> Exchange:
    row = {
        "partition_index": 0, "error_code": 74, "records": None, "aborted_transactions": None,
        "current_leader": {"leader_id": leader, "leader_epoch": epoch},
    }  # fmt: skip
    return talk.ask(FETCH, 12, {}, {"responses": [{"topic": "t", "partitions": [row]}]})


def produce(talk: Talk, leader: int, epoch: int) -> Exchange:
    row = {"index": 0, "error_code": 6, "current_leader": {"leader_id": leader, "leader_epoch": epoch}}
    return talk.ask(PRODUCE, 10, {}, {"responses": [{"name": "t", "partition_responses": [row]}]})


def leader_and_isr(talk: Talk, leader: int, epoch: int, error: int = 0) -> Exchange:
    row = {"partition_index": 0, "leader": leader, "leader_epoch": epoch}
    body = {"topic_states": [{"topic_name": "t", "topic_id": UUID, "partition_states": [row]}]}
    return talk.ask(LEADER_AND_ISR, 5, body, {"error_code": error})


@pytest.mark.parametrize("tell", [metadata, fetch, produce, leader_and_isr])
def test_every_source_raises_the_epoch(tell: Any) -> None:
    talk, machine = Talk(), LeaderEpochs()
    facts = feed(machine, metadata(talk, 1, 4), tell(talk, 2, 5), tell(talk, 2, 5))
    assert brief(facts) == [("learned", None, (1, 4)), ("changed", (1, 4), (2, 5))]
    (known,) = machine.partitions
    assert (known.leader, known.epoch, known.changes) == (2, 5, 1)


def test_going_back_and_being_stale() -> None:
    one, two, machine = Talk(), Talk(broker="10.0.0.3"), LeaderEpochs()
    facts = feed(machine, metadata(one, 1, 4), metadata(two, 1, 3), metadata(one, 1, 2), metadata(one, 3, 4))
    assert kinds(facts) == ["learned", "stale", "went_back", "two_leaders"]
    assert [fact.sure for fact in facts[1:]] == [False, True, True]


def test_a_connection_leads_to_one_cluster() -> None:
    """Another connection to the same address may lead to another one; null says nothing."""
    one, two, machine = Talk(), Talk("10.0.0.9"), LeaderEpochs()
    told = [metadata(one, 1, 4, cluster="A"), metadata(two, 1, 4, cluster="B"), metadata(one, 1, 4)]
    assert kinds(feed(machine, *told)) == ["learned"]
    (fact,) = feed(machine, metadata(one, 1, 4, cluster="B"), metadata(one, 1, 4, cluster="A"))
    assert (fact.kind, fact.expected, fact.seen, fact.path) == ("other_cluster", "A", "B", "cluster_id")
    assert fact.earlier is not None


def test_a_topic_created_again_starts_over() -> None:
    talk, machine = Talk(), LeaderEpochs()
    facts = feed(machine, metadata(talk, 1, 4), metadata(talk, 1, 0, topic_id=bytes(15) + b"\1"))
    assert kinds(facts) == ["learned", "recreated"]


def test_what_tells_nothing() -> None:
    talk, machine = Talk(), LeaderEpochs()
    assert not feed(
        machine, metadata(talk, 1, -1), metadata(talk, 1, 4, error=3), leader_and_isr(talk, 1, 4, error=11)
    )
    feed(machine, metadata(talk, 1, 4))
    assert not feed(machine, metadata(talk, -1, 4))  # no leader just now


def test_a_repeated_response_stands_until_a_leader_changes() -> None:
    """Asked twice, the answer is one that was found before."""
    talk, other, machine = Talk(), Talk(broker="10.0.0.3"), LeaderEpochs()
    feed(machine, first := metadata(talk, 1, 4))
    stated = machine.stated(ExchangeView(first))
    assert machine.stands(talk.info, stated)
    assert machine.stands(talk.info, stated)
    assert not machine.stands(other.info, stated)
    feed(machine, metadata(other, 2, 5))
    assert not machine.stands(talk.info, stated)
    feed(machine, metadata(talk, 2, 5))
    assert not machine.stands(talk.info, stated)
