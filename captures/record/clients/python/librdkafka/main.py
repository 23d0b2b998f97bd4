"""Driver of librdkafka, through confluent-kafka."""

import time
from functools import partial
from typing import Any

import administration
import steady
import timed
from confluent_kafka import (
    AcknowledgeType,
    Consumer,
    KafkaException,
    Message,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from driving import Header, Options, Record, emit, endless, main, moved, outcome, steps, story, tell

_ANSWERS = ("ACCEPT", "RELEASE", "REJECT")


def common(bootstrap: str, options: Options) -> dict[str, Any]:
    """Return the settings of every client: address, client id, metrics, TLS and SASL if asked for."""
    settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "client.id": options["client-id"]}
    settings["enable.metrics.push"] = options.get("metrics", "no") == "yes"
    if "trust" in options:
        settings |= {"security.protocol": "ssl"} | (
            {"ssl.ca.location": options["trust"]} if options["trust"] else {}
        )
    if "sasl" in options:
        settings |= {"security.protocol": "sasl_plaintext", "sasl.mechanisms": options["sasl"]}
        settings |= {"sasl.username": options["user"], "sasl.password": options["password"]}
    return settings


def produce(bootstrap: str, options: Options) -> None:
    """Write the story with --acks and --codec."""
    settings = {
        "acks": options.get("acks", "all"),
        "compression.type": options.get("codec", "none"),
        "linger.ms": 20,
    }
    settings["enable.idempotence"] = options.get("idempotent", "no") == "yes"
    write(Producer(common(bootstrap, options) | settings | {"message.timeout.ms": 8000}), options)


def attempt(bootstrap: str, options: Options) -> None:
    """Send one record with little patience and say what came of it."""
    errors: list[str] = []
    settings = common(bootstrap, options) | {"message.timeout.ms": 2500, "socket.timeout.ms": 2000}
    settings |= {"reconnect.backoff.ms": 1000, "error_cb": lambda error: errors.append(str(error))}

    def report(error: Any, _message: Message) -> None:
        said = "ok" if error is None else "; ".join([error.name(), *dict.fromkeys(errors)])
        emit("call", call="attempt", outcome=said[:300])

    producer = Producer(settings)
    producer.produce(options["topic"], b"tried", on_delivery=report)
    producer.flush(5)


def write(producer: Producer, options: Options) -> None:
    """Send the story and print what the delivery reports say."""

    def report(headers: list[Header], error: Any, message: Message) -> None:
        if error is None:  # the report of a delivery may lack the headers
            tell("sent", _neutral(message, acked=options.get("acks") != "0")._replace(headers=headers))
        else:
            emit("error", where="produce", code=error.name())

    for record in story(options):
        place: dict[str, Any] = {"partition": record.partition, "timestamp": record.timestamp}
        place["on_delivery"] = partial(report, record.headers)
        producer.produce(record.topic, record.value, record.key, headers=record.headers, **place)
    producer.flush(15)


def _neutral(message: Message, acked: bool = True) -> Record:
    place = (message.topic() or "", message.partition() or 0, message.offset() if acked else -1)
    headers = [(key, value) for key, value in message.headers() or []]
    return Record(*place, message.key(), message.value(), headers, message.timestamp()[1])


def _reading(bootstrap: str, options: Options, **more: Any) -> dict[str, Any]:
    settings = {"auto.offset.reset": "earliest", "enable.auto.commit": False, "fetch.wait.max.ms": 300}
    if options.get("isolation") != "committed":
        settings["isolation.level"] = "read_uncommitted"
    return common(bootstrap, options) | settings | {"group.id": options.get("group", "none")} | more


def consume(bootstrap: str, options: Options) -> None:
    """Read a topic from the beginning without joining a group."""
    consumer = Consumer(_reading(bootstrap, options))
    partitions = range(int(options.get("partitions", "2")))
    consumer.assign([TopicPartition(options["topic"], number, 0) for number in partitions])
    read([consumer], int(options.get("count", "6")), 8)
    consumer.close()


def read(consumers: list[Consumer], count: int, seconds: float) -> None:
    """Poll the consumers in turn until count records came or the time is over."""
    end = time.monotonic() + seconds
    while count > 0 and time.monotonic() < end:
        for consumer in consumers:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                tell("read", _neutral(message))
                count -= 1
            elif message is not None:
                emit("error", where="poll", code=message.error().name())


def _member(bootstrap: str, options: Options, name: str) -> Consumer:
    client_id = f"{options['client-id']}-{name}"
    more: dict[str, Any] = {"client.id": client_id}
    if options.get("protocol") == "consumer":
        more["group.protocol"] = "consumer"
    else:
        strategy = options.get("balancer", "range")
        more |= {
            "partition.assignment.strategy": strategy,
            "session.timeout.ms": 10_000,
            "heartbeat.interval.ms": 500,
        }
    if "instance" in options:
        more["group.instance.id"] = f"{options['instance']}-{name}"
    consumer = Consumer(_reading(bootstrap, options, **more))

    def change(event: str) -> Any:
        def tell_change(member: Consumer, parts: list[TopicPartition]) -> None:
            places = [(part.topic, part.partition) for part in parts]
            moved(event, client_id, options["group"], member.memberid() or "", places)

        return tell_change

    consumer.subscribe([options["topic"]], on_assign=change("joined"), on_revoke=change("revoked"))
    return consumer


def group(bootstrap: str, options: Options) -> None:
    """Two members: one reads alone, the second joins, both commit, the second leaves, then the first.

    With --members 1 the first one alone.
    """
    first = _member(bootstrap, options, "first")
    read([first], int(options.get("count", "6")), 10)
    _commit(first, options)
    if options.get("members") == "1":
        _leave(first, options, "first")
        return
    second = _member(bootstrap, options, "second")
    read([first, second], 99, 6)
    _commit(second, options)
    _leave(second, options, "second")
    read([first], 99, 3)
    _leave(first, options, "first")


def _commit(consumer: Consumer, options: Options, offsets: list[TopicPartition] | None = None) -> None:
    given = {} if offsets is None else {"offsets": offsets}
    try:
        parts = consumer.commit(asynchronous=False, **given) or []
    except KafkaException as error:  # nothing read since the last commit
        emit("error", where="commit", code=error.args[0].name())
        return
    for part in parts:
        place = {"topic": part.topic, "partition": part.partition, "offset": part.offset}
        emit("committed", group=options["group"], **place)


def _leave(consumer: Consumer, options: Options, name: str) -> None:
    member = consumer.memberid()
    consumer.close()
    emit("left", client_id=f"{options['client-id']}-{name}", group=options["group"], member=member)


def share(bootstrap: str, options: Options) -> None:
    """Read a topic as a member of a share group, which starts at the topic's beginning."""
    administration.share_from_start(common(bootstrap, options), options["group"])
    mode = {"group.id": options["group"], "share.acknowledgement.mode": "explicit"}
    consumer = ShareConsumer(common(bootstrap, options) | mode)
    consumer.subscribe([options["topic"]])
    end, taken = time.monotonic() + 10, 0
    while time.monotonic() < end:
        for message in consumer.poll(0.5):
            if message.error() is None:
                tell("read", _neutral(message))
                taken += 1
                _acknowledge(consumer, message, _ANSWERS[taken % 3] if taken < 7 else "ACCEPT")
    consumer.close()
    emit("left", group=options["group"])


def _acknowledge(consumer: ShareConsumer, message: Message, answer: str) -> None:
    consumer.acknowledge(message, getattr(AcknowledgeType, answer))
    place = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
    emit("acknowledged", **place, **{"as": answer.lower()})


def transactions(bootstrap: str, options: Options) -> None:
    """One transaction that commits with offsets of a group, and one that aborts."""
    producer = Producer(common(bootstrap, options) | {"transactional.id": options["id"]})
    producer.init_transactions(15)
    consumer = Consumer(_reading(bootstrap, options))
    producer.begin_transaction()
    write(producer, options)
    offsets = [TopicPartition(options["topic"], 0, 1)]
    metadata = consumer.consumer_group_metadata()
    outcome(
        "send_offsets_to_transaction", lambda: producer.send_offsets_to_transaction(offsets, metadata, 10)
    )
    producer.commit_transaction(15)
    emit("committed_transaction", id=options["id"])
    consumer.close()
    producer.begin_transaction()
    write(producer, options)
    producer.abort_transaction(15)
    emit("aborted_transaction", id=options["id"])


def stepwise(bootstrap: str, options: Options) -> None:
    """Run a producer that stays open and follows the commands of standard input.

    `write LABEL` sends the story, with --id in a transaction that it commits; `begin LABEL` leaves the
    transaction open until `commit`; `offsets GROUP` commits in a transaction that partition 0 was read to
    --offset.
    """
    settings: dict[str, Any] = {"enable.idempotence": True, "message.timeout.ms": 8000}
    if "id" in options:
        settings = {"transactional.id": options["id"], "transaction.timeout.ms": 60_000}
    producer = Producer(common(bootstrap, options) | settings)
    if "id" in options:
        producer.init_transactions(15)
    for what, about in steps():
        if "id" in options and what != "commit":
            producer.begin_transaction()
        if what in ("write", "begin"):
            write(producer, options | {"label": about})
        if what == "offsets":
            _send_offsets(producer, bootstrap, options | {"group": about})
        if "id" in options and what != "begin":
            _end_transaction(producer, options["id"])
    producer.flush(15)


def _send_offsets(producer: Producer, bootstrap: str, options: Options) -> None:
    offsets = [TopicPartition(options["topic"], 0, int(options["offset"]))]
    consumer = Consumer(_reading(bootstrap, options))
    metadata = consumer.consumer_group_metadata()
    outcome(
        "send_offsets_to_transaction", lambda: producer.send_offsets_to_transaction(offsets, metadata, 10)
    )
    consumer.close()


def _end_transaction(producer: Producer, name: str) -> None:
    try:
        producer.commit_transaction(15)
        emit("committed_transaction", id=name)
    except KafkaException as error:
        emit("error", where="commit", code=error.args[0].name())
        if not error.args[0].fatal():
            producer.abort_transaction(15)
            emit("aborted_transaction", id=name)


def follows(bootstrap: str, options: Options) -> None:
    """Run a member that follows standard input: `read N` records, `commit` its position."""
    consumer = _member(bootstrap, options, "only")
    for what, about in steps():
        if what == "read":
            read([consumer], int(about), 10)
        elif what == "commit":
            _commit(consumer, options)
        else:
            _commit(consumer, options, [TopicPartition(options["topic"], 0, int(about))])
    _leave(consumer, options, "only")


def admin(bootstrap: str, options: Options) -> None:
    """Every call of the admin client."""
    administration.run(common(bootstrap, options), options)


def timed_write(bootstrap: str, options: Options) -> None:
    """Write records and print when."""
    timed.write(common(bootstrap, options), options)


def timed_read(bootstrap: str, options: Options) -> None:
    """Read records and print when."""
    timed.read(_reading(bootstrap, options), options)


if __name__ == "__main__":
    actions = (produce, consume, group, share, transactions, stepwise, follows, admin, attempt)
    known = {function.__name__: function for function in (*actions, timed_write, timed_read)}
    main(known | endless(steady.ACTIONS, common))
