"""Who leads which partition, by Metadata answers, most of which say again what is known."""

from typing import Any

import pytest

from kdissect.history.exchange_view import ExchangeView
from kdissect.stats import leaders as leaders_module
from kdissect.stats.leaders import Coverage, Leaders
from tests.history.talk import Talk

METADATA, TOPIC = 3, "orders"


def answer(leader: int, brokers: dict[int, str]) -> dict[str, Any]:
    """Partition 0 of the topic has this leader."""
    rows = [{"node_id": node, "host": host, "port": 9092, "rack": None} for node, host in brokers.items()]
    partition = {
        "error_code": 0, "partition_index": 0, "leader_id": leader, "replica_nodes": [], "isr_nodes": []
    }  # fmt: skip
    topic = {"error_code": 0, "name": TOPIC, "is_internal": False, "partitions": [partition]}
    return {"brokers": rows, "controller_id": 1, "topics": [topic]}


def told(*answers: dict[str, Any]) -> Leaders:
    talk, found = Talk(), Leaders()
    for body in answers:
        exchange = talk.ask(METADATA, 1, {"topics": []}, body)
        found.see(exchange.connection)
        found.learn(ExchangeView(exchange))
    return found


def _alone(_scope: str) -> str:
    """One cluster was captured."""
    return ""


def test_the_last_word_counts_also_one_that_was_said_before() -> None:
    broker, _, _ = Talk().info.broker_address.rpartition(":")
    here, elsewhere = {1: broker}, {1: broker, 2: "10.9.9.9"}
    assert told(answer(1, here)).unseen_brokers() == []
    first, second = answer(1, elsewhere), answer(2, elsewhere)
    assert told(first, second).coverage(_alone) == {(TOPIC, ""): Coverage(1, 1)}
    assert told(first, second, second, first).coverage(_alone) == told(first).coverage(_alone)
    assert told(first, second, first, second).coverage(_alone) == {(TOPIC, ""): Coverage(1, 1)}


def test_what_was_forgotten_is_learned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaders_module, "BROKERS_KEPT", 2)
    first, others = answer(1, {1: "10.9.9.1"}), answer(1, {2: "10.9.9.2", 3: "10.9.9.3"})
    assert told(first, others).unseen_brokers() == ["2 (10.9.9.2:9092)", "3 (10.9.9.3:9092)"]
    assert "1 (10.9.9.1:9092)" in told(first, others, first).unseen_brokers()
