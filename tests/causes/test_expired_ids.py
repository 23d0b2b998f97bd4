"""`transactional-id-expired`: how long nobody used an id before its coordinator no longer knew it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.causes.talks import Talk, what_is_wrong

_ID = {"transactional_id": "t1"}


def _cluster(talk: Talk, name: str, host: str) -> Talk:
    brokers = [{"node_id": 1, "host": host, "port": 9092}]
    body = {"brokers": brokers, "cluster_id": name, "controller_id": 1, "topics": []}
    return talk.ask(3, 9, {"topics": []}).answer(3, 9, body)


def _take(talk: Talk, producer: int) -> Talk:
    asked = _ID | {"transaction_timeout_ms": 60_000, "producer_id": -1, "producer_epoch": -1}
    talk.ask(22, 4, asked)
    return talk.answer(22, 4, {"error_code": 0, "producer_id": producer, "producer_epoch": 0})


def _begin(talk: Talk, producer: int, error: int = 0) -> Talk:
    topics = [{"name": "orders", "partitions": [0]}]
    asked = {
        "v3_and_below_transactional_id": "t1", "v3_and_below_producer_id": producer,
        "v3_and_below_producer_epoch": 0, "v3_and_below_topics": topics,
    }  # fmt: skip
    rows = [{"partition_index": 0, "partition_error_code": error}]
    results = {"results_by_topic_v3_and_below": [{"name": "orders", "results_by_partition": rows}]}
    return talk.ask(24, 3, asked).answer(24, 3, results)


def _commit(talk: Talk, producer: int) -> Talk:
    talk.ask(26, 3, _ID | {"producer_id": producer, "producer_epoch": 0, "committed": True})
    return talk.answer(26, 3, {"error_code": 0})


def _causes(folder: Path, *made: Talk) -> set[str]:
    return {cause.id for cause in what_is_wrong(folder, *made).causes}


@pytest.mark.parametrize("is_taken_again", [False, True])
def test_who_takes_the_id_uses_it(tmp_path: Path, is_taken_again: bool) -> None:
    talk = Talk()
    _commit(_begin(_take(talk, 5), 5), 5).wait(60)
    if is_taken_again:
        _take(talk, 6)
    _begin(talk, 6 if is_taken_again else 5, error=49)
    assert ("transactional-id-expired" in _causes(tmp_path, talk)) != is_taken_again


@pytest.mark.parametrize("other", ["c1", "c2"])
def test_transactions_of_another_cluster_are_no_use(tmp_path: Path, other: str) -> None:
    first, second = Talk(), Talk(port=40001, broker="10.0.9.2", begins=60)
    _commit(_begin(_take(_cluster(first, "c1", "10.0.0.2"), 5), 5), 5)
    _begin(_cluster(second, other, "10.0.9.2"), 5, error=49)
    assert ("transactional-id-expired" in _causes(tmp_path, first, second)) == (other == "c1")
