"""Partitions without a leader in responses to Metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kdissect.causes.evidence.offline_partitions import Offline, OfflinePartitions
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from tests.causes import talks
from tests.causes.talks import what_is_wrong
from tests.history.talk import Talk

_SECOND_MS = 1000
_S = 1_000_000_000


def _metadata(talk: Talk, at_s: float, version: int = 8, topic: str = "t", **partition: Any) -> ExchangeView:
    """Return a response of a cluster of nodes 1 and 2."""
    row = {
        "error_code": 5, "partition_index": 0, "leader_id": -1, "leader_epoch": 4,
        "replica_nodes": [1, 2, 3], "isr_nodes": [3], "offline_replicas": [1, 3],
    } | partition  # fmt: skip
    brokers = [{"node_id": node, "host": "b", "port": 9092, "rack": None} for node in (1, 2)]
    named = {"error_code": 0, "name": topic, "is_internal": False, "partitions": [row]}
    body = {"brokers": brokers, "cluster_id": "c", "controller_id": 1, "topics": [named]}
    exchange = talk.ask(3, version, {"topics": [{"name": "t"}]}, body, at=int(at_s * _SECOND_MS))
    return ExchangeView(exchange)


def _found(*at_s: float, version: int = 8, **partition: Any) -> list[Offline]:
    offline, talk = OfflinePartitions(TopicNames()), Talk()
    for each in at_s:
        offline.add(_metadata(talk, each, version, **partition))
    return list(offline.found)


def test_how_long_and_which_replicas_are_offline() -> None:
    (one,) = _found(1, 4, 9)
    assert one.longest_ns == 8 * _S
    assert (one.offline, one.down, one.behind) == ({1, 3}, {3}, {2})


def test_times_with_a_pause_between_are_apart() -> None:
    (one,) = _found(1, 4, 14, 24.001, 29)
    assert one.longest_ns == 13 * _S
    (one,) = _found(1, 20, 26)
    assert one.longest_ns == 6 * _S


@pytest.mark.parametrize("partition", [{"error_code": 9}, {"leader_id": 2}], ids=str)
def test_partitions_with_a_leader(partition: dict[str, Any]) -> None:
    assert _found(1, **partition) == []


def test_versions_that_do_not_name_offline_replicas() -> None:
    (one,) = _found(1, version=4)
    assert (one.offline, one.down, one.behind) == (set(), set(), {1, 2})


def test_a_topic_without_name_and_id_has_no_partitions() -> None:
    names, talk = TopicNames(), Talk()
    names.learn(_metadata(talk, 0).exchange)  # the cluster is known from now on
    offline = OfflinePartitions(names)
    offline.add(_metadata(talk, 1, topic=""))
    assert list(offline.found) == []


def test_a_response_with_a_leader_that_comes_late_ends_the_time() -> None:
    offline, talk = OfflinePartitions(TopicNames()), Talk()
    for at_s in (1, 3, 9):
        offline.add(_metadata(talk, at_s))
    offline.add(_metadata(talk, 5, error_code=0, leader_id=2))
    assert [one.longest_ns for one in offline.found] == [0]
    offline.add(_metadata(talk, 11))
    assert [one.longest_ns for one in offline.found] == [2 * _S]


def test_what_no_connection_showed_for_a_while_ends_the_time() -> None:
    """After ten seconds without such a response, others are not taken any more."""
    offline, talk = OfflinePartitions(TopicNames()), Talk()
    offline.add(_metadata(talk, 1))
    offline.add(_metadata(talk, 12, error_code=0, leader_id=2))
    assert not offline.waits
    offline.add(_metadata(talk, 9))
    assert [one.longest_ns for one in offline.found] == [0]


def _ask(talk: talks.Talk, leader: int, seconds: float) -> None:
    is_led = leader >= 0
    row = {
        "error_code": 0 if is_led else 5, "partition_index": 0, "leader_id": leader, "leader_epoch": 5,
        "replica_nodes": [2, 1], "isr_nodes": [2], "offline_replicas": [] if is_led else [2],
    }  # fmt: skip
    topic = {"error_code": 0, "name": "t", "topic_id": b"\x12\x34" * 8, "is_internal": False}
    brokers = [{"node_id": 1, "host": "10.0.0.2", "port": 9092}]
    body = {
        "brokers": brokers,
        "cluster_id": "c",
        "controller_id": 1,
        "topics": [topic | {"partitions": [row]}],
    }
    talk.ask(3, 12, {"topics": [{"name": "t"}]}).answer(3, 12, body).wait(seconds)


def _produce(talk: talks.Talk, error: int) -> None:
    asked = {"acks": 1, "timeout_ms": 1000, "topic_data": [{"name": "t", "partition_data": [{"index": 0}]}]}
    row = {"index": 0, "error_code": error, "base_offset": 1}
    answer = {"responses": [{"name": "t", "partition_responses": [row]}]}
    talk.ask(0, 7, asked).answer(0, 7, answer)


def _fetch(talk: talks.Talk, error: int) -> None:
    asked = {"max_wait_ms": 0, "topics": [{"topic": "t", "partitions": [{"partition": 0}]}]}
    row = {"partition_index": 0, "error_code": error, "high_watermark": 1}
    answer = {"responses": [{"topic": "t", "partitions": [row]}]}
    talk.ask(1, 4, asked).answer(1, 4, answer)


def _causes(folder: Path, *made: talks.Talk) -> set[str]:
    return {cause.id for cause in what_is_wrong(folder, *made).causes}


@pytest.mark.parametrize(("between", "is_cause"), [([], True), ([-1], True), ([1], False), ([1, 1], False)])
def test_a_leader_between(tmp_path: Path, between: list[int], is_cause: bool) -> None:
    talk = talks.Talk()
    for _ in range(4):
        _ask(talk, -1, 1)
        for leader in between:
            _ask(talk, leader, 1)
        talk.wait(2)
    assert ("partition-offline" in _causes(tmp_path, talk)) == is_cause


def test_a_leader_that_another_broker_names(tmp_path: Path) -> None:
    first, second = talks.Talk(), talks.Talk(port=40001, broker="10.0.0.3", begins=0.5)
    for _ in range(4):
        _ask(first, -1, 3)
        _ask(second, 1, 3)
    assert "partition-offline" not in _causes(tmp_path, first, second)


@pytest.mark.parametrize("use", [_produce, _fetch])
@pytest.mark.parametrize(("error", "is_cause"), [(0, False), (6, True)])
def test_a_partition_that_is_used_between(tmp_path: Path, use: Any, error: int, is_cause: bool) -> None:
    talk = talks.Talk()
    for _ in range(4):
        _ask(talk, -1, 2)
        use(talk, error)
        talk.wait(1)
    assert ("partition-offline" in _causes(tmp_path, talk)) == is_cause
