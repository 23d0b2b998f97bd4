"""Mutators of the values of administrative APIs: topics, configs, ACLs, quotas, offsets."""

import copy
from typing import Any

from kdissect.decoders.generated.values import Value, present
from tests.mutation.mutators import Edit, edits
from tests.support.messages.traffic import BROKER

ENVELOPE = 58


def first(rows: Any, name: str) -> Any:
    """Return the first inner row of a list of lists, or None."""
    return next((row for of in rows or () for row in getattr(of, name) or ()), None)


def accepted(answer: Any, name: str) -> bool:
    """Return whether every result of an answer is without an error, and there is one."""
    codes = [row.error_code for row in getattr(answer, name, None) or ()]
    return bool(codes) and not any(codes)


def created(answer: Any) -> bool:
    """Return whether CreateTopics was answered without any error."""
    return accepted(answer, "topics")


# topics


@edits(
    "illegal-topic-name",
    "BDY026",
    "a broker refuses names of other signs, or longer than 249",
    ("CreateTopics",),
)
def _topic_name(value: Any, answer: Any) -> bool:
    value.topics[0].name += "/x"
    return created(answer)


@edits(
    "long-topic-name",
    "BDY026",
    "a broker refuses names of other signs, or longer than 249",
    ("CreateTopics",),
)
def _long_name(value: Any, answer: Any) -> bool:
    value.topics[0].name = "x" * 250
    return created(answer)


def _assignment(topic: Any, number: int, brokers: list[int]) -> dict[str, Any]:
    return {"partition_index": number, "broker_ids": brokers}


@edits("count-and-assignment", "ADM003", "a broker refuses assignments beside counts", ("CreateTopics",))
def _both(value: Any, answer: Any) -> bool:
    topic = value.topics[0]
    topic.assignments = [_assignment(topic, 0, [1])]
    return created(answer) and topic.num_partitions > 0


@edits(
    "default-count-too-early",
    "ADM004",
    "-1 for the broker's default needs v4",
    ("CreateTopics",),
    versions=range(4),
)
def _default_count(value: Any, answer: Any) -> bool:
    topic = value.topics[0]
    topic.num_partitions = -1
    return created(answer) and not topic.assignments


@edits("assignment-with-a-hole", "ADM005", "assignments number partitions from 0", ("CreateTopics",))
def _hole(value: Any, answer: Any) -> bool:
    topic = value.topics[0]
    topic.num_partitions = topic.replication_factor = -1
    topic.assignments = [_assignment(topic, 0, [1]), _assignment(topic, 2, [1])]
    return created(answer)


@edits("assignment-to-one-broker-twice", "ADM005", "assignments name a broker once", ("CreateTopics",))
def _broker_twice(value: Any, answer: Any) -> bool:
    topic = value.topics[0]
    topic.num_partitions = topic.replication_factor = -1
    topic.assignments = [_assignment(topic, 0, [1, 1])]
    return created(answer)


@edits("colliding-names", "ADM015", "topics do not differ in . and _ alone", ("CreateTopics",))
def _colliding(value: Any, answer: Any) -> bool:
    topic = value.topics[0]
    other = copy.copy(topic)
    topic.name, other.name = topic.name + ".a", topic.name + "_a"
    value.topics.append(other)
    return created(answer)


@edits(
    "neither-name-nor-id",
    "ADM006",
    "DeleteTopics v6 names a topic by name or id",
    ("DeleteTopics",),
    versions=(6,),
)
def _neither(value: Any, _: Any) -> bool:
    value.topics[0].name, value.topics[0].topic_id = None, bytes(16)
    return True


@edits(
    "name-and-id", "ADM006", "DeleteTopics v6 names a topic by name or id", ("DeleteTopics",), versions=(6,)
)
def _name_and_id(value: Any, _: Any) -> bool:
    value.topics[0].name, value.topics[0].topic_id = "t", bytes(range(16))
    return True


@edits("delete-offset-below-1", "ADM011", "the offset of DeleteRecords is -1 or more", ("DeleteRecords",))
def _delete_offset(value: Any, _: Any) -> bool:
    row = first(value.topics, "partitions")
    if row is not None:
        row.offset = -2
    return row is not None


# cluster and users


@edits("acl-with-any", "ADM007", "a broker refuses an ACL that is a filter", ("CreateAcls",))
def _acl(value: Any, answer: Any) -> bool:
    value.creations[0].operation = 1
    return accepted(answer, "results")


@edits("quota-without-match", "ADM008", "a match stands beside EXACT alone", ("DescribeClientQuotas",))
def _no_match(value: Any, _: Any) -> bool:
    for row in value.components[:1]:
        row.match_type, row.match = 0, None
    return bool(value.components)


@edits("quota-match-beside-any", "ADM008", "a match stands beside EXACT alone", ("DescribeClientQuotas",))
def _odd_match(value: Any, _: Any) -> bool:
    for row in value.components[:1]:
        row.match_type, row.match = 2, "u"
    return bool(value.components)


@edits(
    "few-iterations",
    "ADM009",
    "a broker refuses SCRAM of 4095 iterations or less",
    ("AlterUserScramCredentials",),
)
def _iterations(value: Any, answer: Any) -> bool:
    for row in value.upsertions[:1]:
        row.iterations = 100
    return bool(value.upsertions) and accepted(answer, "results")


@edits("no-salt", "ADM009", "a broker refuses SCRAM without a salt", ("AlterUserScramCredentials",))
def _salt(value: Any, answer: Any) -> bool:
    for row in value.upsertions[:1]:
        row.salt = b""
    return bool(value.upsertions) and accepted(answer, "results")


@edits("config-twice", "ADM010", "a broker refuses a key that stands twice", ("IncrementalAlterConfigs",))
def _config_twice(value: Any, answer: Any) -> bool:
    configs = value.resources[0].configs
    if configs:
        configs.append(configs[0])
    return bool(configs) and accepted(answer, "responses")


@edits(
    "config-without-value",
    "ADM010",
    "a broker refuses null unless a key is deleted",
    ("IncrementalAlterConfigs",),
)
def _config_null(value: Any, answer: Any) -> bool:
    for row in value.resources[0].configs[:1]:
        row.config_operation, row.value = 0, None
    return bool(value.resources[0].configs) and accepted(answer, "responses")


@edits(
    "election-type-2",
    "ADM012",
    "an election is preferred (0) or unclean (1)",
    ("ElectLeaders",),
    versions=(1, 2),
)
def _election(value: Any, _: Any) -> bool:
    value.election_type = 2
    return True


@edits("envelope-in-envelope", "ADM014", "an envelope holds no envelope", ("Envelope",))
def _envelope(value: Any, _: Any) -> bool:
    value.request_data = ENVELOPE.to_bytes(2) + bytes(value.request_data[2:])
    return True


# offsets


@edits(
    "special-time-too-early", "ADM001", "-3 needs ListOffsets v7, -4 v8", ("ListOffsets",), versions=range(7)
)
def _special_time(value: Any, _: Any) -> bool:
    row = first(value.topics, "partitions")
    if row is not None:
        row.timestamp = -3
    return row is not None


@edits("special-time-unknown", "ADM001", "special times are -1 to -6", ("ListOffsets",))
def _unknown_time(value: Any, _: Any) -> bool:
    row = first(value.topics, "partitions")
    if row is not None:
        row.timestamp = -40
    return row is not None


@edits(
    "too-many-old-offsets",
    "ADM002",
    "ListOffsets v0 answers max_num_offsets at most",
    ("ListOffsets",),
    BROKER,
    (0,),
)
def _old_offsets(value: Any, asked: Any) -> bool:
    row, limit = first(value.topics, "partitions"), first(asked.topics, "partitions").max_num_offsets
    row.old_style_offsets = list(range(limit + 1, 0, -1))
    return limit < 100


@edits("commit-below-1", "GRP008", "a committed offset is -1 or more", ("OffsetCommit", "TxnOffsetCommit"))
def _commit(value: Any, _: Any) -> bool:
    row = first(value.topics, "partitions")
    if row is not None:
        row.committed_offset = -5
    return row is not None


@edits(
    "commit-with-a-novel",
    "GRP008",
    "the metadata of a commit has 4096 bytes at most",
    ("OffsetCommit", "TxnOffsetCommit"),
)
def _novel(value: Any, _: Any) -> bool:
    row = first(value.topics, "partitions")
    if row is not None:
        row.committed_metadata = "x" * 4097
    return row is not None


# numbers


def _first_of(value: Any, name: str) -> Any:
    """Return the first struct below that has a field, and no error."""
    for _, _, item in present(value):
        rows = item if isinstance(item, list) else [item]
        for row in rows:
            if isinstance(row, Value):
                if hasattr(row, name) and not getattr(row, "error_code", 0):
                    return row
                found = _first_of(row, name)
                if found is not None:
                    return found
    return None


BELOW = {
    "base_offset": ("Produce",),
    "high_watermark": ("Fetch",),
    "offset": ("ListOffsets",),
    "leader_id": ("Metadata",),
    "port": ("Metadata", "DescribeCluster"),
    "low_watermark": ("DeleteRecords",),
}


def _below(name: str) -> Edit:
    def edit(value: Any, _: Any) -> bool:
        row = _first_of(value, name)
        if row is not None:
            setattr(row, name, -7)
        return row is not None

    return edit


for _name, _apis in BELOW.items():
    _says = f"{_name} is counted from 0"
    edits(f"{_name.replace('_', '-')}-below-all", "BDY028", _says, _apis, BROKER)(_below(_name))


@edits(
    "heartbeat-interval-negative", "BDY028", "an interval is not negative",
    ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"), BROKER,
)  # fmt: skip
def _interval(value: Any, _: Any) -> bool:
    value.heartbeat_interval_ms = -1
    return not value.error_code


@edits("replica-twice", "MET008", "a partition has one replica on a broker", ("Metadata",), BROKER)
def _replica_twice(value: Any, _: Any) -> bool:
    row = _first_of(value, "replica_nodes")
    if row is None or not row.replica_nodes:
        return False
    row.replica_nodes = [*row.replica_nodes, row.replica_nodes[0]]
    return True


@edits("offline-not-replica", "MET008", "offline replicas are replicas", ("Metadata",), BROKER, range(5, 14))
def _offline(value: Any, _: Any) -> bool:
    row = _first_of(value, "offline_replicas")
    if row is not None:
        row.offline_replicas = [*row.offline_replicas, 4711]
    return row is not None


@edits("topic-without-partitions", "ADM016", "a broker refuses a topic of no partitions", ("CreateTopics",))
def _no_partitions(value: Any, answer: Any) -> bool:
    value.topics[0].num_partitions = 0
    return created(answer) and not value.topics[0].assignments


@edits("topic-without-replicas", "ADM016", "a broker refuses a topic of no replicas", ("CreateTopics",))
def _no_replicas(value: Any, answer: Any) -> bool:
    value.topics[0].replication_factor = 0
    return created(answer) and not value.topics[0].assignments


@edits("accepted-not-listed", "SAS015", "what is accepted is listed", ("SaslHandshake",), BROKER)
def _not_listed(value: Any, asked: Any) -> bool:
    value.mechanisms = [name for name in value.mechanisms if name != asked.mechanism] or ["OTHER"]
    return not value.error_code
