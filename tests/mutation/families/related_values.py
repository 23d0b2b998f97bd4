"""Mutators of fields that go together within a body, or with the request."""

import random
from collections.abc import Iterator
from typing import Any

from kdissect.decoders.generated.values import items
from kdissect.history.api_keys import API_VERSIONS, CREATE_TOPICS, DESCRIBE_QUORUM
from tests.mutation.corpus import side_of
from tests.mutation.families.histories import before, places
from tests.mutation.families.values_of_any_api import having
from tests.mutation.mutators import Mutant, changed, edits, mutator
from tests.support.messages.traffic import BROKER, CLIENT

HEARTBEATS = ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
PARTITIONED = ("Metadata", "DescribeTopicPartitions")
OFFSET_OUT_OF_RANGE, LEADER_NOT_AVAILABLE, FENCED_MEMBER_EPOCH = (
    1,
    5,
    110,
)  # org.apache.kafka.common.protocol.Errors


def _partition(value: Any, topics: str = "topics", rows: str = "partitions") -> Any:
    """Return the first partition without an error; None: there is none."""
    for topic in getattr(value, topics) or ():
        for row in getattr(topic, rows) or ():
            if not getattr(row, "error_code", 0) and not getattr(topic, "error_code", 0):
                return row
    return None


@edits("leader-not-in-sync", "MET009", "the leader of a partition is in sync", PARTITIONED, BROKER)
def _not_in_sync(value: Any, _: Any) -> bool:
    row = _partition(value)
    if row is None or row.leader_id not in row.isr_nodes:
        return False
    row.isr_nodes = [node for node in row.isr_nodes if node != row.leader_id]
    return True


@edits("leader-with-error", "MET010", "a partition without a leader names none", PARTITIONED, BROKER)
def _beside_error(value: Any, _: Any) -> bool:
    row = _partition(value)
    if row is None or row.leader_id < 0:
        return False
    row.error_code = LEADER_NOT_AVAILABLE
    return True


@edits("partition-number-too-high", "MET011", "Metadata lists all partitions", ("Metadata",), BROKER)
def _too_high(value: Any, _: Any) -> bool:
    row = _partition(value)
    if row is None:
        return False
    row.partition_index += 900
    return True


@edits("one-id-for-two", "MET012", "each topic has an id of its own", ("Metadata",), BROKER, range(10, 14))
def _one_id(value: Any, _: Any) -> bool:
    found = [topic for topic in value.topics if not topic.error_code and any(topic.topic_id) and topic.name]
    if len(found) < 2:
        return False
    found[1].topic_id = found[0].topic_id
    return True


@edits("port-too-high", "MET013", "a client can connect to a broker", ("Metadata", "DescribeCluster"), BROKER)
def _port(value: Any, _: Any) -> bool:
    if not value.brokers or getattr(value, "error_code", 0):
        return False
    value.brokers[0].port += 70_000
    return True


@edits(
    "later-epoch",
    "MET014",
    "no later epoch than asked for is answered",
    ("OffsetForLeaderEpoch",),
    BROKER,
)
def _later(value: Any, _: Any) -> bool:
    row = _partition(value)
    if row is None or not hasattr(row, "leader_epoch"):
        return False
    row.leader_epoch += 50
    return True


@edits("fetch-offset-negative", "FET026", "a Fetch asks for an offset of 0 or more", ("Fetch",))
def _negative(value: Any, _: Any) -> bool:
    row = _partition(value)
    if row is None:
        return False
    row.fetch_offset = -7
    return True


@edits("no-lock-time", "FET027", "acquired records have a time", ("ShareFetch",), BROKER, (1, 2))
def _no_time(value: Any, _: Any) -> bool:
    value.acquisition_lock_timeout_ms = 0
    return any(row.acquired_records for topic in value.responses for row in topic.partitions)


def _is_replica(asked: Any) -> bool:
    return getattr(getattr(asked, "replica_state", asked), "replica_id", -1) >= 0


@edits("no-high-watermark", "FET029", "records come with the high watermark", ("Fetch",), BROKER)
def _no_high(value: Any, asked: Any) -> bool:
    row = _partition(value, "responses")
    if row is None or not row.records or _is_replica(asked):
        return False
    row.high_watermark = -1
    return True


@edits("appended-below-start", "PRD014", "what is appended is in the log", ("Produce",), BROKER, range(5, 14))
def _below(value: Any, _: Any) -> bool:
    row = _partition(value, "responses", "partition_responses")
    if row is None or row.base_offset < 0:
        return False
    row.log_start_offset = row.base_offset + 9
    return True


@edits("leader-without-members", "GRP030", "the leader is told the members", ("JoinGroup",), BROKER)
def _no_members(value: Any, _: Any) -> bool:
    is_leader = not value.error_code and value.leader == value.member_id and bool(value.members)
    value.members = []
    return is_leader


@edits("member-assigned-twice", "GRP031", "a leader assigns to each member once", ("SyncGroup",))
def _twice(value: Any, _: Any) -> bool:
    value.assignments = [*value.assignments, *value.assignments[:1]]
    return bool(value.assignments)


@edits("no-heartbeat-interval", "GRP032", "a member is told when to heartbeat", HEARTBEATS, BROKER)
def _no_interval(value: Any, _: Any) -> bool:
    value.heartbeat_interval_ms = 0
    return not value.error_code and value.member_epoch > 0


@edits("fenced-at-join", "GRP033", "a member that joins is not fenced", HEARTBEATS, BROKER)
def _fenced(value: Any, asked: Any) -> bool:
    value.error_code = FENCED_MEMBER_EPOCH
    return bool(asked.member_epoch == 0)


@edits("zero-id-assigned", "GRP034", "topics that are assigned have an id", HEARTBEATS[:2], BROKER)
def _zero(value: Any, _: Any) -> bool:
    if value.assignment is None or not value.assignment.topic_partitions:
        return False
    value.assignment.topic_partitions[0].topic_id = bytes(16)
    return True


@edits("created-otherwise", "ADM017", "a topic is created as asked for", ("CreateTopics",), BROKER, (5, 6, 7))
def _otherwise(value: Any, asked: Any) -> bool:
    topic, made = asked.topics[0], value.topics[0]
    if made.error_code or made.num_partitions < 0 or (topic.num_partitions <= 0 and not topic.assignments):
        return False
    made.num_partitions += 50
    return True


@mutator("created-without-id", "ADM023", "a topic has an id")
def _without_id(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants at brokers whose APIs show that they have KRaft."""
    for _, scene in places(rng, CREATE_TOPICS, API_VERSIONS, oldest=7):
        body, asked, offers = (
            side_of(scene, BROKER),
            side_of(scene, CLIENT),
            before(scene, API_VERSIONS, BROKER),
        )
        if body is None or asked is None or asked.value().validate_only or not offers:
            continue
        value = body.value()
        row = next((topic for topic in value.topics if not topic.error_code), None)
        if row is not None and any(api.api_key == DESCRIBE_QUORUM for api in offers[-1].value().api_keys):
            row.topic_id = bytes(16)
            yield changed(body, body.encoded(value))


@edits(
    "created-twice",
    "ADM018",
    "a topic that stands twice is refused",
    ("CreateTopics",),
    found_at=BROKER,
)
def _created_twice(value: Any, answer: Any) -> bool:
    value.topics = [*value.topics, value.topics[0]]
    return any(row.name == value.topics[0].name and not row.error_code for row in answer.topics)


@edits("no-partitions-added", "ADM019", "a topic keeps partitions", ("CreatePartitions",))
def _none_added(value: Any, answer: Any) -> bool:
    value.topics[0].count = 0
    return not any(row.error_code for row in answer.results)


@edits("negative-log-size", "ADM020", "a log has a size", ("DescribeLogDirs",), BROKER)
def _log_size(value: Any, _: Any) -> bool:
    for result in value.results:
        row = None if result.error_code else _partition(result)
        if row is not None:
            row.partition_size = -5
            return True
    return False


@edits("deleted-less", "ADM021", "records are deleted up to the offset", ("DeleteRecords",), BROKER)
def _deleted_less(value: Any, asked: Any) -> bool:
    row, wanted = _partition(value), _partition(asked)
    if row is None or wanted.offset < 1:
        return False
    row.low_watermark = wanted.offset - 1
    return True


@edits("unknown-quorum-leader", "KRF005", "the quorum is led by a replica", ("DescribeQuorum",), BROKER)
def _quorum_leader(value: Any, _: Any) -> bool:
    row = _partition(value)
    if row is None:
        return False
    row.leader_id = 999
    return True


@edits("bad-feature-range", "VER021", "features have a range", ("ApiVersions",), BROKER, (3, 4, 5))
def _features(value: Any, _: Any) -> bool:
    if not value.supported_features:
        return False
    row = value.supported_features[0]
    row.min_version = row.max_version + 1
    return True


@edits(
    "fields-at-odds", "BDY030", "in-sync replicas are replicas, and ranges are not empty",
    ("LeaderAndIsr", "UpdateMetadata", "BrokerRegistration"),
)  # fmt: skip
def _fields_at_odds(value: Any, answered: Any) -> bool:
    if getattr(answered, "error_code", 0):
        return False  # a request that is refused as a whole changes nothing
    for of, name in having(value, "isr", "min_supported_version"):
        if name == "isr":
            of.isr = [*of.isr, 977]
        else:
            of.min_supported_version = of.max_supported_version + 1
        return True
    return False


@edits("other-member-joined", "GRP038", "a member that joins keeps its member id", ("JoinGroup",), BROKER)
def _other_joined(value: Any, asked: Any) -> bool:
    if value.error_code or not getattr(asked, "member_id", ""):
        return False
    value.member_id += "-other"
    return True


@edits(
    "other-protocol-answered", "GRP039", "a generation has one protocol", ("SyncGroup",), BROKER, range(5, 6)
)
def _other_protocol(value: Any, asked: Any) -> bool:
    if value.error_code or not value.protocol_name or not getattr(asked, "protocol_name", None):
        return False
    value.protocol_name += "-other"
    return True


@edits(
    "impossible-topic-name", "BDY032", "a topic has a legal name",
    ("Metadata", "ConsumerGroupDescribe", "ShareGroupDescribe", "DescribeTopicPartitions"), BROKER,
)  # fmt: skip
def _impossible_name(value: Any, _: Any) -> bool:
    return _of_topic(value, "name", "topic_name", put="a/b")


@edits(
    "described-without-id", "BDY033", "a topic has an id",
    ("ConsumerGroupDescribe", "ShareGroupDescribe", "DescribeTopicPartitions", "ShareFetch"), BROKER,
)  # fmt: skip
def _without_id(value: Any, _: Any) -> bool:
    return _of_topic(value, "topic_id", put=bytes(16))


def _of_topic(value: Any, *names: str, put: Any) -> bool:
    """Give a topic without an error another name or id."""
    if any(of.error_code for of, _ in having(value, "error_code")):
        return False
    found = [
        (of, name) for of, name in having(value, *names) if {"topic_id", "topic_name"} & set(vars_of(of))
    ]
    if not found or found[0][0].__class__.__name__.endswith("Response"):
        return False
    setattr(*found[0], put)
    return True


def vars_of(of: Any) -> list[str]:
    """Return names of the fields of a struct."""
    return [name for name, _ in items(of)]


FILTERED = ("ListGroups", "DescribeConfigs", "DescribeAcls", "DeleteAcls", "DescribeClientQuotas")


@edits(
    "outside-filter", "PAI017", "a response holds what the filter of its request selects", FILTERED, BROKER
)
def _outside(value: Any, asked: Any) -> bool:
    """Give an entry another type, key, principal or entity; return whether it has one."""
    if asked is None:
        return False
    if getattr(asked, "types_filter", None) and value.groups:
        value.groups[0].group_type = "other"
        return True
    for resource in getattr(asked, "resources", None) or ():
        for result in value.results if resource.configuration_keys else ():
            if result.resource_name == resource.resource_name and result.configs:
                result.configs[0].name = "no.such.key"
                return True
    filters = getattr(asked, "filters", None) or [asked]
    wanted = {getattr(one, "principal_filter", None) for one in filters}
    for of, name in having(value, "principal") if None not in wanted else ():
        setattr(of, name, "User:nobody-else")
        return True
    if any(one.match_type == 0 for one in getattr(asked, "components", None) or ()):
        for of, name in having(value, "entity_name"):
            setattr(of, name, "nobody-else")
            return True
    return False


FLAGGED = (
    "Metadata", "DescribeCluster", "DescribeGroups", "ConsumerGroupDescribe", "ShareGroupDescribe",
    "StreamsGroupDescribe", "DescribeConfigs",
)  # fmt: skip


@edits("not-asked-for", "PAI018", "a response leaves out what its request does not ask for", FLAGGED, BROKER)
def _not_asked(value: Any, asked: Any) -> bool:
    """Operations or documentation without the flag that asks for them."""
    unset = {name.removeprefix("include_") for name, flag in items(asked) if flag is False}
    for of, name in having(value, *unset) if not getattr(value, "error_code", 0) else ():
        if name.endswith("operations") or name == "documentation":
            setattr(of, name, 264 if name.endswith("operations") else "what it is for")
            return True
    return False


@edits(
    "refused-in-range",
    "FET032",
    "an offset within the log is not out of range",
    ("Fetch",),
    BROKER,
    range(7, 19),
)
def _in_range(value: Any, asked: Any) -> bool:
    first = asked.topics[0] if asked is not None and len(asked.topics or ()) == 1 else None
    row = _partition(value, "responses")
    if first is None or len(first.partitions) != 1 or row is None or value.error_code:
        return False
    if not 0 <= row.log_start_offset <= first.partitions[0].fetch_offset <= row.high_watermark:
        return False
    row.error_code, row.records = OFFSET_OUT_OF_RANGE, b""
    return True


@edits(
    "epoch-kept", "TXN013", "a producer that goes on has a higher epoch", ("EndTxn", "InitProducerId"),
    BROKER, range(3, 6),
)  # fmt: skip
def _epoch_kept(value: Any, asked: Any) -> bool:
    if asked is None or value.error_code or asked.producer_id < 0:
        return False
    if getattr(value, "producer_id", -1) != asked.producer_id:
        return False
    value.producer_epoch = asked.producer_epoch
    return True


@edits("shut-down-unasked", "KRF009", "a broker stops if it asks for that", ("BrokerHeartbeat",), BROKER)
def _unasked(value: Any, asked: Any) -> bool:
    if asked is None or value.error_code or asked.want_shut_down:
        return False
    value.should_shut_down = True
    return True


@edits("ahead-of-leader", "KRF010", "a leader has all of its log", ("DescribeQuorum",), BROKER)
def _ahead(value: Any, _: Any) -> bool:
    row = _partition(value)
    others = [] if row is None else [one for one in row.current_voters if one.replica_id != row.leader_id]
    if not others or len(others) == len(row.current_voters):
        return False
    others[0].log_end_offset = max(one.log_end_offset for one in row.current_voters) + 500
    return True


@edits("other-instance", "TEL007", "a client keeps its instance id", ("GetTelemetrySubscriptions",), BROKER)
def _other_instance(value: Any, asked: Any) -> bool:
    if asked is None or value.error_code:
        return False
    has_id = any(asked.client_instance_id)
    value.client_instance_id = bytes(range(16)) if has_id else bytes(16)
    return True
