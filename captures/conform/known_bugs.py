"""Known bugs of client releases: `kdissect conform client` finds each in an old one, and not in a new one.

Each bug is in the issue tracker of its client. The program does what any program does with that client; the
situation and the statement are of the suite, and know nothing of the bug.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from captures.conform.clients import CONSUMER_848, JAVA_READS, READS, TOPIC, WRITES, report_on_client
from captures.record import golang, java, nodejs, pythons
from captures.record.drivers import Driver

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


_SARAMA = "https://github.com/IBM/sarama"
_FRANZ = "https://github.com/twmb/franz-go"
_KAFKAJS = "https://github.com/tulios/kafkajs"
_PLATFORMATIC = "https://github.com/platformatic/kafka"
_JIRA = "https://issues.apache.org/jira/browse"
_LIBRDKAFKA = "https://github.com/confluentinc/librdkafka"

BUGS = {
    "librdkafka-fetch-12": KnownBug(
        "librdkafka", f"{_LIBRDKAFKA}/issues/4870", "Fetch v12 is sent to brokers without it",
        "2.6.0", "2.6.1", "old broker", "CNF100", pythons.librdkafka, READS,
    ),
    "kafka-python-throttle": KnownBug(
        "kafka-python", "https://github.com/dpkp/kafka-python/issues/2506", "throttle times are ignored",
        "2.0.2", "3.0.12", "throttled Fetch", "CNF160", pythons.kafka_python, READS,
    ),
    "sarama-throttle": KnownBug(
        "sarama", f"{_SARAMA}/pull/2536", "throttle times are ignored",
        "1.40.1", "1.41.0", "throttled Produce", "CNF160", golang.sarama, (*WRITES, "--max", "2.8.0"),
    ),
    "sarama-sessions": KnownBug(
        "sarama", f"{_SARAMA}/pull/1644", "each Fetch opens a session",
        "1.26.1", "1.26.4", "fetch sessions", "CNF133", golang.sarama, (*READS, "--max", "2.3.0"),
    ),
    "sarama-coordinator": KnownBug(
        "sarama", f"{_SARAMA}/pull/1231", "the coordinator is not looked up again after JoinGroup",
        "1.21.0", "1.26.4", "coordinator lost at JoinGroup", "CNF140", golang.sarama,
        (*READS, "--max", "1.0.0"), target="2.1.0",
    ),
    "sarama-sequences": KnownBug(
        "sarama", f"{_SARAMA}/issues/3354", "records that wait for a retry have no sequence",
        "1.46.2", "1.61.1", "connection lost at Produce", "CNF125", golang.sarama,
        ("writes", *TOPIC, "--pace", "30", "--max", "2.8.0", "--idempotent", "yes"),
    ),
    "franz-retries": KnownBug(
        "franz-go", f"{_FRANZ}/issues/937", "no Metadata after NOT_LEADER_OR_FOLLOWER with RecordRetries(1)",
        "1.18.1", "1.19.0", "leader change at Produce", "CNF110", golang.franz,
        (*WRITES, "--record-retries", "1"),
    ),
    "kafkajs-generation": KnownBug(
        "kafkajs", f"{_KAFKAJS}/issues/1466", "ILLEGAL_GENERATION ends the consumer",
        "2.2.3", "2.2.4", "generation over", "CNF153", nodejs.kafkajs, READS,
    ),
    "platformatic-sessions": KnownBug(
        "@platformatic/kafka", f"{_PLATFORMATIC}/issues/315", "each Fetch opens a session",
        "2.2.3", "2.12.1", "fetch sessions", "CNF133", nodejs.platformatic, READS,
    ),
    "platformatic-leader": KnownBug(
        "@platformatic/kafka", f"{_PLATFORMATIC}/issues/377", "a lost leader is asked again and again",
        "2.7.0", "2.12.1", "leader lost at Produce", "CNF111", nodejs.platformatic, WRITES,
    ),
    "platformatic-sequences": KnownBug(
        "@platformatic/kafka", f"{_PLATFORMATIC}/issues/326", "concurrent calls send the same sequence",
        "1.35.0", "2.12.1", "batches in order", "CNF125", nodejs.platformatic,
        (*WRITES, "--burst", "3", "--idempotent", "yes"),
    ),
    "java-heartbeat-throttle": KnownBug(
        "Java", f"{_JIRA}/KAFKA-20828", "throttle times of heartbeats are ignored",
        "4.2.1", "4.4.0", "throttled ConsumerGroupHeartbeat", "CNF160", java.java,
        (*JAVA_READS, *CONSUMER_848),
    ),
    "java-loading": KnownBug(
        "Java", f"{_JIRA}/KAFKA-7296",
        "COORDINATOR_LOAD_IN_PROGRESS at TxnOffsetCommit ends the transaction",
        "2.0.0", "2.0.1", "coordinator loads at TxnOffsetCommit", "CNF126", java.java,
        ("Transact", *TOPIC, "--plan", "offsets,offsets,offsets", "--source", "orders"), target="2.1.0",
    ),
}  # fmt: skip
"""Bugs by name."""


def played_bug(name: str) -> Row:
    """Play a bug. Returns the results of both releases."""
    bug = BUGS[name]
    return {"old": _result(bug, bug.old), "new": _result(bug, bug.new)}


def _result(bug: KnownBug, release: str) -> Row:
    """Return what a release does: the result of the situation, and the first finding of the statement."""
    words = [*bug.driver(release).command, "{bootstrap}", *bug.words]
    options = ["--situation", bug.situation, *(["--target", bug.target] if bug.target else [])]
    report = report_on_client(words, options)
    results = [row["result"] for row in report["situations"] if row["name"] == bug.situation]
    found = (row for row in report["check"]["findings"] if row["code"] == bug.code)
    return {"result": results[0] if results else "no request", "finding": next(found, None)}
