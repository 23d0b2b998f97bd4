"""Writers and readers that print when they called the client, and when it returned."""

import time
from typing import Any

from administration import settle
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from driving import Options, emit, told_to_stop


def write(settings: dict[str, Any], options: Options) -> None:
    """Write --count records to --topic, one each --every milliseconds, with --linger.

    --warm records to TOPIC-warm come first.
    """
    producer = Producer(settings | {"linger.ms": float(options.get("linger", "5"))})
    producer.list_topics(options["topic"], timeout=20)
    for _ in range(int(options.get("warm", "0"))):
        producer.produce(f"{options['topic']}-warm", b"")
        producer.poll(0)
        time.sleep(int(options.get("every", "5")) / 1000)
    for number in range(int(options["count"])):
        now = time.time_ns()
        producer.produce(options["topic"], str(number).encode())
        emit("wrote", number=number, at_ns=now)
        producer.poll(0)
        time.sleep(int(options.get("every", "5")) / 1000)
    producer.flush(20)


def read(settings: dict[str, Any], options: Options) -> None:
    """Read --topic, and TOPIC-warm without a word, as a member of --group until standard input says stop.

    With --commit yes it commits each record after --work milliseconds.
    """
    stop = told_to_stop()
    topic = options["topic"]
    topics = [topic, f"{topic}-warm"]
    admin = AdminClient({"bootstrap.servers": settings["bootstrap.servers"]})  # kept until its futures end
    settle(admin.create_topics([NewTopic(name, 2, 1) for name in topics]))
    consumer = Consumer(settings)
    consumer.subscribe(topics, on_assign=lambda _consumer, _places: emit("ready"))
    while not stop.is_set():
        message = consumer.poll(0.05)
        now = time.time_ns()
        if message is None or message.error() is not None or message.topic() != topic:
            continue
        number = int(message.value() or b"")
        emit("got", numbers=[number], at_ns=now)
        time.sleep(int(options.get("work", "0")) / 1000)
        if options.get("commit") == "yes":
            emit("passed", numbers=[number], at_ns=time.time_ns())
            consumer.commit(message, asynchronous=False)
    consumer.close()
