"""Writes and reads with what every release of confluent-kafka has; and is a broker, by its mock cluster."""

import time
from typing import Any

from confluent_kafka import Consumer, Producer
from driving import Flow, Options, emit, main, settings_of, told_to_stop


def _common(bootstrap: str, options: Options) -> dict[str, Any]:
    return {"bootstrap.servers": bootstrap, "client.id": options["client-id"]} | settings_of(options)


def writes(bootstrap: str, options: Options) -> None:
    """Write --count records in bursts."""
    producer = Producer(_common(bootstrap, options))
    flow = Flow.of(options)
    for numbers in flow.bursts(told_to_stop()):
        for number in numbers:
            producer.produce(flow.topic, flow.value(number), flow.key(number))
        producer.flush(10)
    emit("wrote")


def reads(bootstrap: str, options: Options) -> None:
    """Read --count records as the one member of --group."""
    settings = {"group.id": options["group"], "auto.offset.reset": "earliest", "fetch.wait.max.ms": 500}
    consumer = Consumer(settings | _common(bootstrap, options))
    consumer.subscribe([options["topic"]])
    left, end = int(options["count"]), time.monotonic() + 20
    while left > 0 and time.monotonic() < end:
        message = consumer.poll(0.2)
        left -= message is not None and message.error() is None
    emit("seen", left=left)
    consumer.close()


def serves(_bootstrap: str, options: Options) -> None:
    """Be a cluster of one broker, in this process, until told to stop."""
    producer = Producer({"test.mock.num.brokers": 1, "client.id": options["client-id"]})
    (broker,) = producer.list_topics(timeout=10).brokers.values()
    emit("serves", port=broker.port)
    told_to_stop().wait()


if __name__ == "__main__":
    main({"writes": writes, "reads": reads, "serves": serves})
