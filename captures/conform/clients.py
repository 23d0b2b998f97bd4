"""The client programs that are tested: each writes, or reads as a member of a group, until it is ended."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from captures.conform.measured import measured_report
from captures.record import golang, java, nodejs, pythons
from captures.record.drivers import Driver

_TIMEOUT = "30s"
TOPIC = ("--topic", "orders", "--client-id", "conform")
WRITES = ("writes", *TOPIC, "--pace", "300")
READS = ("reads", *TOPIC, "--group", "readers")
JAVA_READS = ("Consume", *TOPIC, "--group", "readers", "--wait", "true", "--commit-each", "true")
CONSUMER_848 = ("--set", "group.protocol=consumer")
_JAVA_WRITES = ("Produce", *TOPIC, "--count", "1000", "--pace", "300")
_TRANSACTIONS = (
    "Transact", *TOPIC, "--plan", ",".join(["offsets"] * 50), "--source", "orders", "--pace", "300",
    "--count", "1",
)  # fmt: skip
_IDEMPOTENT = ("--idempotent", "yes")
_COMMITS = ("--commit-each", "yes")
_NO_END = ("--count", "1000000", "--seconds", "600")
_HAS_TOPIC = ("--topic", "orders")
"""Options of the suite for a client that asks for the list of all topics."""
Row = dict[str, Any]


class Program(NamedTuple):
    """A client of one release, and what it does. `words` are the action of the driver, with its options."""

    client: str
    release: str
    about: str
    driver: Callable[[str], Driver]
    words: tuple[str, ...]
    options: tuple[str, ...] = ()


def _aiokafka(release: str) -> Driver:
    return pythons.release("aiokafka_", release)


_LIBRDKAFKA = "librdkafka (confluent-kafka)"
PROGRAMS = {
    "java-producer": Program("Java", "4.4.0", "producer", java.java, _JAVA_WRITES),
    "java-transactions": Program("Java", "4.4.0", "transactions", java.java, _TRANSACTIONS),
    "java-consumer": Program("Java", "4.4.0", "consumer", java.java, JAVA_READS),
    "java-consumer-848": Program(
        "Java", "4.4.0", "consumer, KIP-848", java.java, (*JAVA_READS, *CONSUMER_848)
    ),
    "librdkafka-producer": Program(
        _LIBRDKAFKA, "2.16.1", "producer", pythons.librdkafka, (*WRITES, "--set", "enable.idempotence=true")
    ),
    "librdkafka-consumer": Program(
        _LIBRDKAFKA, "2.16.1", "consumer", pythons.librdkafka, (*READS, *_COMMITS)
    ),
    "librdkafka-consumer-848": Program(
        _LIBRDKAFKA, "2.16.1", "consumer, KIP-848", pythons.librdkafka, (*READS, *_COMMITS, *CONSUMER_848)
    ),
    "franz-producer": Program("franz-go", "1.22.3", "producer", golang.franz, WRITES),
    "franz-consumer": Program("franz-go", "1.22.3", "consumer", golang.franz, READS),
    "sarama-producer": Program(
        "sarama", "1.61.1", "producer", golang.sarama, (*WRITES, *_IDEMPOTENT, "--max", "4.1.0")
    ),
    "sarama-consumer": Program("sarama", "1.61.1", "consumer", golang.sarama, (*READS, "--max", "4.1.0")),
    "kafka-go-producer": Program("kafka-go", "0.4.51", "producer", golang.segmentio, WRITES, _HAS_TOPIC),
    "kafka-go-consumer": Program("kafka-go", "0.4.51", "consumer", golang.segmentio, READS),
    "kafka-python-producer": Program("kafka-python", "3.0.12", "producer", pythons.kafka_python, WRITES),
    "kafka-python-consumer": Program(
        "kafka-python", "3.0.12", "consumer", pythons.kafka_python, (*READS, *_COMMITS)
    ),
    "aiokafka-producer": Program(
        "aiokafka", "0.14.0", "producer", _aiokafka, (*WRITES, "--set", "enable_idempotence=true")
    ),
    "aiokafka-consumer": Program("aiokafka", "0.14.0", "consumer", _aiokafka, (*READS, *_NO_END)),
    "kafkajs-producer": Program("kafkajs", "2.2.4", "producer", nodejs.kafkajs, (*WRITES, *_IDEMPOTENT)),
    "kafkajs-consumer": Program("kafkajs", "2.2.4", "consumer", nodejs.kafkajs, READS),
    "platformatic-producer": Program(
        "@platformatic/kafka", "2.12.1", "producer", nodejs.platformatic, (*WRITES, *_IDEMPOTENT)
    ),
    "platformatic-consumer": Program("@platformatic/kafka", "2.12.1", "consumer", nodejs.platformatic, READS),
    "platformatic-consumer-848": Program(
        "@platformatic/kafka", "2.12.1", "consumer, KIP-848", nodejs.platformatic,
        (*READS, "--protocol", "consumer"),
    ),
}  # fmt: skip
"""Programs by name."""


def report_on_client(words: Sequence[str], options: Sequence[str]) -> Row:
    """Run `kdissect conform client` with a command. Returns the JSON report, with its time and memory."""
    with TemporaryDirectory() as folder:
        target = Path(folder) / "report.json"
        return measured_report(["client", "--timeout", _TIMEOUT, *options], target, words)


def tested_program(name: str) -> Row:
    """Test a program with all situations. Returns the JSON report."""
    program = PROGRAMS[name]
    words = [*program.driver(program.release).command, "{bootstrap}", *program.words]
    return report_on_client(words, program.options)
