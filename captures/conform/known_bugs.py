"""Known bugs of client releases: `kdissect conform client` finds each in an old release, and not in a new one.

A bug stands in the issue tracker of its client. The program does what any program does with that client; the
situation and the statement are of the suite, and know nothing of the bug.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, NamedTuple

from captures.record import golang, java, nodejs, pythons
from captures.record.drivers import Driver

_TIMEOUT = "40s"
_TOPIC = ("--topic", "orders", "--client-id", "conform")
_WRITES = ("writes", *_TOPIC, "--pace", "300")
_READS = ("reads", *_TOPIC, "--group", "readers")
Row = dict[str, Any]


class KnownBug(NamedTuple):
    """A bug: where it is reported, the releases with and without it, and what shows it.

    `driver` returns the driver of a release, and `words` are its action with options. `target` is the Kafka
    release whose versions the cluster has, the newest without one.
    """

    client: str
    issue: str
    about: str
    old: str
    new: str
    situation: str
    code: str
    driver: Callable[[str], Driver]
    words: tuple[str, ...]
    target: str = ""


_KAFKA_GO = "https://github.com/segmentio/kafka-go"
_SARAMA = "https://github.com/IBM/sarama"
_FRANZ = "https://github.com/twmb/franz-go"
_KAFKAJS = "https://github.com/tulios/kafkajs"
_PLATFORMATIC = "https://github.com/platformatic/kafka"
_LIBRDKAFKA = "https://github.com/confluentinc/librdkafka"

BUGS = {
    "librdkafka-fetch-12": KnownBug(
        "librdkafka", f"{_LIBRDKAFKA}/issues/4870", "Fetch v12 is sent to brokers without it",
        "2.6.0", "2.6.1", "old broker", "CNF100", pythons.librdkafka, (*_READS,),
    ),
    "kafka-python-throttle": KnownBug(
        "kafka-python", "https://github.com/dpkp/kafka-python/issues/2506", "throttle times are ignored",
        "2.0.2", "3.0.12", "throttled Fetch", "CNF160", pythons.kafka_python, _READS,
    ),
    "sarama-throttle": KnownBug(
        "sarama", f"{_SARAMA}/pull/2536", "throttle times are ignored",
        "1.40.1", "1.41.0", "throttled Produce", "CNF160", golang.sarama, (*_WRITES, "--max", "2.8.0"),
    ),
    "sarama-sessions": KnownBug(
        "sarama", f"{_SARAMA}/pull/1644", "each Fetch opens a session",
        "1.26.1", "1.26.4", "fetch sessions", "CNF133", golang.sarama, (*_READS, "--max", "2.3.0"),
    ),
    "sarama-coordinator": KnownBug(
        "sarama", f"{_SARAMA}/pull/1231", "the coordinator is not looked up again after JoinGroup",
        "1.20.0", "1.20.1", "coordinator lost at JoinGroup", "CNF140", golang.sarama,
        (*_READS, "--max", "1.0.0"), target="2.1.0",
    ),
    "sarama-sequences": KnownBug(
        "sarama", f"{_SARAMA}/issues/3354", "records that wait for a retry have no sequence",
        "1.46.2", "1.46.3", "retriable error at Produce", "CNF125", golang.sarama,
        ("writes", *_TOPIC, "--pace", "30", "--max", "2.8.0", "--idempotent", "yes"),
    ),
    "kafka-go-join": KnownBug(
        "kafka-go", f"{_KAFKA_GO}/issues/1378", "JoinGroup v1 is sent to brokers without it",
        "0.4.47", "0.4.51", "advertised versions", "CNF100", golang.segmentio, _READS, target="4.0.0",
    ),
    "kafka-go-replicas": KnownBug(
        "kafka-go", f"{_KAFKA_GO}/pull/372", "records are dropped after NOT_ENOUGH_REPLICAS",
        "0.3.4", "0.3.5", "retriable error at Produce", "CNF120", golang.segmentio, _WRITES, target="2.1.0",
    ),
    "kafka-go-shorter": KnownBug(
        "kafka-go", f"{_KAFKA_GO}/issues/891", "a reader stays at an offset after the end of the log",
        "0.4.30", "0.4.51", "log shorter", "CNF130", golang.segmentio, ("reads", *_TOPIC), target="2.1.0",
    ),
    "franz-retries": KnownBug(
        "franz-go", f"{_FRANZ}/issues/937", "no Metadata after NOT_LEADER_OR_FOLLOWER with RecordRetries(1)",
        "1.18.1", "1.19.0", "leader change at Produce", "CNF110", golang.franz,
        (*_WRITES, "--record-retries", "1"),
    ),
    "franz-old-offsets": KnownBug(
        "franz-go", f"{_FRANZ}/issues/1312", "no consumer joins with OffsetFetch below v10",
        "1.21.0", "1.21.1", "old broker", "CNF102", golang.franz, _READS,
    ),
    "kafkajs-generation": KnownBug(
        "kafkajs", f"{_KAFKAJS}/issues/1466", "ILLEGAL_GENERATION ends the consumer",
        "2.2.3", "2.2.4", "generation over", "CNF153", nodejs.kafkajs, _READS,
    ),
    "kafkajs-sequences": KnownBug(
        "kafkajs", f"{_KAFKAJS}/issues/598", "sequences count messages of other partitions",
        "1.11.0", "1.12.0", "batches in order", "CNF125", nodejs.kafkajs,
        (*_WRITES, "--burst", "2", "--idempotent", "yes"), target="2.1.0",
    ),
    "platformatic-sessions": KnownBug(
        "@platformatic/kafka", f"{_PLATFORMATIC}/issues/315", "each Fetch opens a session",
        "2.2.3", "2.12.1", "fetch sessions", "CNF133", nodejs.platformatic, _READS,
    ),
    "platformatic-leader": KnownBug(
        "@platformatic/kafka", f"{_PLATFORMATIC}/issues/377", "a leader that is lost is asked again and again",
        "2.7.0", "2.12.1", "leader lost at Produce", "CNF111", nodejs.platformatic, _WRITES,
    ),
    "platformatic-sequences": KnownBug(
        "@platformatic/kafka", f"{_PLATFORMATIC}/issues/326", "concurrent calls send the same sequence",
        "1.35.0", "2.12.1", "batches in order", "CNF125", nodejs.platformatic,
        (*_WRITES, "--burst", "3", "--idempotent", "yes"),
    ),
    "java-heartbeat-throttle": KnownBug(
        "Java", "https://issues.apache.org/jira/browse/KAFKA-20828", "throttle times of heartbeats are ignored",
        "4.2.1", "4.4.0", "throttled ConsumerGroupHeartbeat", "CNF160", java.java,
        ("Consume", *_TOPIC, "--group", "readers", "--wait", "true", "--set", "group.protocol=consumer"),
    ),
    "java-loading": KnownBug(
        "Java", "https://issues.apache.org/jira/browse/KAFKA-7296",
        "COORDINATOR_LOAD_IN_PROGRESS at TxnOffsetCommit ends the transaction",
        "2.0.0", "2.0.1", "coordinator loads at TxnOffsetCommit", "CNF126", java.java,
        ("Transact", *_TOPIC, "--plan", "offsets,offsets,offsets", "--source", "orders"), target="2.1.0",
    ),
}  # fmt: skip
"""Bugs by name."""


def play_bugs(names: Collection[str]) -> list[Row]:
    """Play the bugs with these names, all without names. Returns a row for each, with both results."""
    rows = []
    for name, bug in BUGS.items():
        if not names or name in names:
            results = {which: _result(bug, which) for which in (bug.old, bug.new)}
            rows.append({"name": name, "old": results[bug.old], "new": results[bug.new]})
            print(json.dumps(rows[-1]), flush=True)
    return rows


def _result(bug: KnownBug, release: str) -> Row:
    """Return what a release does: the result of the statement, and the first finding about it."""
    words = [*bug.driver(release).command, "{bootstrap}", *bug.words]
    target = ["--target", bug.target] if bug.target else []
    command = ["conform", "client", "--situation", bug.situation, "--timeout", _TIMEOUT, "--format", "json"]
    whole = [sys.executable, "-m", "kdissect", *command, *target, "--", *words]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    stated = {row["code"]: row["result"] for row in report["statements"]}
    found = [row for row in report["check"]["findings"] if row["code"] == bug.code]
    played = [row for row in report["situations"] if row["name"] == bug.situation]
    return {"result": stated[bug.code], "played": played, "finding": found[0] if found else None}
