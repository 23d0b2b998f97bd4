"""Writers and readers that print when they called the client, and when it returned."""

import time
from typing import Any

from confluent_kafka import Consumer, Producer
from driving import Options, emit, told_to_stop


def write(settings: dict[str, Any], options: Options) -> None:
    """Write --count records to --topic, one each --every milliseconds, with --linger."""
    producer = Producer(settings | {"linger.ms": float(options.get("linger", "5"))})
    producer.list_topics(options["topic"], timeout=20)
    for number in range(int(options["count"])):
        now = time.time_ns()
        producer.produce(options["topic"], str(number).encode())
        emit("wrote", number=number, at_ns=now)
        producer.poll(0)
        time.sleep(int(options.get("every", "5")) / 1000)
    producer.flush(20)


def read(settings: dict[str, Any], options: Options) -> None:
    """Read --topic as a member of --group until standard input says stop.

    With --commit yes it commits each record after --work milliseconds.
    """
    told = told_to_stop()
    consumer = Consumer(settings)
    consumer.subscribe([options["topic"]], on_assign=lambda _consumer, _places: emit("ready"))
    while not told.is_set():
        message = consumer.poll(0.05)
        now = time.time_ns()
        if message is None or message.error() is not None:
            continue
        number = int(message.value() or b"")
        emit("got", numbers=[number], at_ns=now)
        time.sleep(int(options.get("work", "0")) / 1000)
        if options.get("commit") == "yes":
            emit("passed", numbers=[number], at_ns=time.time_ns())
            consumer.commit(message, asynchronous=False)
    consumer.close()
