"""Clients that go on until they are told to stop, and errands of an administrator."""

import time
from collections.abc import Callable
from typing import Any

from driving import Flow, Options, emit, endless, main, settings_of, told_to_stop
from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewPartitions, NewTopic
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

_WAIT = 15  # seconds


def writes(settings: dict[str, Any], options: Options) -> None:
    """Write a `Flow`; with --skip, after that many records, the sequence of the next batch leaves a gap."""
    flow, told = Flow.of(options), told_to_stop()
    try:
        producer = _connected(KafkaProducer, settings | settings_of(options))
        if flow.transactions:
            producer.init_transactions()
        for burst in flow.bursts(told):
            if burst[0] == int(options.get("skip", "-1")):
                _skip(producer, flow)
            _burst(producer, flow, burst)
        producer.flush(_WAIT)
    except KafkaError as problem:
        emit("error", where="produce", code=type(problem).__name__)


def _connected(kind: Callable[..., Any], settings: dict[str, Any]) -> Any:
    """Return a client; before 3.0 it is none while no broker answers, and who runs it starts it again."""
    while True:
        try:
            return kind(**settings)
        except KafkaError as problem:
            code = type(problem).__name__
            if code != "NoBrokersAvailable":
                raise
            emit("error", where="start", code=code)
            time.sleep(1)


def _skip(producer: KafkaProducer, flow: Flow) -> None:
    """Skip sequence numbers as a client with a bug does, as if a batch had been sent."""
    producer.flush(_WAIT)
    manager = producer._transaction_manager  # noqa: SLF001 - no client offers a bug
    manager.increment_sequence_number(TopicPartition(flow.topic, flow.partition or 0), 7)
    emit("skipped")


def _burst(producer: KafkaProducer, flow: Flow, burst: range) -> None:
    if flow.transactions:
        producer.begin_transaction()
    for number in burst:
        future = producer.send(flow.topic, flow.value(number), flow.key(number), partition=flow.partition)
        future.add_callback(lambda got: emit("wrote", offset=got.offset))
        future.add_errback(lambda problem: emit("error", where="produce", code=type(problem).__name__))
    if flow.transactions:
        producer.flush(_WAIT)
    if flow.transactions == "open":
        emit("opened")
        time.sleep(3600)
    elif flow.transactions:
        producer.commit_transaction()


class _Listener(ConsumerRebalanceListener):
    """Prints what a member is given."""

    def on_partitions_assigned(self, assigned: list[TopicPartition]) -> None:
        """Report that the member joined a generation."""
        emit("joined", partitions=[f"{part.topic}-{part.partition}" for part in assigned])

    def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None:
        """Report that a generation ended for the member."""


def reads(settings: dict[str, Any], options: Options) -> None:
    """Read --topic as a member of --group, or without one from the beginning.

    With --slow each record takes that many milliseconds. After --stall records it polls no more, after
    --pause records it polls and takes nothing. With --commit-each it commits each record.
    """
    told = told_to_stop()
    group = options.get("group")
    defaults = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "group_id": group}
    consumer = _connected(KafkaConsumer, settings | defaults | settings_of(options))
    if group:
        consumer.subscribe(options["topic"].split(","), listener=_Listener())
    else:
        parts = range(int(options.get("partitions", "1")))
        consumer.assign([TopicPartition(options["topic"], part) for part in parts])
        for part in consumer.assignment():
            consumer.seek(part, int(options.get("seek", "0")))
    seen = 0
    while not told.is_set():
        try:
            found = consumer.poll(timeout_ms=200)
        except KafkaError as problem:
            emit("error", where="poll", code=type(problem).__name__)
            told.wait(0.5)
            continue
        for record in (record for records in found.values() for record in records):
            seen += 1
            emit("seen", offset=record.offset)
            told.wait(int(options.get("slow", "0")) / 1000)
            if "commit-each" in options:
                _commit(consumer, record)
            if seen == int(options.get("pause", "-1")):
                consumer.pause(*consumer.assignment())
                emit("stalled")
            if seen == int(options.get("stall", "-1")):
                emit("stalled")
                told.wait()
            if told.is_set():
                break
    consumer.close()


def _commit(consumer: KafkaConsumer, record: Any) -> None:
    # The first releases know no leader epoch.
    position = OffsetAndMetadata(*(record.offset + 1, "", -1)[: len(OffsetAndMetadata._fields)])
    try:
        consumer.commit({TopicPartition(record.topic, record.partition): position})
    except KafkaError as problem:
        emit("error", where="commit", code=type(problem).__name__)


def churns(settings: dict[str, Any], options: Options) -> None:
    """Write each burst with a producer of its own."""
    flow, told = Flow.of(options), told_to_stop()
    for burst in flow.bursts(told):
        producer = KafkaProducer(**settings | settings_of(options))
        _burst(producer, flow, burst)
        producer.close()


def creates(settings: dict[str, Any], options: Options) -> None:
    """Create topics one after the other, --count of them with --partitions, --pace milliseconds apart."""
    told = told_to_stop()
    admin = KafkaAdminClient(**settings | settings_of(options))
    for number in range(int(options.get("count", "10"))):
        if told.is_set():
            break
        try:
            admin.create_topics([NewTopic(f"{options['topic']}-{number}", int(options["partitions"]), 1)])
            emit("created", number=number)
        except KafkaError as problem:
            emit("error", where="create", code=type(problem).__name__)
        told.wait(int(options.get("pace", "0")) / 1000)


def moves(settings: dict[str, Any], options: Options) -> None:
    """Give partition 0 of --topic the replicas of --to (with commas), and elect the first of them leader."""
    admin = KafkaAdminClient(**settings)
    part = TopicPartition(options["topic"], 0)
    admin.alter_partition_reassignments({part: [int(one) for one in options["to"].split(",")]})
    time.sleep(1)
    admin.elect_leaders(0, {options["topic"]: [0]})
    emit("moved")


def trims(settings: dict[str, Any], options: Options) -> None:
    """Delete the records of partition 0 of --topic below offset --below; -1: all."""
    KafkaAdminClient(**settings).delete_records({TopicPartition(options["topic"], 0): int(options["below"])})
    emit("trimmed")


def rewinds(settings: dict[str, Any], options: Options) -> None:
    """Set the offset of --group on partition 0 of --topic to --to."""
    place = {TopicPartition(options["topic"], 0): OffsetAndMetadata(int(options["to"]), "", -1)}
    KafkaAdminClient(**settings).alter_group_offsets(options["group"], place)
    emit("rewound")


def grows(settings: dict[str, Any], options: Options) -> None:
    """Give --topic one partition more, --count times, --pace milliseconds apart."""
    admin, told = KafkaAdminClient(**settings), told_to_stop()
    for number in range(int(options["count"])):
        admin.create_partitions({options["topic"]: NewPartitions(int(options["from"]) + number + 1)})
        emit("grown")
        told.wait(int(options["pace"]) / 1000)


def _common(bootstrap: str, options: Options) -> dict[str, Any]:
    """Return the settings that every release knows."""
    return {"bootstrap_servers": bootstrap, "client_id": options["client-id"]}


ACTIONS = (writes, reads, churns, creates, moves, trims, rewinds, grows)

if __name__ == "__main__":  # of another release than the one that main.py is written for
    main(endless(ACTIONS, _common))
