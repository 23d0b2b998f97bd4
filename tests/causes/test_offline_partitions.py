"""Partitions without a leader in responses to Metadata."""

from __future__ import annotations

from typing import Any

import pytest

from kdissect.causes.evidence.offline_partitions import Offline, OfflinePartitions
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from tests.history.talk import Talk

_SECOND_MS = 1000
_S = 1_000_000_000


def _metadata(talk: Talk, at_s: float, version: int = 8, **partition: Any) -> ExchangeView:
    """Return a response of a cluster of nodes 1 and 2."""
    row = {
        "error_code": 5, "partition_index": 0, "leader_id": -1, "leader_epoch": 4,
        "replica_nodes": [1, 2, 3], "isr_nodes": [3], "offline_replicas": [1, 3],
    } | partition  # fmt: skip
    brokers = [{"node_id": node, "host": "b", "port": 9092, "rack": None} for node in (1, 2)]
    topic = {"error_code": 0, "name": "t", "is_internal": False, "partitions": [row]}
    body = {"brokers": brokers, "cluster_id": "c", "controller_id": 1, "topics": [topic]}
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
