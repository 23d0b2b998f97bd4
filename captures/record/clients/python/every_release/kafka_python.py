"""Writes and reads with what every release of kafka-python has."""

import time
from typing import Any

from driving import Flow, Options, emit, main, settings_of, told_to_stop
from kafka import KafkaConsumer, KafkaProducer


def _common(bootstrap: str, options: Options) -> dict[str, Any]:
    return {"bootstrap_servers": bootstrap, "client_id": options["client-id"]} | settings_of(options)


def writes(bootstrap: str, options: Options) -> None:
    """Write --count records in bursts."""
    producer = KafkaProducer(**_common(bootstrap, options))
    flow = Flow.of(options)
    for numbers in flow.bursts(told_to_stop()):
        for number in numbers:
            producer.send(flow.topic, flow.value(number), flow.key(number))
        producer.flush(10)
    producer.close(timeout=5)
    emit("wrote")


def reads(bootstrap: str, options: Options) -> None:
    """Read --count records as the one member of --group."""
    settings = {"group_id": options["group"], "auto_offset_reset": "earliest"}
    consumer = KafkaConsumer(options["topic"], **settings | _common(bootstrap, options))
    left, end = int(options["count"]), time.monotonic() + 20
    while left > 0 and time.monotonic() < end:
        left -= sum(map(len, consumer.poll(timeout_ms=200).values()))
    emit("seen", left=left)
    consumer.close()


if __name__ == "__main__":
    main({"writes": writes, "reads": reads})
