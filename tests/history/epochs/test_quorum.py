"""Epochs of the metadata quorum, and snapshots fetched piece by piece."""

import pytest

from kdissect.history.epochs.own_counters import OwnCounters
from kdissect.history.epochs.quorum_choices import QuorumChoices
from kdissect.history.epochs.quorum_epochs import QuorumEpochs
from kdissect.history.sessions.snapshot_fetches import SnapshotFetches
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.schema.logs import METADATA_TOPIC
from kdissect.session.exchange import Exchange
from tests.history.talk import Talk, brief, feed
from tests.support.messages.batches import batch_bytes, record_bytes

TOPIC_RECORD = b"\1\2\0" + b"\x0ctopic-12345" + bytes(range(16)) + b"\0"
PIECE = batch_bytes(record_bytes(value=TOPIC_RECORD), max_timestamp=1_700_000_000_000)  # 100 bytes
FETCH, VOTE, BEGIN, END, SNAPSHOT = 1, 52, 53, 54, 59
DESCRIBE_QUORUM, ALLOCATE_PRODUCER_IDS = 55, 67
ALTER_PARTITION, HEARTBEAT, UPDATE_METADATA = 56, 63, 6


def test_the_piece_is_as_long_as_tests_say() -> None:
    assert len(PIECE) == 100


CLUSTER = "quorum"


def vote(
    talk: Talk,
    epoch: int,
    answered: int,
    candidate: int = 1,
    granted: bool = False,
    cluster: str | None = CLUSTER,
) -> Exchange:
    asked = {"partition_index": 0, "replica_epoch": epoch, "replica_id": candidate}
    told = {"partition_index": 0, "leader_id": 2, "leader_epoch": answered, "vote_granted": granted}
    return talk.ask(VOTE, 0, of_log(asked) | {"cluster_id": cluster}, of_log(told))


def begin(talk: Talk, epoch: int, answered: int, key: int = BEGIN, leader: int = 1) -> Exchange:
    row = {"partition_index": 0, "leader_id": leader, "leader_epoch": epoch}
    return talk.ask(key, 0, of_log(row) | {"cluster_id": CLUSTER}, of_log({**row, "leader_epoch": answered}))


def fetch(talk: Talk, epoch: int, answered: int, topic: str = METADATA_TOPIC) -> Exchange:
    asked = {"partition": 0, "current_leader_epoch": epoch, "fetch_offset": 0}
    leader = {"leader_id": 2, "leader_epoch": answered}
    told = {"partition_index": 0, "high_watermark": 0, "current_leader": leader}
    body = {"max_wait_ms": 0, "min_bytes": 0, "topics": [{"topic": topic, "partitions": [asked]}]}
    return talk.ask(FETCH, 12, body, {"responses": [{"topic": topic, "partitions": [told]}]})


def heartbeat(talk: Talk, offset: int, stops: bool = False, broker: int = 1) -> Exchange:
    asked = {
        "broker_id": broker, "broker_epoch": 5, "current_metadata_offset": offset, "want_shut_down": stops,
    }  # fmt: skip
    return talk.ask(HEARTBEAT, 0, asked, {"error_code": 0})


def control(talk: Talk, epoch: int) -> Exchange:
    asked = {"controller_id": 1, "controller_epoch": epoch, "topic_states": [], "live_brokers": []}
    return talk.ask(UPDATE_METADATA, 6, asked, {"error_code": 0})


def alter(talk: Talk, epochs: tuple[int, int], topic_id: bytes = bytes(15) + b"1") -> Exchange:
    numbers = {"partition_index": 0, "leader_id": 1, "leader_epoch": epochs[0], "partition_epoch": epochs[1]}
    topics = [{"topic_id": topic_id, "partitions": [numbers]}]
    return talk.ask(ALTER_PARTITION, 2, {"broker_id": 1, "topics": []}, {"topics": topics})


def alter_asked(talk: Talk, asked: tuple[int, int], answered: tuple[int, int], version: int = 2) -> Exchange:
    which = {"topic_name": "a"} if version < 2 else {"topic_id": bytes(15) + b"1"}
    rows = [
        {**which, "partitions": [{"partition_index": 0, "leader_epoch": one, "partition_epoch": other}]}
        for one, other in (asked, answered)
    ]
    body = {"broker_id": 1, "topics": rows[:1]}
    return talk.ask(ALTER_PARTITION, version, body, {"topics": rows[1:]})


def block(talk: Talk, start: int, broker: int = 1) -> Exchange:
    answer = {"producer_id_start": start, "producer_id_len": 1000}
    return talk.ask(ALLOCATE_PRODUCER_IDS, 0, {"broker_id": broker, "broker_epoch": 5}, answer)


def of_log(row: dict[str, object]) -> dict[str, object]:
    return {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [row]}]}


def snapshot(
    talk: Talk, position: int, size: int = 300, given: int = 100, answered: int | None = None,
    at: int | None = None, end: int = 9, end_answered: int | None = None,
) -> Exchange:  # fmt: skip
    which = {"end_offset": end, "epoch": 1}
    asked = {"partition": 0, "current_leader_epoch": 1, "snapshot_id": which, "position": position}
    told = {
        "index": 0, "snapshot_id": {**which, "end_offset": end if end_answered is None else end_answered},
        "size": size, "unaligned_records": PIECE[:given],
        "position": position if answered is None else answered,
    }  # fmt: skip
    body = {"topics": [{"name": METADATA_TOPIC, "partitions": [asked]}]}
    return talk.ask(SNAPSHOT, 0, body, {"topics": [{"name": METADATA_TOPIC, "partitions": [told]}]}, at=at)


def test_epochs_that_rise() -> None:
    talk = Talk()
    facts = feed(QuorumEpochs(), fetch(talk, 3, 3), vote(talk, 4, 3), vote(talk, 4, 4), begin(talk, 5, 5))
    assert brief(facts) == [("raised", 3, 4), ("raised", 3, 4), ("raised", 4, 5), ("raised", 4, 5)]


@pytest.mark.parametrize("key", [BEGIN, END])
def test_epochs_that_go_back(key: int) -> None:
    talk, machine = Talk(), QuorumEpochs()
    facts = feed(machine, vote(talk, 5, 5), begin(talk, 4, 5, key), begin(talk, 5, 3, key))
    assert brief(facts) == [("went_back", 5, 4), ("raised", 4, 5), ("went_back", 5, 3)]
    assert [fact.side for fact in facts] == ["request", "request", "response"]


def test_other_topics_and_connections_are_not_compared() -> None:
    talk, machine = Talk(), QuorumEpochs()
    facts = feed(machine, fetch(talk, 5, 5), fetch(talk, 2, 2, topic="users"), fetch(Talk("10.0.0.9"), 2, 2))
    assert not facts


def test_what_a_process_counts_up() -> None:
    talk, machine = Talk(), OwnCounters()
    rising = (
        heartbeat(talk, 5),
        heartbeat(talk, 5),
        heartbeat(talk, 7),
        alter(talk, (1, 4)),
        alter(talk, (2, 4)),
    )
    assert not feed(machine, *rising)
    assert not feed(
        machine, heartbeat(talk, -1), alter(talk, (0, 0), b"2" * 16), heartbeat(Talk("10.0.0.9"), 1)
    )
    assert brief(feed(machine, heartbeat(talk, 6))) == [("counted_back", 7, 6)]
    assert brief(feed(machine, alter(talk, (2, 3)))) == [("counted_back", 4, 3)]
    assert brief(feed(machine, control(talk, 3), control(talk, 2))) == [("counted_back", 3, 2)]


def test_a_broker_that_stops_does_not_change_its_mind() -> None:
    talk, machine = Talk(), OwnCounters()
    assert not feed(machine, heartbeat(talk, 5), heartbeat(talk, 5, True), heartbeat(talk, 5, True))
    assert brief(feed(machine, heartbeat(talk, 5))) == [("counted_back", 1, 0)]


@pytest.mark.parametrize("version", [1, 2])
def test_a_response_is_not_behind_its_request(version: int) -> None:
    talk, machine = Talk(), OwnCounters()
    assert not feed(machine, alter_asked(talk, (3, 4), (3, 5), version))
    assert brief(feed(machine, alter_asked(talk, (3, 5), (3, 2), version))) == [("counted_back", 5, 2)]
    again = brief(feed(machine, alter_asked(talk, (1, 1), (1, 1), version)))
    assert again == ([] if version < 2 else [("counted_back", 3, 1), ("counted_back", 2, 1)])


def test_blocks_of_producer_ids_do_not_overlap() -> None:
    talk, machine = Talk(), OwnCounters()
    assert not feed(machine, block(talk, 0), block(talk, 1000), block(talk, 5000))
    assert brief(feed(machine, block(talk, 5500))) == [("counted_back", 6000, 5500)]


def test_a_node_keeps_its_id_on_a_connection() -> None:
    talk, machine, quorum = Talk(), OwnCounters(), QuorumEpochs()
    assert not feed(machine, heartbeat(talk, 5), block(talk, 0), heartbeat(Talk("10.0.0.9"), 5, broker=2))
    assert brief(feed(machine, heartbeat(talk, 5, broker=2))) == [("other_node", 1, 2)]
    assert not feed(quorum, vote(talk, 1, 1), fetch(talk, 1, 1))
    assert brief(feed(quorum, vote(talk, 1, 1, candidate=3))) == [("other_node", 1, 3)]


def test_what_a_node_chooses_once() -> None:
    talk, other, machine = Talk(), Talk("10.0.0.9"), QuorumChoices()
    assert not feed(
        machine, vote(talk, 5, 5, 1, True), vote(other, 5, 5, 2), vote(other, 6, 6, 2, True),
        begin(talk, 5, 5), begin(other, 6, 6, leader=2),
    )  # fmt: skip
    assert brief(feed(machine, vote(other, 5, 5, 2, True))) == [("other_candidate", 1, 2)]
    assert brief(feed(machine, begin(other, 5, 5, leader=2))) == [("other_leader", 1, 2)]


def test_another_cluster_chooses_for_itself() -> None:
    """A laboratory comes back to the same address; requests without a cluster id show no cluster."""
    talk, machine = Talk(), QuorumChoices()
    votes = [vote(talk, 5, 5, node, True, cluster) for cluster in ("b", None) for node in (2, 3)]
    assert not feed(machine, vote(talk, 5, 5, 1, True), votes[0], *votes[2:])
    assert brief(feed(machine, votes[1])) == [("other_candidate", 2, 3)]


def test_a_snapshot_in_pieces() -> None:
    talk, machine = Talk(), SnapshotFetches()
    facts = feed(machine, *[snapshot(talk, position) for position in (0, 100, 100, 200, 0)])
    assert brief(facts)[0] == ("position_differs", 200, 100) and brief(facts)[1] == ("fetched", None, 300)
    assert len(facts) == 2


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"position": 150}, ("position_differs", 100, 150)),
        ({"position": 100, "answered": 120}, ("other_position", 100, 120)),
        ({"position": 100, "size": 310}, ("size_differs", 300, 310)),
        ({"position": 100, "end_answered": 12}, ("other_snapshot", (9, 1), (12, 1))),
    ],
)
def test_pieces_that_do_not_follow(change: dict[str, int], expected: tuple[str, int, int]) -> None:
    talk = Talk()
    assert expected in brief(feed(SnapshotFetches(), snapshot(talk, 0), snapshot(talk, **change)))


def test_what_explains_a_position() -> None:
    talk, machine = Talk(), SnapshotFetches()
    assert not feed(machine, snapshot(talk, 0), snapshot(talk, 500, end=10), snapshot(talk, 7, at=2))
    talk.info.note(Anomaly(AnomalyKind.GAP))
    assert not feed(machine, snapshot(talk, 250, at=90))


def describe(talk: Talk, epoch: int, high: int) -> Exchange:
    row = {"partition_index": 0, "leader_id": 1, "leader_epoch": epoch, "high_watermark": high}
    return talk.ask(DESCRIBE_QUORUM, 1, of_log({"partition_index": 0}), of_log(row))


def test_descriptions_of_the_quorum() -> None:
    """A new leader may know less. Another connection may lead to another node."""
    talk, other, machine = Talk(), Talk(broker="10.0.0.9"), OwnCounters()
    first = describe(talk, 3, 90), describe(talk, 3, 95), describe(talk, 4, 60), describe(other, 3, 5)
    assert feed(machine, *first) == []
    assert brief(feed(machine, describe(talk, 4, 50))) == [("counted_back", 60, 50)]
    assert brief(feed(machine, describe(talk, 3, 95))) == [("counted_back", 4, 3)]
