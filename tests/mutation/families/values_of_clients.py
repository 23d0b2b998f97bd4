"""Mutators of the values of APIs of producers and consumers: metadata, records, fetches, shares, groups."""

from typing import Any

from tests.mutation.families.values_of_apis import first
from tests.mutation.mutators import edits
from tests.support.messages.traffic import BROKER

# metadata


@edits("null-name-too-early", "MET001", "Metadata v10 and v11 name topics", ("Metadata",), versions=(10, 11))
def _null_name(value: Any, _: Any) -> bool:
    for topic in (value.topics or ())[:1]:
        topic.name = None
    return bool(value.topics)


@edits("topic-id-too-early", "MET001", "Metadata v10 and v11 name topics", ("Metadata",), versions=(10, 11))
def _early_id(value: Any, _: Any) -> bool:
    for topic in (value.topics or ())[:1]:
        topic.topic_id = bytes(range(16))
    return bool(value.topics)


def _led(value: Any) -> Any:
    """Return the first partition that has a leader and no error."""
    rows = [row for topic in value.topics if not topic.error_code for row in topic.partitions]
    return next((row for row in rows if not row.error_code and row.leader_id >= 0), None)


@edits("leader-not-listed", "MET002", "the leader of a partition is among the brokers", ("Metadata",), BROKER)
def _no_leader(value: Any, _: Any) -> bool:
    row = _led(value)
    if row is not None:
        value.brokers = [broker for broker in value.brokers if broker.node_id != row.leader_id]
    return row is not None


@edits("isr-not-replicas", "MET003", "in-sync replicas are replicas", ("Metadata",), BROKER)
def _isr(value: Any, _: Any) -> bool:
    row = _led(value)
    if row is not None:
        row.isr_nodes.append(77)
    return row is not None


@edits("leader-not-replica", "MET003", "the leader is a replica", ("Metadata",), BROKER)
def _replicas(value: Any, _: Any) -> bool:
    row = _led(value)
    if row is not None:
        row.replica_nodes = [77]
        row.isr_nodes = []
    return row is not None


@edits("zero-id-answered", "MET004", "Metadata v10 gives topics an id", ("Metadata",), BROKER, range(10, 14))
def _zero_id(value: Any, _: Any) -> bool:
    for topic in value.topics:
        if not topic.error_code and any(topic.topic_id):
            topic.topic_id = bytes(16)
            return True
    return False


# produce


@edits("acks-2", "PRD001", "acks is -1, 0 or 1", ("Produce",))
def _acks(value: Any, _: Any) -> bool:
    value.acks = 2
    return True


@edits(
    "no-records",
    "PRD002",
    "a partition of Produce v3 holds a record batch",
    ("Produce",),
    versions=range(3, 14),
)
def _no_records(value: Any, _: Any) -> bool:
    row = first(value.topic_data, "partition_data")
    if row is not None:
        row.records = b""
    return row is not None


@edits(
    "null-records",
    "PRD002",
    "a partition of Produce v3 holds a record batch",
    ("Produce",),
    versions=range(3, 14),
)
def _null_records(value: Any, _: Any) -> bool:
    row = first(value.topic_data, "partition_data")
    if row is not None:
        row.records = None
    return row is not None


# fetch


@edits(
    "increment-without-session",
    "FET001",
    "an incremental fetch names a session",
    ("Fetch",),
    versions=range(7, 19),
)
def _increment(value: Any, _: Any) -> bool:
    value.session_id, value.session_epoch = 0, 3
    return True


@edits(
    "forgotten-in-full-fetch", "FET002", "a full fetch forgets no topics", ("Fetch",), versions=range(7, 19)
)
def _forgotten(value: Any, _: Any) -> bool:
    value.forgotten_topics_data = [{"topic": "t", "topic_id": bytes(range(16)), "partitions": [0]}]
    return bool(value.session_epoch <= 0)


@edits("min-bytes-above-max", "FET003", "max_bytes is min_bytes at least", ("Fetch",), versions=range(3, 19))
def _limits(value: Any, _: Any) -> bool:
    value.min_bytes, value.max_bytes = 1000, 100
    return True


@edits("min-bytes-negative", "FET003", "min_bytes is 0 or more", ("Fetch",))
def _least(value: Any, _: Any) -> bool:
    value.min_bytes = -1
    return True


@edits("partition-limit-negative", "FET003", "partition_max_bytes is 0 or more", ("Fetch",))
def _partition_limit(value: Any, _: Any) -> bool:
    row = first(value.topics, "partitions")
    if row is not None:
        row.partition_max_bytes = -1
    return row is not None


@edits(
    "partition-not-asked-for", "FET004", "a full fetch is answered with what it asked for", ("Fetch",), BROKER
)
def _stranger(value: Any, asked: Any) -> bool:
    row = first(value.responses, "partitions")
    if row is not None:
        row.partition_index += 77
    return row is not None and getattr(asked, "session_epoch", -1) <= 0


@edits(
    "high-watermark-too-low",
    "FET005",
    "log start and last stable offset are below the high watermark",
    ("Fetch",),
    BROKER,
    range(4, 19),
)
def _watermark(value: Any, _: Any) -> bool:
    row = first(value.responses, "partitions")
    if row is None or row.error_code or row.high_watermark < 0:
        return False
    row.last_stable_offset = row.high_watermark + 5
    return True


@edits(
    "aborted-out-of-order",
    "FET006",
    "aborted transactions stand in the order of their offsets",
    ("Fetch",),
    BROKER,
    range(4, 19),
)
def _aborted(value: Any, _: Any) -> bool:
    row = first(value.responses, "partitions")
    if row is not None:
        row.aborted_transactions = [
            {"producer_id": 1, "first_offset": 10},
            {"producer_id": 2, "first_offset": 4},
        ]
    return row is not None


# share


def _batch(start: int, end: int, *types: int) -> dict[str, Any]:
    return {"first_offset": start, "last_offset": end, "acknowledge_types": list(types)}


def _acknowledging(value: Any, *batches: dict[str, Any]) -> bool:
    row = first(value.topics, "partitions")
    if row is not None:
        row.acknowledgement_batches = list(batches)
    return row is not None and value.share_session_epoch > 0


SHARING = ("ShareFetch", "ShareAcknowledge")


@edits("acknowledgements-descend", "FET009", "acknowledgement batches ascend", SHARING)
def _descending(value: Any, _: Any) -> bool:
    return _acknowledging(value, _batch(5, 9, 1), _batch(0, 4, 1))


@edits("acknowledgements-overlap", "FET009", "acknowledgement batches do not overlap", SHARING)
def _overlapping(value: Any, _: Any) -> bool:
    return _acknowledging(value, _batch(0, 5, 1), _batch(5, 6, 1))


@edits("acknowledge-types-too-few", "FET009", "there is one type, or one for each offset", SHARING)
def _types(value: Any, _: Any) -> bool:
    return _acknowledging(value, _batch(0, 5, 1, 1))


@edits("renew-without-flag", "FET010", "RENEW needs is_renew_ack", SHARING)
def _renew(value: Any, _: Any) -> bool:
    if hasattr(value, "is_renew_ack"):
        value.is_renew_ack = False
    return _acknowledging(value, _batch(0, 5, 4))


@edits("acquired-upside-down", "FET011", "acquired ranges ascend", ("ShareFetch",), BROKER)
def _acquired(value: Any, _: Any) -> bool:
    row = first(value.responses, "partitions")
    if row is not None:
        row.acquired_records = [{"first_offset": 5, "last_offset": 3, "delivery_count": 1}]
    return row is not None


@edits("delivered-never", "FET011", "acquired records were delivered once at least", ("ShareFetch",), BROKER)
def _delivered(value: Any, _: Any) -> bool:
    row = first(value.responses, "partitions")
    if row is not None:
        row.acquired_records = [{"first_offset": 0, "last_offset": 3, "delivery_count": 0}]
    return row is not None


# groups


HEARTBEATS = ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat")


@edits(
    "empty-group-id",
    "GRP001",
    "a group has a name",
    ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", *HEARTBEATS),
)
def _group_id(value: Any, _: Any) -> bool:
    value.group_id = ""
    return True


@edits(
    "member-id-required-too-early",
    "GRP002",
    "MEMBER_ID_REQUIRED needs JoinGroup v4",
    ("JoinGroup",),
    BROKER,
    range(4),
)
def _required(value: Any, _: Any) -> bool:
    value.error_code = 79
    return True


@edits(
    "protocol-not-offered",
    "GRP003",
    "a generation's protocol is one the member offered",
    ("JoinGroup",),
    BROKER,
)
def _protocol(value: Any, _: Any) -> bool:
    value.protocol_name = "sticky-2"
    return not value.error_code


@edits("epoch-0-told", "GRP019", "a member is told epoch 1 or more", ("ConsumerGroupHeartbeat",), BROKER)
def _epoch_0(value: Any, asked: Any) -> bool:
    value.member_epoch = 0
    return not value.error_code and asked is not None and asked.member_epoch >= 0


@edits("negative-generation-told", "GRP019", "a generation is not negative", ("JoinGroup",), BROKER)
def _negative_generation(value: Any, _: Any) -> bool:
    value.generation_id = -7
    return not value.error_code


@edits("leader-of-no-member", "GRP020", "a generation is led by one of its members", ("JoinGroup",), BROKER)
def _strange_leader(value: Any, _: Any) -> bool:
    value.leader = "nobody"
    return bool(value.members)


@edits("fetch-failed-with-data", "FET018", "a fetch that failed brings no data", ("Fetch",), BROKER)
def _failed_with_data(value: Any, _: Any) -> bool:
    if not hasattr(value, "error_code"):
        return False
    value.error_code = 70  # FETCH_SESSION_ID_NOT_FOUND
    return any(not row.error_code for topic in value.responses for row in topic.partitions)


@edits("join-without-timeout", "GRP004", "a member joins with its timeout", ("ConsumerGroupHeartbeat",))
def _no_timeout(value: Any, _: Any) -> bool:
    value.rebalance_timeout_ms = -1
    return bool(value.member_epoch == 0)


@edits(
    "join-without-subscription", "GRP004", "a member joins with its subscription", ("ConsumerGroupHeartbeat",)
)
def _no_topics(value: Any, _: Any) -> bool:
    value.subscribed_topic_names = None
    return bool(value.member_epoch == 0) and getattr(value, "subscribed_topic_regex", None) is None


@edits("join-with-partitions", "GRP004", "a member joins without partitions", ("ConsumerGroupHeartbeat",))
def _partitions(value: Any, _: Any) -> bool:
    value.topic_partitions = [{"topic_id": bytes(range(16)), "partitions": [0]}]
    return bool(value.member_epoch == 0)


@edits("no-member-id", "GRP005", "a member makes up its own id", HEARTBEATS, versions=(1,))
def _member_id(value: Any, _: Any) -> bool:
    value.member_id = ""
    return True


@edits(
    "static-leave-without-instance", "GRP006", "epoch -2 needs an instance id", ("ConsumerGroupHeartbeat",)
)
def _static(value: Any, _: Any) -> bool:
    value.member_epoch, value.instance_id = -2, None
    return True


@edits("share-join-without-topics", "GRP007", "a share member joins with topics", ("ShareGroupHeartbeat",))
def _share_join(value: Any, _: Any) -> bool:
    value.member_epoch, value.subscribed_topic_names = 0, None
    return True


@edits("share-epoch-below-1", "GRP007", "the epoch of a share member is -1 or more", ("ShareGroupHeartbeat",))
def _share_epoch(value: Any, _: Any) -> bool:
    value.member_epoch = -3
    return True


@edits("no-subscription", "GRP009", "a consumer's metadata is a subscription", ("JoinGroup",))
def _subscription(value: Any, _: Any) -> bool:
    for protocol in value.protocols[:1]:
        protocol.metadata = b"\0\1"
    return bool(value.protocols) and value.protocol_type == "consumer"


# transactions


@edits("transaction-timeout-0", "TXN001", "a transaction's timeout is more than 0", ("InitProducerId",))
def _timeout(value: Any, _: Any) -> bool:
    value.transaction_timeout_ms = 0
    return value.transactional_id is not None


@edits("transactional-id-empty", "TXN002", "a transactional id is null or a name", ("InitProducerId",))
def _empty_id(value: Any, _: Any) -> bool:
    value.transactional_id = ""
    return True
