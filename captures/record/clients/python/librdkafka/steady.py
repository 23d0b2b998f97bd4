"""Clients that go on until they are told to stop: one that writes, one that reads, one that makes topics."""

import time
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from driving import Flow, Options, emit, endless, main, settings_of, told_to_stop

_WAIT = 15  # seconds


def writes(settings: dict[str, Any], options: Options) -> None:
    """Write a `Flow`."""
    flow, told = Flow.of(options), told_to_stop()
    producer = Producer(settings | settings_of(options))
    try:
        if flow.transactions:
            producer.init_transactions(_WAIT)
        for burst in flow.bursts(told):
            _burst(producer, flow, burst)
        producer.flush(_WAIT)
    except KafkaException as problem:
        emit("error", where="produce", code=problem.args[0].name())


def _burst(producer: Producer, flow: Flow, burst: range) -> None:
    if flow.transactions:
        producer.begin_transaction()
    for number in burst:
        place = {} if flow.partition is None else {"partition": flow.partition}
        producer.produce(flow.topic, flow.value(number), flow.key(number), on_delivery=_report, **place)
        producer.poll(0)
    if flow.transactions:
        producer.flush(_WAIT)
        emit("wrote", number=burst[-1])
    if flow.transactions == "open":
        time.sleep(3600)
    elif flow.transactions:
        producer.commit_transaction(_WAIT)


def _report(error: Any, message: Message) -> None:
    if error is None:
        emit("wrote", offset=message.offset())
    else:
        emit("error", where="produce", code=error.name())


def reads(settings: dict[str, Any], options: Options) -> None:
    """Read --topic as a member of --group, or without one from the beginning.

    With --slow each record takes that many milliseconds. After --stall records it polls no more, after
    --pause records it polls and takes nothing. With --commit-each it commits each record.
    """
    told = told_to_stop()
    group = options.get("group")
    defaults = {"auto.offset.reset": "earliest", "group.id": group or "none", "enable.auto.commit": False}
    consumer = Consumer(settings | defaults | settings_of(options))
    if group:
        consumer.subscribe(options["topic"].split(","), on_assign=_assigned)
    else:
        parts = range(int(options.get("partitions", "1")))
        consumer.assign(
            [TopicPartition(options["topic"], part, int(options.get("seek", "0"))) for part in parts]
        )
    seen = 0
    while not told.is_set():
        message = consumer.poll(0.2)
        if message is None:
            continue
        if message.error() is not None:
            emit("error", where="poll", code=message.error().name())
            continue
        seen += 1
        emit("seen", offset=message.offset())
        told.wait(int(options.get("slow", "0")) / 1000)
        if "commit-each" in options:
            consumer.commit(message, asynchronous=False)
        if seen == int(options.get("pause", "-1")):
            consumer.pause(consumer.assignment())
            emit("stalled")
        if seen == int(options.get("stall", "-1")):
            emit("stalled")
            told.wait()
    consumer.close()


def _assigned(_consumer: Consumer, parts: list[TopicPartition]) -> None:
    emit("joined", partitions=[f"{part.topic}-{part.partition}" for part in parts])


def makes(settings: dict[str, Any], options: Options) -> None:
    """Create --topics, `NAME:PARTITIONS:COPIES[:CONFIG=VALUE...];...`; --deny `KIND:NAME:USER;...` things.

    With --allow `KIND:NAME:USER:OPERATION;...` a user may do that alone.
    """
    admin = AdminClient(settings)
    wanted = []
    for text in filter(None, options.get("topics", "").split(";")):
        name, partitions, copies, *configs = text.split(":")
        config = dict(pair.split("=", 1) for pair in configs)
        wanted.append(NewTopic(name, int(partitions), int(copies), config=config))
    for future in admin.create_topics(wanted).values() if wanted else ():
        future.result(_WAIT)
    rules = [(*rule.split(":"), "ALL", AclPermissionType.DENY) for rule in _listed(options, "deny")]
    rules += [(*rule.split(":"), AclPermissionType.ALLOW) for rule in _listed(options, "allow")]
    bindings = [
        AclBinding(
            ResourceType[kind.upper()], name, ResourcePatternType.LITERAL, f"User:{user}", "*",
            AclOperation[operation], permission,
        )
        for kind, name, user, operation, permission in rules
    ]  # fmt: skip
    for future in admin.create_acls(bindings).values() if bindings else ():
        future.result(_WAIT)
    emit("made")


def _listed(options: Options, name: str) -> list[str]:
    return [text for text in options.get(name, "").split(";") if text]


def churns(settings: dict[str, Any], options: Options) -> None:
    """Write each record with a producer of its own."""
    flow, told = Flow.of(options), told_to_stop()
    for burst in flow.bursts(told):
        producer = Producer(settings | settings_of(options))
        _burst(producer, flow, burst)
        producer.flush(_WAIT)
        del producer


def _common(bootstrap: str, options: Options) -> dict[str, Any]:
    """Return the settings that every release knows."""
    return {"bootstrap.servers": bootstrap, "client.id": options["client-id"]}


ACTIONS = (writes, reads, makes, churns)

if __name__ == "__main__":  # of another release than the one that main.py is written for
    main(endless(ACTIONS, _common))
