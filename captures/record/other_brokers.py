"""Brokers that are not Apache Kafka: the mock clusters of librdkafka and franz-go."""

from collections.abc import Iterator
from contextlib import contextmanager

from captures.record import golang, pythons
from captures.record.drivers import Running


@contextmanager
def librdkafka_mock(release: str) -> Iterator[int]:
    """Run the mock cluster of a release of confluent-kafka with one broker, and yield its port."""
    driver = pythons.release("librdkafka", release)
    with _serving([*driver.command, "-", "serves", "--client-id", "mock"]) as port:
        yield port


@contextmanager
def kfake_cluster() -> Iterator[int]:
    """Run the mock cluster of franz-go with one broker, and yield its port."""
    with _serving([*golang.kfake().command]) as port:
        yield port


@contextmanager
def _serving(command: list[str]) -> Iterator[int]:
    running = Running(command, lambda event: None)
    try:
        running.until("serves")
        yield next(event["port"] for event in running.events if event["event"] == "serves")
    finally:
        running.kill()
