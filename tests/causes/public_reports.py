"""Captures of trouble that users reported in public, rebuilt exchange by exchange.

Each report has its address, the cause that has to come first, and words of its sentence. The causes were not
written by them. Next to the client of the report another one works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tests.causes.talks import Talk
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import ACK, BROKER, CLIENT, PSH

Body = Mapping[str, Any]
GITHUB = "https://github.com/"
_MEMBER = {"group_id": "payments", "generation_id": 5, "member_id": "m-1"}
_TXN = {"transactional_id": "bank", "producer_id": 4000, "producer_epoch": 3}
_JOIN = {
    "group_id": "payments", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000, "member_id": "",
    "group_instance_id": None, "protocol_type": "consumer", "protocols": [{"name": "range", "metadata": b""}],
}  # fmt: skip
_JOINED = {
    "throttle_time_ms": 0,
    "generation_id": -1,
    "protocol_name": "",
    "leader": "",
    "member_id": "",
    "members": [],
}

_GENERATION = {**_JOINED, "error_code": 0, "generation_id": 5, "protocol_name": "range"}


class Report(NamedTuple):
    """A report: its address, the connections, the first cause, and words of its sentence."""

    url: str
    talks: Callable[[], Sequence[Talk]]
    cause: str
    words: tuple[str, ...]


def beside() -> Talk:
    """A client that works well for a minute."""
    return Talk("healthy", 41000).heartbeats(60)


def again(talk: Talk, ask: tuple[int, int, Body], answer: Body, times: int, every: float) -> Talk:
    """Send one request again and again, with one response."""
    key, version, body = ask
    for _ in range(times):
        talk.ask(key, version, body).answer(key, version, answer).wait(every)
    return talk


def commit(error: int, **member: Any) -> tuple[tuple[int, int, Body], Body]:
    """An OffsetCommit and a response with an error."""
    partition = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    body = {**_MEMBER, **member, "group_instance_id": None, "retention_time_ms": -1,
            "topics": [{"name": "t", "partitions": [partition]}]}  # fmt: skip
    row = {"partition_index": 0, "error_code": error}
    return (8, 7, body), {"throttle_time_ms": 0, "topics": [{"name": "t", "partitions": [row]}]}


def fetch(
    error: int, offset: int = 40, records: bytes = b"", end: int = 1000
) -> tuple[tuple[int, int, Body], Body]:
    """A Fetch of one partition, and its response."""
    partition = {
        "partition": 0, "current_leader_epoch": 4, "fetch_offset": offset, "log_start_offset": -1,
        "partition_max_bytes": 1_000_000,
    }  # fmt: skip
    body = {
        "replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 50_000_000, "isolation_level": 0,
        "session_id": 0, "session_epoch": -1, "forgotten_topics_data": [], "rack_id": "",
        "topics": [{"topic": "t", "partitions": [partition]}],
    }  # fmt: skip
    row = {
        "partition_index": 0, "error_code": error, "high_watermark": end if not error else -1,
        "last_stable_offset": end if not error else -1, "log_start_offset": -1, "aborted_transactions": None,
        "preferred_read_replica": -1, "records": records,
    }  # fmt: skip
    answer = {"throttle_time_ms": 0, "error_code": 0, "session_id": 0,
              "responses": [{"topic": "t", "partitions": [row]}]}  # fmt: skip
    return (1, 11, body), answer


def metadata(error: int = 0, partition_error: int = 0, epoch: int = 3) -> tuple[tuple[int, int, Body], Body]:
    """A Metadata request for one topic, and its response."""
    partition = {
        "error_code": partition_error, "partition_index": 0, "leader_id": 1 if not partition_error else -1,
        "leader_epoch": epoch, "replica_nodes": [1], "isr_nodes": [1], "offline_replicas": [],
    }  # fmt: skip
    topic = {"error_code": error, "name": "t", "is_internal": False,
             "partitions": [] if error else [partition]}  # fmt: skip
    answer = {
        "throttle_time_ms": 0, "brokers": [{"node_id": 1, "host": "10.0.0.2", "port": 9092, "rack": None}],
        "cluster_id": "c", "controller_id": 1, "topics": [topic],
    }  # fmt: skip
    return (3, 7, {"topics": [{"name": "t"}], "allow_auto_topic_creation": False}), answer


def produce(
    error: int, sequence: int = 0, *, idempotent: bool = True, offset: int = 0
) -> tuple[tuple[int, int, Body], Body]:
    """A Produce of one record, and its response."""
    ids = {"producer_id": 104, "epoch": 0, "sequence": sequence} if idempotent else {}
    batch = batch_bytes(record_bytes(value=b"paid"), **ids)
    body = {
        "transactional_id": None, "acks": -1, "timeout_ms": 30_000,
        "topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": batch}]}],
    }  # fmt: skip
    row = {
        "index": 0, "error_code": error, "base_offset": -1 if error else offset, "log_append_time_ms": -1,
        "log_start_offset": -1 if error else 0, "record_errors": [], "error_message": None,
    }  # fmt: skip
    answer = {"responses": [{"name": "t", "partition_responses": [row]}], "throttle_time_ms": 0}
    return (0, 8, body), answer


def both(
    talk: Talk, exchanges: Sequence[tuple[tuple[int, int, Body], Body]], times: int, every: float
) -> Talk:
    """Send several requests again and again."""
    for _ in range(times):
        for ask, answer in exchanges:
            again(talk, ask, answer, 1, every)
    return talk


def leader_epoch_goes_back() -> list[Talk]:
    """The consumer has epoch 4, Metadata has 3: UNKNOWN_LEADER_EPOCH without end."""
    return [both(Talk("kgo"), [fetch(75), metadata(epoch=3)], 40, 0.5), beside()]


def fetches_hang() -> list[Talk]:
    """The broker answers everything but Fetch; the client gives up after 5 s and comes back."""
    found = []
    for number in range(8):
        talk = again(Talk("reader", 40000 + number, begins=1 + 6 * number), *metadata(), 1, 0.01)
        talk.ask(*fetch(0)[0]).wait(5)
        talk.talk.fin(CLIENT).fin(BROKER)
        found.append(talk)
    return [*found, beside()]


def coordinator_denies_itself() -> list[Talk]:
    """FindCoordinator names a broker that is not the coordinator, for half a minute."""
    find = (10, 2, {"key": "payments", "key_type": 0})
    found = {"throttle_time_ms": 0, "error_code": 0, "error_message": None, "node_id": 0, "host": "10.0.0.2",
             "port": 9092}  # fmt: skip
    beat = (12, 3, {**_MEMBER, "group_instance_id": None})
    return [
        both(Talk("rdkafka"), [(find, found), (beat, {"throttle_time_ms": 0, "error_code": 16})], 30, 0.5),
        beside(),
    ]


def no_coordinator() -> list[Talk]:
    """FindCoordinator is refused with COORDINATOR_NOT_AVAILABLE ten times a second."""
    find = (10, 2, {"key": "payments", "key_type": 0})
    none = {
        "throttle_time_ms": 0,
        "error_code": 15,
        "error_message": None,
        "node_id": -1,
        "host": "",
        "port": -1,
    }
    return [again(Talk("kafka-python"), find, none, 200, 0.1), beside()]


def never_fetches_after_a_failed_commit() -> list[Talk]:
    """A commit of an older generation is refused; the member stays in its group and fetches no more."""
    talk = Talk("reader")
    talk.ask(11, 5, {**_JOIN, "member_id": "m-1"})
    talk.answer(11, 5, {**_GENERATION, "leader": "m-2", "member_id": "m-1"})  # fmt: skip
    assignment = b"\0\0" + b"\0\0\0\1" + b"\0\1t" + b"\0\0\0\1" + b"\0\0\0\0" + b"\xff\xff\xff\xff"
    talk.ask(14, 3, {**_MEMBER, "group_instance_id": None, "assignments": []})
    talk.answer(14, 3, {"throttle_time_ms": 0, "error_code": 0, "assignment": assignment}).wait(0.1)
    again(talk, *fetch(0, 40, batch_bytes(record_bytes(value=b"paid"), base_offset=40), 41), 1, 0.5)
    again(talk, *commit(22, generation_id=4), 1, 0.1)
    beat = (12, 3, {**_MEMBER, "group_instance_id": None})
    again(talk, beat, {"throttle_time_ms": 0, "error_code": 0}, 50, 1)
    writer = Talk("writer", 40001)
    for number in range(50):
        again(writer, *produce(0, number, offset=41 + number), 1, 1)
    other = Talk("tail", 40002)
    for number in range(50):
        records = batch_bytes(record_bytes(value=b"paid"), base_offset=41 + number)
        again(other, *fetch(0, 41 + number, records, 42 + number), 1, 1)
    return [talk, writer, other]


def producer_id_was_forgotten() -> list[Talk]:
    """The transactional id expired: each AddPartitionsToTxn is refused."""
    add = (24, 1, {"transactional_id": "bank", "producer_id": 4000, "producer_epoch": 3,
                   "topics": [{"name": "t", "partitions": [0]}]})  # fmt: skip
    row = {"partition_index": 0, "partition_error_code": 49}
    refused = {"throttle_time_ms": 0, "results_by_topic_v3_and_below": [
        {"name": "t", "results_by_partition": [row]}]}  # fmt: skip
    return [again(Talk("spring"), add, refused, 6, 5), beside()]


def group_is_full() -> list[Talk]:
    """GROUP_MAX_SIZE_REACHED for each JoinGroup of one more member."""
    return [again(Talk("one-more"), (11, 5, _JOIN), {**_JOINED, "error_code": 81}, 1, 1), beside()]


def session_timeout_out_of_bounds() -> list[Talk]:
    """The first JoinGroup is refused, and the program ends."""
    talk = again(
        Talk("app"), (11, 5, {**_JOIN, "session_timeout_ms": 1}), {**_JOINED, "error_code": 26}, 1, 0.1
    )
    talk.talk.fin(CLIENT).fin(BROKER)
    return [talk, beside()]


def idle_producer_is_out_of_order() -> list[Talk]:
    """Seven batches are written, then the producer is idle; the eighth, in sequence, is refused."""
    talk = Talk("billing")
    for number in range(7):
        again(talk, *produce(0, number, offset=number), 1, 0.2)
    talk.wait(30)
    again(talk, *produce(45, 7), 1, 1)
    return [talk, beside()]


def producer_id_unknown() -> list[Talk]:
    """Retention deleted the records of a producer: its batches are refused with UNKNOWN_PRODUCER_ID."""
    talk = Talk("streams")
    again(talk, *produce(0, 0), 1, 20)
    return [again(talk, *produce(59, 1), 20, 1), beside()]


def server_error_now_and_then() -> list[Talk]:
    """Every third Fetch fails with UNKNOWN_SERVER_ERROR."""
    talk = Talk("kgo")
    for number in range(30):
        again(talk, *fetch(-1 if number % 3 == 0 else 0, 40), 1, 0.5)
    return [talk, beside()]


def offsets_out_of_range_again_and_again() -> list[Talk]:
    """Each Fetch is out of range, each ListOffsets gives the same offset again."""
    row = {"partition_index": 0, "error_code": 0, "timestamp": -1, "offset": 100, "leader_epoch": 4}
    first = {"throttle_time_ms": 0, "topics": [{"name": "t", "partitions": [row]}]}
    want = {"partition_index": 0, "current_leader_epoch": 4, "timestamp": -2}
    ask = (2, 5, {"replica_id": -1, "isolation_level": 0, "topics": [{"name": "t", "partitions": [want]}]})
    return [both(Talk("ruby"), [fetch(1, 100), (ask, first)], 30, 0.5), beside()]


def commits_with_much_metadata() -> list[Talk]:
    """INVALID_COMMIT_OFFSET_SIZE for each commit, while the consumer reads on."""
    talk = Talk("reader")
    for number in range(12):
        again(
            talk,
            *fetch(0, 40 + number, batch_bytes(record_bytes(value=b"paid"), base_offset=40 + number)),
            1,
            1,
        )
        again(talk, *commit(28), 1, 1)
    return [talk, beside()]


def assigned_and_subscribed_with_one_group() -> list[Talk]:
    """A consumer without membership commits for a group that has members: UNKNOWN_MEMBER_ID."""
    talk = Talk("retry-topic")
    return [again(talk, *commit(25, generation_id=-1, member_id=""), 10, 5), beside()]


def concurrent_transactions_without_end() -> list[Talk]:
    """AddPartitionsToTxn is refused with CONCURRENT_TRANSACTIONS for a minute."""
    add = (24, 1, {"transactional_id": "bank", "producer_id": 4000, "producer_epoch": 3,
                   "topics": [{"name": "t", "partitions": [0]}]})  # fmt: skip
    row = {"partition_index": 0, "partition_error_code": 51}
    refused = {"throttle_time_ms": 0, "results_by_topic_v3_and_below": [
        {"name": "t", "results_by_partition": [row]}]}  # fmt: skip
    return [again(Talk("bank"), add, refused, 600, 0.1), beside()]


def leader_without_the_listener() -> list[Talk]:
    """Metadata has LISTENER_NOT_FOUND for the partition, again and again; nothing is written."""
    return [again(Talk("kafkajs"), *metadata(partition_error=72), 30, 1), beside()]


def policy_forbids_the_topic() -> list[Talk]:
    """CreateTopics is refused by the broker's policy, each two seconds."""
    topic = {"name": "orders", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    message = "Topic replication factor must be at least 3"
    refused = {
        "throttle_time_ms": 0,
        "topics": [{"name": "orders", "error_code": 44, "error_message": message}],
    }
    ask = (19, 3, {"topics": [topic], "timeout_ms": 30_000, "validate_only": False})
    return [again(Talk("topic-operator"), ask, refused, 15, 2), beside()]


def controller_is_never_found() -> list[Talk]:
    """CreateTopics to the node that Metadata calls the controller: NOT_CONTROLLER."""
    topic = {"name": "orders", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    refused = {"throttle_time_ms": 0, "topics": [{"name": "orders", "error_code": 41, "error_message": None}]}
    ask = (19, 3, {"topics": [topic], "timeout_ms": 30_000, "validate_only": False})
    return [both(Talk("admin"), [metadata(), (ask, refused)], 40, 0.5), beside()]


def large_packets_are_lost() -> list[Talk]:
    """Small requests are answered. A Produce of full packets is sent again, and never acknowledged."""
    found = []
    for number in range(3):
        talk = again(Talk("writer", 40000 + number, begins=1 + 20 * number), *metadata(), 1, 0.01)
        conversation = talk.talk
        payload = bytes(1400)
        for attempt in range(6):
            start = list(conversation._next)
            conversation.packet(CLIENT, b"\0\0\x2b\x00" + b"\0\0\0\x08\0\0\0\x63" + payload, PSH | ACK)
            conversation._next[:] = start
            conversation.wait(int(0.2 * 2**attempt * 1_000_000_000))
        conversation.fin(CLIENT)
        found.append(talk)
    return [*found, beside()]


def too_many_connections() -> list[Talk]:
    """The broker accepts and closes at once, before a byte."""
    found = []
    for number in range(12):
        talk = Talk("", 40000 + number, begins=1 + 2 * number)
        talk.talk.fin(BROKER).fin(CLIENT)
        found.append(talk)
    return [*found, beside()]


def disk_failed() -> list[Talk]:
    """Produce is refused with KAFKA_STORAGE_ERROR."""
    return [again(Talk("writer"), *produce(56, idempotent=False), 20, 1), beside()]


def worker_may_not_see_its_topic() -> list[Talk]:
    """Connect is refused for its topic of offsets, and ends."""
    talk = again(Talk("connect-1"), *metadata(error=29), 1, 0.1)
    talk.talk.fin(CLIENT).fin(BROKER)
    return [talk, beside()]


def zookeeper_is_no_broker() -> list[Talk]:
    """A client asks ZooKeeper's port for Metadata: it closes each connection without a byte."""
    found = []
    for number in range(6):
        talk = Talk("sarama", 40000 + number, "10.0.0.9", begins=1 + number).ask(3, 1, {"topics": []})
        talk.wait(0.01).talk.fin(BROKER).fin(CLIENT)
        found.append(talk)
    return [*found, beside()]


def request_is_larger_than_brokers_take() -> list[Talk]:
    """A Produce announces 200 MB. The broker closes at once, and the client comes back with it."""
    found = []
    for number in range(5):
        talk = again(Talk("import", 40000 + number, begins=1 + 5 * number), *metadata(), 1, 0.01)
        size = 200_000_000
        talk.talk.packet(
            CLIENT, size.to_bytes(4, "big") + b"\0\0\0\x08\0\0\0\x63\0\x06import" + bytes(1300), PSH | ACK
        )
        for _ in range(4):
            talk.talk.packet(CLIENT, bytes(1400), PSH | ACK)
        talk.talk.rst(BROKER)
        found.append(talk)
    return [*found, beside()]


def a_member_does_not_rejoin() -> list[Talk]:
    """A new member waits for two minutes: the other one sends heartbeats, and does not join again."""
    new = Talk("new", 40001, begins=5)
    new.ask(11, 5, {**_JOIN, "member_id": "m-2", "rebalance_timeout_ms": 120_000})
    old = Talk("old", 40000)
    old.ask(11, 5, {**_JOIN, "member_id": "m-1", "rebalance_timeout_ms": 120_000})
    members = [{"member_id": "m-1", "group_instance_id": None, "metadata": b""}]
    old.answer(11, 5, {**_GENERATION, "leader": "m-1", "member_id": "m-1", "members": members})
    assignment = b"\0\0" + b"\0\0\0\1" + b"\0\1t" + b"\0\0\0\1" + b"\0\0\0\0" + b"\xff\xff\xff\xff"
    old.ask(14, 3, {**_MEMBER, "group_instance_id": None,
                    "assignments": [{"member_id": "m-1", "assignment": assignment}]})  # fmt: skip
    old.answer(14, 3, {"throttle_time_ms": 0, "error_code": 0, "assignment": assignment}).wait(0.1)
    beat = (12, 3, {**_MEMBER, "group_instance_id": None})
    again(old, beat, {"throttle_time_ms": 0, "error_code": 0}, 5, 1)
    again(old, beat, {"throttle_time_ms": 0, "error_code": 27}, 120, 1)
    row = {**_GENERATION, "generation_id": 6, "leader": "m-2", "member_id": "m-2",
           "members": [{"member_id": "m-2", "group_instance_id": None, "metadata": b""}]}  # fmt: skip
    new.wait(120).answer(11, 5, row)
    new.ask(14, 3, {**_MEMBER, "generation_id": 6, "member_id": "m-2", "group_instance_id": None,
                    "assignments": [{"member_id": "m-2", "assignment": assignment}]})  # fmt: skip
    new.answer(14, 3, {"throttle_time_ms": 0, "error_code": 0, "assignment": assignment})
    return [old, new, beside()]


def heartbeats_take_long() -> list[Talk]:
    """The coordinator answers heartbeats after four seconds; everything else is prompt."""
    talk = Talk("reader")
    beat = (12, 3, {**_MEMBER, "group_instance_id": None})
    for _ in range(12):
        talk.ask(*beat).wait(4).answer(12, 3, {"throttle_time_ms": 0, "error_code": 0}).wait(1)
    writer = Talk("writer", 40001)
    for number in range(60):
        again(writer, *produce(0, number, offset=number), 1, 1)
    return [talk, writer]


REPORTS = (
    Report(
        f"{GITHUB}twmb/franz-go/issues/119",
        leader_epoch_goes_back,
        "requests-fail",
        ("UNKNOWN_LEADER_EPOCH", "kgo"),
    ),
    Report(f"{GITHUB}nisshi-io/nisshi/issues/668", fetches_hang, "requests-unanswered", ("Fetch", "reader")),
    Report(
        f"{GITHUB}confluentinc/librdkafka/issues/2944",
        coordinator_denies_itself,
        "coordinator-unavailable",
        ("rdkafka",),
    ),
    Report(
        f"{GITHUB}dpkp/kafka-python/issues/1310", no_coordinator, "coordinator-unavailable", ("kafka-python",)
    ),
    Report(
        f"{GITHUB}confluentinc/librdkafka/issues/2933",
        never_fetches_after_a_failed_commit,
        "stuck-consumer",
        ("reader",),
    ),
    Report(
        f"{GITHUB}spring-projects/spring-kafka/issues/1441",
        producer_id_unknown,
        "producer-forgotten",
        ("UNKNOWN_PRODUCER_ID", "streams"),
    ),
    Report(
        "https://kafka-options-explorer.conduktor.io/error/INVALID_PRODUCER_ID_MAPPING",
        producer_id_was_forgotten,
        "requests-fail",
        ("INVALID_PRODUCER_ID_MAPPING", "spring"),
    ),
    Report(
        "https://kafka-options-explorer.conduktor.io/error/GROUP_MAX_SIZE_REACHED",
        group_is_full,
        "requests-fail",
        ("GROUP_MAX_SIZE_REACHED", "one-more"),
    ),
    Report(
        "https://issues.apache.org/jira/browse/KAFKA-7610",
        session_timeout_out_of_bounds,
        "session-timeout-too-short",
        ("may not join", "app"),
    ),
    Report(
        f"{GITHUB}redpanda-data/redpanda/issues/22670",
        idle_producer_is_out_of_order,
        "producer-forgotten",
        ("OUT_OF_ORDER_SEQUENCE_NUMBER", "billing"),
    ),
    Report(
        f"{GITHUB}twmb/franz-go/issues/535",
        server_error_now_and_then,
        "requests-fail",
        ("UNKNOWN_SERVER_ERROR", "10 of 30"),
    ),
    Report(
        f"{GITHUB}zendesk/ruby-kafka/issues/420",
        offsets_out_of_range_again_and_again,
        "offset-reset",
        ("ruby",),
    ),
    Report(
        f"{GITHUB}dpkp/kafka-python/issues/2322",
        commits_with_much_metadata,
        "requests-fail",
        ("INVALID_COMMIT_OFFSET_SIZE",),
    ),
    Report(
        f"{GITHUB}confluentinc/confluent-kafka-dotnet/issues/1464",
        assigned_and_subscribed_with_one_group,
        "requests-fail",
        ("UNKNOWN_MEMBER_ID", "retry-topic"),
    ),
    Report(
        f"{GITHUB}apache/kafka/pull/21672",
        concurrent_transactions_without_end,
        "requests-fail",
        ("CONCURRENT_TRANSACTIONS", "bank"),
    ),
    Report(
        f"{GITHUB}tulios/kafkajs/issues/1042",
        leader_without_the_listener,
        "requests-fail",
        ("LISTENER_NOT_FOUND", "kafkajs"),
    ),
    Report(
        "https://cwiki.apache.org/confluence/display/KAFKA/KIP-108",
        policy_forbids_the_topic,
        "requests-fail",
        ("POLICY_VIOLATION", "replication factor must be"),
    ),
    Report(
        "https://issues.apache.org/jira/browse/KAFKA-14996",
        controller_is_never_found,
        "requests-fail",
        ("NOT_CONTROLLER", "admin"),
    ),
    Report(
        "https://how2.sh/posts/how-to-diagnose-mtu-black-holes-in-kubernetes-and-vpn-paths",
        large_packets_are_lost,
        "lossy-network",
        ("10.0.0.1",),
    ),
    Report(
        f"{GITHUB}danielqsj/kafka_exporter/issues/416", too_many_connections, "broker-closes", ("10.0.0.2",)
    ),
    Report(
        "https://kafka-options-explorer.conduktor.io/error/KAFKA_STORAGE_ERROR",
        disk_failed,
        "storage-error",
        ("writer",),
    ),
    Report(
        f"{GITHUB}apache/camel-kafka-connector/issues/1594",
        worker_may_not_see_its_topic,
        "topic-denied",
        ("connect-1",),
    ),
    Report(
        f"{GITHUB}IBM/sarama/issues/731",
        zookeeper_is_no_broker,
        "broker-closes",
        ("10.0.0.9", "sarama", "may be no broker"),
    ),
    Report(
        f"{GITHUB}redpanda-data/kminion/issues/32",
        request_is_larger_than_brokers_take,
        "broker-closes",
        ("import",),
    ),
    Report(f"{GITHUB}dpkp/kafka-python/issues/1418", a_member_does_not_rejoin, "slow-poll", ("old",)),
    Report(f"{GITHUB}dpkp/kafka-python/issues/2149", heartbeats_take_long, "slow-broker", ("Heartbeat",)),
)
