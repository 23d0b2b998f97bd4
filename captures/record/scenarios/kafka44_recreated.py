"""Apache Kafka 4.4.0, one KRaft node: a topic is deleted under its producers and consumers, and created
again. An idempotent and a transactional producer each of the Java client 4.4.0, librdkafka and aiokafka
stay open all the time; the transaction of one is open while the topic goes. A consumer of each client
stays a member of its group. Afterwards a member and a transaction commit offsets of the former topic.
"""

import time
from collections.abc import Mapping

from captures.record.commands import reset_offsets, tell_groups, tell_offsets, tell_topic
from captures.record.drivers import Driver, Running
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.pythons import aiokafka, librdkafka
from captures.record.spec import Spec

NAME = "kafka44_recreated"
BROKER = Spec(
    "4.4.0", properties={"auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": "0"}
)
_TOPIC = "orders"
_COUNT = 4
_PRODUCERS = 6
_READ = (_PRODUCERS - 1) * _COUNT  # one transaction stays open
_MOVED = 3
_QUICK = {"metadata.max.age.ms": "2000", "delivery.timeout.ms": "12000", "request.timeout.ms": "4000"}


def run(lab: Lab) -> None:
    """Create, delete and recreate a topic, and commit offsets of the first one to the second one."""
    client = java("4.4.0")
    lab.run_driver(client, "CreateTopic", client_id="creator", topic=_TOPIC)
    tell_topic(lab, "first", _TOPIC)
    producers, consumers = _producers(lab), _consumers(lab)
    open_one = producers.pop("rdkafka-txn")
    _write(producers, "old")
    mover = lab.start_driver(
        librdkafka(), "stepwise", client_id="mover", topic=_TOPIC, partitions=1, id="mover", offset=_MOVED
    )
    mover.until("ready")
    _step(mover, "offsets moved")
    for name in ("rdkafka", "aiokafka"):
        _step(consumers[name], f"read {_READ}")
        _step(consumers[name], "commit")
    consumers["java"].until("read", _READ)
    tell_groups(lab, "first")
    _step(open_one, "begin rdkafka-txn-old")
    lab.run_driver(client, "DeleteTopic", client_id="deleter", topic=_TOPIC)
    time.sleep(2)
    lab.run_driver(client, "CreateTopic", client_id="creator", topic=_TOPIC)
    tell_topic(lab, "second", _TOPIC)
    _step(open_one, "commit")
    kept = next(one["offset"] for one in consumers["rdkafka"].events if one["event"] == "committed")
    _step(consumers["rdkafka"], f"at {kept}")
    _step(mover, "offsets moved")
    _write(producers, "new")
    _write(producers, "more")
    reset_offsets(lab, "tool", "audit", _TOPIC, "--to-offset", str(_COUNT), "--execute")
    _step(consumers["aiokafka"], "read 99")
    consumers.pop("rdkafka").stop()
    late = _follower(lab, librdkafka(), "rdkafka", "late")
    _step(late, "read 99")
    tell_groups(lab, "second")
    tell_offsets(lab, "second", lab.cluster.bootstrap)
    for driver in (*producers.values(), *consumers.values(), late, mover):
        driver.stop()


def _write(producers: Mapping[str, Running], when: str) -> None:
    """One after the other, as the offsets of each are in the truth."""
    for name, producer in producers.items():
        _step(producer, f"write {name}-{when}")


def _producers(lab: Lab) -> dict[str, Running]:
    found = {}
    for name, driver in {"rdkafka": librdkafka(), "aiokafka": aiokafka()}.items():
        found[name] = lab.start_driver(
            driver, "stepwise", client_id=name, topic=_TOPIC, count=_COUNT, partitions=1, idempotent="yes"
        )
        found[f"{name}-txn"] = lab.start_driver(
            driver, "stepwise", client_id=f"{name}-txn", topic=_TOPIC, count=_COUNT, partitions=1,
            id=f"{name}-txn",
        )  # fmt: skip
    for name in ("java", "java-txn"):
        more = {"transactional_id": name} if name == "java-txn" else {}
        found[name] = lab.start_driver(
            java("4.4.0"), "Stepwise", client_id=name, topic=_TOPIC, count=_COUNT, properties=_QUICK, **more
        )
    for producer in found.values():
        producer.until("ready")
    return found


def _consumers(lab: Lab) -> dict[str, Running]:
    found = {
        name: _follower(lab, driver, name, "first")
        for name, driver in {"rdkafka": librdkafka(), "aiokafka": aiokafka()}.items()
    }
    found["java"] = lab.start_driver(
        java("4.4.0"), "Consume", client_id="reads-java", topic=_TOPIC, group="by-java", wait="true",
        commit_each="true", properties={"metadata.max.age.ms": "2000", "isolation.level": "read_committed"},
    )  # fmt: skip
    found["java"].until("assigned")
    return found


def _follower(lab: Lab, driver: Driver, name: str, which: str) -> Running:
    follower = lab.start_driver(
        driver,
        "follows",
        client_id=f"{which}-{name}",
        topic=_TOPIC,
        group=f"by-{name}",
        isolation="committed",
    )
    follower.until("ready")
    return follower


def _step(driver: Running, line: str) -> None:
    """Have a driver do something, and wait until it is done."""
    before = sum(event.get("event") == "done" for event in driver.events)
    driver.tell(line)
    driver.until("done", before + 1, 60)
