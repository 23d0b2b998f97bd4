"""Driver of kafka-python."""

import time
from typing import Any

import administration
import steady
from driving import Options, Record, emit, endless, main, moved, outcome, story, tell
from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata


def common(bootstrap: str, options: Options) -> dict[str, Any]:
    """Return the settings of every client: address, client id, TLS and SASL if the options ask for them."""
    settings: dict[str, Any] = {"bootstrap_servers": bootstrap, "client_id": options["client-id"]}
    if "trust" in options:
        settings |= {"security_protocol": "SSL", "ssl_cafile": options["trust"] or None}
    if "api-version" in options:
        settings["api_version"] = tuple(int(part) for part in options["api-version"].split("."))
    if "sasl" in options:
        settings |= {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": options["sasl"]}
        settings |= {"sasl_plain_username": options["user"], "sasl_plain_password": options["password"]}
    return settings


def produce(bootstrap: str, options: Options) -> None:
    """Write the story with --acks and --codec."""
    acks = {"0": 0, "1": 1, "all": "all"}[options.get("acks", "all")]
    codec = None if options.get("codec", "none") == "none" else options["codec"]
    settings = {"acks": acks, "compression_type": codec, "linger_ms": 20}
    if options.get("idempotent", "no") == "no":
        settings["enable_idempotence"] = False
    producer = KafkaProducer(**common(bootstrap, options), **settings)
    write(producer, options)
    producer.close(timeout=10)


def attempt(bootstrap: str, options: Options) -> None:
    """Send one record with little patience and say what came of it."""

    def send() -> None:
        patience = {"max_block_ms": 2500, "request_timeout_ms": 2000, "delivery_timeout_ms": 2500}
        patience |= {"reconnect_backoff_ms": 1000, "retry_backoff_ms": 500}
        producer = KafkaProducer(**common(bootstrap, options), **patience, linger_ms=0)
        try:
            producer.send(options["topic"], value=b"tried").get(timeout=3)
        finally:
            producer.close(timeout=1)

    outcome("attempt", send)


def write(producer: KafkaProducer, options: Options) -> None:
    """Send the story and print the offsets the broker gave."""
    sent = [(record, _send(producer, record, options)) for record in story(options)]
    for record, future in sent:
        try:
            place = future.get(timeout=20)
        except Exception as error:
            emit("error", where="produce", code=type(error).__name__)
        else:
            offset = place.offset if options.get("acks") != "0" else -1
            headers = record.headers if options.get("headers") != "no" else []
            tell("sent", record._replace(offset=offset, headers=headers))


def _send(producer: KafkaProducer, record: Record, options: Options) -> Any:
    headers = record.headers if options.get("headers") != "no" else None
    place = {"partition": record.partition, "timestamp_ms": record.timestamp, "headers": headers}
    return producer.send(record.topic, value=record.value, key=record.key, **place)


def _consumer(bootstrap: str, options: Options, **more: Any) -> KafkaConsumer:
    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "fetch_max_wait_ms": 300}
    if options.get("isolation") == "committed":
        settings["isolation_level"] = "read_committed"
    return KafkaConsumer(**common(bootstrap, options) | settings | more)


def consume(bootstrap: str, options: Options) -> None:
    """Read a topic from the beginning without a group."""
    consumer = _consumer(bootstrap, options)
    consumer.assign(
        [TopicPartition(options["topic"], number) for number in range(int(options.get("partitions", "2")))]
    )
    consumer.seek_to_beginning()
    read(consumer, int(options.get("count", "6")), 8)
    consumer.close()


def read(consumer: KafkaConsumer, count: int, seconds: float) -> None:
    """Poll until count records came or the time is over."""
    end = time.monotonic() + seconds
    while count > 0 and time.monotonic() < end:
        for records in consumer.poll(timeout_ms=300).values():
            for record in records:
                headers = [(key, value) for key, value in record.headers]
                place = (record.topic, record.partition, record.offset)
                tell("read", Record(*place, record.key, record.value, headers, record.timestamp))
                count -= 1


class _Listener(ConsumerRebalanceListener):
    """Prints the assignments of one member."""

    def __init__(self, client_id: str, group: str) -> None:
        self._names = (client_id, group)
        self.consumer: KafkaConsumer | None = None

    def on_partitions_assigned(self, assigned: list[TopicPartition]) -> None:
        """Report that the member joined a generation."""
        moved("joined", *self._names, "", [(part.topic, part.partition) for part in assigned])

    def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None:
        """Report that a generation ended for the member."""
        moved("revoked", *self._names, "", [(part.topic, part.partition) for part in revoked])


def _member(bootstrap: str, options: Options, name: str) -> KafkaConsumer:
    client_id = f"{options['client-id']}-{name}"
    more: dict[str, Any] = {
        "group_id": options["group"],
        "client_id": client_id,
        "heartbeat_interval_ms": 500,
    }
    if "instance" in options:
        more["group_instance_id"] = f"{options['instance']}-{name}"
    consumer = _consumer(bootstrap, options, session_timeout_ms=10_000, **more)
    consumer.subscribe([options["topic"]], listener=_Listener(client_id, options["group"]))
    return consumer


def group(bootstrap: str, options: Options) -> None:
    """Two members: one reads alone, the second joins, both commit, the second leaves, then the first."""
    first = _member(bootstrap, options, "first")
    read(first, int(options.get("count", "6")), 10)
    _commit(first, options)
    second = _member(bootstrap, options, "second")
    _together([first, second], 5)
    _commit(second, options)
    second.close()
    emit("left", client_id=f"{options['client-id']}-second", group=options["group"])
    _together([first], 3)
    first.close()
    emit("left", client_id=f"{options['client-id']}-first", group=options["group"])


def _together(consumers: list[KafkaConsumer], seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for consumer in consumers:
            read(consumer, 1, 0.2)


def _commit(consumer: KafkaConsumer, options: Options) -> None:
    consumer.commit()
    for part in sorted(consumer.assignment()):
        place = {"topic": part.topic, "partition": part.partition, "offset": consumer.committed(part)}
        emit("committed", group=options["group"], **place)


def transactions(bootstrap: str, options: Options) -> None:
    """One transaction that commits with offsets of a group, and one that aborts."""
    settings = {"transactional_id": options["id"], "acks": "all", "transaction_timeout_ms": 20_000}
    producer = KafkaProducer(**common(bootstrap, options), **settings)
    producer.init_transactions()
    producer.begin_transaction()
    write(producer, options)
    offsets = {TopicPartition(options["topic"], 0): OffsetAndMetadata(1, "moved", -1)}
    outcome(
        "send_offsets_to_transaction", lambda: producer.send_offsets_to_transaction(offsets, options["group"])
    )
    producer.commit_transaction()
    emit("committed_transaction", id=options["id"])
    producer.begin_transaction()
    write(producer, options)
    producer.abort_transaction()
    emit("aborted_transaction", id=options["id"])
    producer.close(timeout=10)


def admin(bootstrap: str, options: Options) -> None:
    """Every call of the admin client."""
    administration.run(common(bootstrap, options), options)


if __name__ == "__main__":
    actions = (produce, consume, group, transactions, admin, attempt)
    main({function.__name__: function for function in actions} | endless(steady.ACTIONS, common))
