"""Driver of aiokafka."""

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError
from aiokafka.helpers import create_ssl_context
from driving import Options, Record, emit, main, moved, outcome, steps, story, tell


def common(bootstrap: str, options: Options) -> dict[str, Any]:
    """Return the settings of every client: address, client id, TLS and SASL if the options ask for them."""
    settings: dict[str, Any] = {"bootstrap_servers": bootstrap, "client_id": options["client-id"]}
    if "trust" in options:
        context = create_ssl_context(cafile=options["trust"] or None)
        context.check_hostname = options.get("names", "yes") == "yes"
        settings |= {"security_protocol": "SSL", "ssl_context": context}
    if "sasl" in options:
        settings |= {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": options["sasl"]}
        settings |= {"sasl_plain_username": options["user"], "sasl_plain_password": options["password"]}
    return settings


async def produce(bootstrap: str, options: Options) -> None:
    """Write the story with --acks and --codec."""
    acks = {"0": 0, "1": 1, "all": "all"}[options.get("acks", "all")]
    codec = None if options.get("codec", "none") == "none" else options["codec"]
    settings = {"acks": acks, "compression_type": codec, "linger_ms": 20}
    settings["enable_idempotence"] = options.get("idempotent", "no") == "yes"
    producer = AIOKafkaProducer(**common(bootstrap, options) | settings)
    await producer.start()
    await write(producer, options)
    await producer.stop()


async def attempt(bootstrap: str, options: Options) -> None:
    """Send one record with little patience and say what came of it."""
    producer = AIOKafkaProducer(**common(bootstrap, options), request_timeout_ms=2000)
    said = "ok"
    try:
        await asyncio.wait_for(producer.start(), 3)
        await asyncio.wait_for(producer.send_and_wait(options["topic"], b"tried"), 3)
    except Exception as error:  # those of clients are of all kinds
        said = f"{type(error).__name__}: {error}"[:300]
    emit("call", call="attempt", outcome=said)
    with contextlib.suppress(Exception):
        await asyncio.wait_for(producer.stop(), 3)


async def write(producer: AIOKafkaProducer, options: Options) -> None:
    """Send the story and print the offsets the broker gave."""
    sent = []
    for record in story(options):
        place = {"partition": record.partition, "timestamp_ms": record.timestamp, "headers": record.headers}
        sent.append((record, await producer.send(record.topic, record.value, record.key, **place)))
    for record, future in sent:
        try:
            place = await future
        except KafkaError as error:
            emit("error", where="produce", code=type(error).__name__)
            continue
        tell("sent", record._replace(offset=place.offset if place is not None else -1))


def _consumer(bootstrap: str, options: Options, *topics: str, **more: Any) -> AIOKafkaConsumer:
    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "fetch_max_wait_ms": 300}
    if options.get("isolation") == "committed":
        settings["isolation_level"] = "read_committed"
    return AIOKafkaConsumer(*topics, **common(bootstrap, options) | settings | more)


async def consume(bootstrap: str, options: Options) -> None:
    """Read a topic from the beginning without a group."""
    consumer = _consumer(bootstrap, options)
    await consumer.start()
    partitions = range(int(options.get("partitions", "2")))
    consumer.assign([TopicPartition(options["topic"], number) for number in partitions])
    await read(consumer, int(options.get("count", "6")), 8)
    await consumer.stop()


async def read(consumer: AIOKafkaConsumer, count: int, seconds: float) -> None:
    """Poll until count records came or the time is over."""
    end = asyncio.get_running_loop().time() + seconds
    while count > 0 and asyncio.get_running_loop().time() < end:
        for records in (await consumer.getmany(timeout_ms=300)).values():
            for record in records:
                place = (record.topic, record.partition, record.offset)
                tell("read", Record(*place, record.key, record.value, list(record.headers), record.timestamp))
                count -= 1


class _Listener(ConsumerRebalanceListener):
    """Prints the assignments of one member."""

    def __init__(self, client_id: str, group: str) -> None:
        self._names = (client_id, group, "")

    async def on_partitions_assigned(self, assigned: list[TopicPartition]) -> None:
        """Report that the member joined a generation."""
        moved("joined", *self._names, [(part.topic, part.partition) for part in assigned])

    async def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None:
        """Report that a generation ended for the member."""
        moved("revoked", *self._names, [(part.topic, part.partition) for part in revoked])


async def _member(bootstrap: str, options: Options, name: str) -> AIOKafkaConsumer:
    client_id = f"{options['client-id']}-{name}"
    more: dict[str, Any] = {
        "client_id": client_id,
        "group_id": options["group"],
        "heartbeat_interval_ms": 500,
    }
    if "instance" in options:
        more["group_instance_id"] = f"{options['instance']}-{name}"
    consumer = _consumer(bootstrap, options, session_timeout_ms=10_000, **more)
    consumer.subscribe([options["topic"]], listener=_Listener(client_id, options["group"]))
    await consumer.start()
    return consumer


async def group(bootstrap: str, options: Options) -> None:
    """Two members: one reads alone, the second joins, both commit, the second leaves, then the first."""
    first = await _member(bootstrap, options, "first")
    await read(first, int(options.get("count", "6")), 10)
    await _commit(first, options)
    second = await _member(bootstrap, options, "second")
    await asyncio.gather(read(first, 99, 3), read(second, 99, 3))
    await _commit(second, options)
    await second.stop()
    emit("left", client_id=f"{options['client-id']}-second", group=options["group"])
    await read(first, 99, 3)
    await first.stop()
    emit("left", client_id=f"{options['client-id']}-first", group=options["group"])


async def _commit(consumer: AIOKafkaConsumer, options: Options) -> None:
    await consumer.commit()
    for part in sorted(consumer.assignment()):
        place = {"topic": part.topic, "partition": part.partition, "offset": await consumer.committed(part)}
        emit("committed", group=options["group"], **place)


async def transactions(bootstrap: str, options: Options) -> None:
    """One transaction that commits with offsets of a group, and one that aborts."""
    producer = AIOKafkaProducer(**common(bootstrap, options), transactional_id=options["id"])
    await producer.start()
    await producer.begin_transaction()
    await write(producer, options)
    await producer.send_offsets_to_transaction({TopicPartition(options["topic"], 0): 1}, options["group"])
    await producer.commit_transaction()
    emit("committed_transaction", id=options["id"])
    await producer.begin_transaction()
    await write(producer, options)
    await producer.abort_transaction()
    emit("aborted_transaction", id=options["id"])
    await producer.stop()


async def stepwise(bootstrap: str, options: Options) -> None:
    """Run a producer that stays open and follows the commands of standard input.

    `write LABEL` sends the story, with --id in a transaction that it commits; `begin LABEL` leaves the
    transaction open until `commit`.
    """
    settings: dict[str, Any] = {"enable_idempotence": True}
    if "id" in options:
        settings = {"transactional_id": options["id"], "transaction_timeout_ms": 20_000}
    producer = AIOKafkaProducer(**common(bootstrap, options) | settings)
    await producer.start()
    lines = steps()
    while (step := await asyncio.to_thread(next, lines, None)) is not None:
        await _step(producer, *step, options)
    await producer.stop()


async def _step(producer: AIOKafkaProducer, what: str, about: str, options: Options) -> None:
    if "id" in options and what != "commit":
        await producer.begin_transaction()
    if what != "commit":
        await write(producer, options | {"label": about})
    if "id" in options and what != "begin":
        try:
            await asyncio.wait_for(producer.commit_transaction(), 15)
            emit("committed_transaction", id=options["id"])
        except Exception as error:  # those of clients are of all kinds
            emit("error", where="commit", code=type(error).__name__)


async def follows(bootstrap: str, options: Options) -> None:
    """Run a member that follows standard input: `read N` records, `commit` its position."""
    consumer = await _member(bootstrap, options, "only")
    lines = steps()
    while (step := await asyncio.to_thread(next, lines, None)) is not None:
        what, about = step
        if what == "read":
            await read(consumer, int(about), 10)
        else:
            await _commit(consumer, options)
    await consumer.stop()
    emit("left", client_id=f"{options['client-id']}-only", group=options["group"])


async def admin(bootstrap: str, options: Options) -> None:
    """Every call of the admin client, once."""
    client = AIOKafkaAdminClient(**common(bootstrap, options), request_timeout_ms=8000)
    await client.start()
    loop = asyncio.get_running_loop()
    for name, call in _calls(client, options["topic"], options["group"]).items():
        wait = functools.partial(_wait, call, loop)
        await asyncio.to_thread(outcome, name, wait)
    await client.close()


def _wait(call: Callable[[], Awaitable[Any]], loop: asyncio.AbstractEventLoop) -> Any:
    async def made() -> Any:
        return await call()

    return asyncio.run_coroutine_threadsafe(made(), loop).result(10)


def _calls(client: AIOKafkaAdminClient, topic: str, group: str) -> dict[str, Callable[[], Awaitable[Any]]]:
    config = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": "3600000"})
    about = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": None})
    return {
        "create_topics": lambda: client.create_topics([NewTopic(topic, 2, 1)]),
        "create_topics again": lambda: client.create_topics([NewTopic(topic, 2, 1)]),
        "create_partitions": lambda: client.create_partitions({topic: NewPartitions(3)}),
        "list_topics": client.list_topics,
        "describe_topics": lambda: client.describe_topics([topic]),
        "describe_cluster": client.describe_cluster,
        "alter_configs": lambda: client.alter_configs([config]),
        "describe_configs": lambda: client.describe_configs([about]),
        "delete_records": lambda: client.delete_records({TopicPartition(topic, 0): RecordsToDelete(0)}),
        "find_coordinator": lambda: client.find_coordinator(group),
        "list_consumer_groups": client.list_consumer_groups,
        "describe_consumer_groups": lambda: client.describe_consumer_groups([group]),
        "list_consumer_group_offsets": lambda: client.list_consumer_group_offsets(group),
        "delete_topics": lambda: client.delete_topics([topic]),
    }


def _run(action: Callable[[str, Options], Awaitable[None]]) -> Callable[[str, Options], None]:
    """Return an action that runs in an event loop of its own."""
    return lambda bootstrap, options: asyncio.run(action(bootstrap, options))


if __name__ == "__main__":
    actions = (produce, consume, group, transactions, stepwise, follows, admin, attempt)
    main({function.__name__: _run(function) for function in actions})
