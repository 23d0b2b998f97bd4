"""One table: the entries in each API's response that belong to entries in its request, their keys, and how
often they appear.

A path leads from the body to the entries of a list, level by level: `topics:name > partitions:index`. Behind
the colon stand the fields that are the key of an entry: `+` joins several, `|` takes the one that the version
has, `/` is either of two that name the same thing, `*` is the element itself. A level without a key counts
for nothing (`dirs > topics:name`); `#` is the place in the list, where names may come again. A field that is
an array is one value whatever its order. Of several paths those count whose fields the version has.

An error at the top of a response, or at a level above its last, covers all missing entries below it. That
follows from the schema, which knows the versions with an error there. A null list in a request asks for all.
"""

from enum import Enum
from typing import Any, NamedTuple

from kdissect.schema import protocol_messages
from kdissect.schema.types import NO_UPPER_BOUND, Array, Field, Message, Struct


class Owed(Enum):
    """The part of the requested entries that must come back. An entry without a request is never allowed."""

    EACH = "a result for each"
    ONE = "a result for one of them at least"
    ANY = "results for existing entries"


class Unless(NamedTuple):
    """When an answer may lack results without an error: what Apache Kafka does, and where it says so."""

    cite: str
    asked: str = ""
    """A field of the request that is neither null, 0 nor empty."""
    answered: str = ""
    """The same of the answer."""
    empty_until: int = -1
    """The answer has no result at all, up to this version."""


class Answer(NamedTuple):
    """Entries of a response that belong to entries of its request.

    `asked` and `answered` are paths. Without keys, entries belong together by their position, and their
    number must be equal to the request's. `once` are lists of the response no key of which may stand twice.
    `cite` says why less than each is owed, what an empty list asks for, and what sessions are answered.
    """

    asked: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()
    owed: Owed = Owed.EACH
    unless: tuple[Unless, ...] = ()
    once: tuple[str, ...] = ()
    cite: str = ""
    empty_asks_all_until: int = -1
    """An empty list asks for all, up to this version. A null list does in any."""
    beside_error: str = ""
    """Where Apache Kafka puts an entry that the request does not name, next to an error at the top."""
    session: str = ""
    """The field of the request with the epoch of a session whose partitions are answered too."""
    without_session: frozenset[int] = frozenset()
    """Its values with which a request names all partitions there are."""

    @property
    def is_of_partitions(self) -> bool:
        """Whether each result is that of a partition."""
        return any("partition" in path.rpartition(" > ")[2] for path in self.answered)


def _answer(asked: str | tuple[str, ...], answered: str | tuple[str, ...], **more: Any) -> Answer:
    def paths(of: str | tuple[str, ...]) -> tuple[str, ...]:
        return (of,) if isinstance(of, str) else of

    return Answer(paths(asked), paths(answered), **more)


_PARTITIONS = "topics:name > partitions:partition_index"
_QUORUM = "topics:topic_name > partitions:partition_index"
_BY_ID = "topics:topic_id|name > partitions:partition_index"
_STATE = ("topics:topic_id > partitions:partition", "results:topic_id > partitions:partition")
_RESOURCE = "resource_type+resource_name"
_ASSIGNED = ("assignment.topic_partitions:topic_id > partitions:*",)
_NOTHING = Answer()
"""No entry of the response belongs to one specific entry of the request."""

ANSWERS: dict[str, Answer] = {
    "Produce": _answer(
        "topic_data:topic_id|name > partition_data:index",
        "responses:topic_id|name > partition_responses:index",
        once=("node_endpoints:node_id",),
    ),
    "Fetch": _answer(
        "topics:topic_id|topic > partitions:partition",
        "responses:topic_id|topic > partitions:partition_index",
        unless=(
            Unless("org.apache.kafka.server.FetchContext#getThrottledResponse", answered="throttle_time_ms"),
            Unless("org.apache.kafka.raft.KafkaRaftClient#handleFetchRequest", empty_until=6),
        ),
        session="session_epoch", without_session=frozenset({-1, 0}), cite="KIP-227 Public Interfaces",
        once=("responses:topic_id|topic > partitions:partition_index", "node_endpoints:node_id"),
    ),
    "ListOffsets": _answer(_PARTITIONS, _PARTITIONS),
    "Metadata": _answer(
        "topics:name/topic_id", "topics:name/topic_id", empty_asks_all_until=0, cite="spec/000 Metadata API",
        once=("brokers:node_id", "topics:# > partitions:partition_index"),
    ),
    "LeaderAndIsr": _answer(
        (
            "ungrouped_partition_states:topic_name+partition_index",
            "topic_states:topic_id|topic_name > partition_states:partition_index",
        ),
        (
            "partition_errors:topic_name+partition_index",
            "topics:topic_id > partition_errors:partition_index",
        ),
    ),
    "StopReplica": _answer(
        (
            "ungrouped_partitions:topic_name+partition_index", "topics:name > partition_indexes:*",
            "topic_states:topic_name > partition_states:partition_index",
        ),
        "partition_errors:topic_name+partition_index",
    ),
    "UpdateMetadata": _NOTHING,
    "ControlledShutdown": Answer(once=("remaining_partitions:topic_name+partition_index",)),
    "OffsetCommit": _answer(_BY_ID, _BY_ID),
    "OffsetFetch": _answer(
        (
            "topics:name > partition_indexes:*",
            "groups:group_id > topics:topic_id|name > partition_indexes:*",
        ),
        (_PARTITIONS, "groups:group_id > topics:topic_id|name > partitions:partition_index"),
    ),
    "FindCoordinator": _answer("coordinator_keys:*", "coordinators:key"),
    "JoinGroup": Answer(once=("members:member_id", "members:group_instance_id")),
    "Heartbeat": _NOTHING,
    "LeaveGroup": _answer("members:member_id+group_instance_id", "members:member_id+group_instance_id"),
    "SyncGroup": _NOTHING,
    "DescribeGroups": _answer(
        "groups:*", "groups:group_id",
        once=("groups:# > members:member_id", "groups:# > members:group_instance_id"),
    ),
    "ListGroups": Answer(once=("groups:group_id",)),
    "SaslHandshake": _NOTHING,
    "ApiVersions": _NOTHING,  # each API once: VER007
    "CreateTopics": _answer("topics:name", "topics:name"),
    "DeleteTopics": _answer(("topic_names:*", "topics:name/topic_id"), "responses:name/topic_id"),
    "DeleteRecords": _answer(_PARTITIONS, _PARTITIONS),
    "InitProducerId": _NOTHING,
    "OffsetForLeaderEpoch": _answer(
        "topics:topic > partitions:partition", "topics:topic > partitions:partition"
    ),
    "AddPartitionsToTxn": _answer(
        (
            "v3_and_below_topics:name > partitions:*",
            "transactions:transactional_id > topics:name > partitions:*",
        ),
        (
            "results_by_topic_v3_and_below:name > results_by_partition:partition_index",
            "results_by_transaction:transactional_id > topic_results:name"
            " > results_by_partition:partition_index",
        ),
    ),
    "AddOffsetsToTxn": _NOTHING,
    "EndTxn": _NOTHING,
    "WriteTxnMarkers": _answer(
        "markers:producer_id > topics:name > partition_indexes:*",
        "markers:producer_id > topics:name > partitions:partition_index",
    ),
    "TxnOffsetCommit": _answer(_BY_ID, _BY_ID),
    "DescribeAcls": Answer(once=("resources:resource_type+resource_name+pattern_type",)),
    "CreateAcls": _answer("creations", "results"),
    "DeleteAcls": _answer("filters", "filter_results"),
    "DescribeConfigs": _answer(
        f"resources:{_RESOURCE}", f"results:{_RESOURCE}", once=("results:# > configs:name",)
    ),
    "AlterConfigs": _answer(f"resources:{_RESOURCE}", f"responses:{_RESOURCE}"),
    "AlterReplicaLogDirs": _answer(
        "dirs > topics:name > partitions:*", "results:topic_name > partitions:partition_index"
    ),
    "DescribeLogDirs": _answer(
        "topics:topic > partitions:*", "results > topics:name > partitions:partition_index",
        owed=Owed.ANY, cite="kafka.server.ReplicaManager#describeLogDirs",
        once=("results:log_dir", "results:# > topics:name > partitions:partition_index"),
    ),
    "SaslAuthenticate": _NOTHING,
    "CreatePartitions": _answer("topics:name", "results:name"),
    "CreateDelegationToken": _NOTHING,
    "RenewDelegationToken": _NOTHING,
    "ExpireDelegationToken": _NOTHING,
    "DescribeDelegationToken": Answer(once=("tokens:token_id",)),
    "DeleteGroups": _answer("groups_names:*", "results:group_id"),
    "ElectLeaders": _answer(
        "topic_partitions:topic > partitions:*",
        "replica_election_results:topic > partition_result:partition_id",
    ),
    "IncrementalAlterConfigs": _answer(f"resources:{_RESOURCE}", f"responses:{_RESOURCE}"),
    "AlterPartitionReassignments": _answer(_PARTITIONS, "responses:name > partitions:partition_index"),
    "ListPartitionReassignments": _answer(
        "topics:name > partition_indexes:*", _PARTITIONS,
        owed=Owed.ANY, cite="KIP-455 Public Interfaces", once=(_PARTITIONS,),
    ),
    "OffsetDelete": _answer(_PARTITIONS, _PARTITIONS),
    "DescribeClientQuotas": Answer(once=("entries:entity",)),
    "AlterClientQuotas": _answer("entries:entity", "entries:entity"),
    "DescribeUserScramCredentials": _answer(
        "users:name", "results:user", empty_asks_all_until=NO_UPPER_BOUND, cite="KIP-554 Public Interfaces",
        beside_error="org.apache.kafka.common.requests.DescribeUserScramCredentialsRequest#getErrorResponse",
        once=("results:# > credential_infos:mechanism",),
    ),
    "AlterUserScramCredentials": _answer(("deletions:name", "upsertions:name"), "results:user"),
    "Vote": _answer(_QUORUM, _QUORUM),
    "BeginQuorumEpoch": _answer(_QUORUM, _QUORUM),
    "EndQuorumEpoch": _answer(_QUORUM, _QUORUM),
    "DescribeQuorum": _answer(
        _QUORUM, _QUORUM,
        once=("nodes:node_id", "topics:# > partitions:# > current_voters:replica_id"),
    ),
    "AlterPartition": _answer(
        "topics:topic_id|topic_name > partitions:partition_index",
        "topics:topic_id|topic_name > partitions:partition_index",
    ),
    "UpdateFeatures": _answer("feature_updates:feature", "results:feature"),
    "Envelope": _NOTHING,
    "FetchSnapshot": _answer(
        "topics:name > partitions:partition", "topics:name > partitions:index",
        owed=Owed.ONE, cite="org.apache.kafka.raft.KafkaRaftClient#handleFetchSnapshotRequest",
    ),
    "DescribeCluster": Answer(once=("brokers:broker_id",)),
    "DescribeProducers": _answer(
        "topics:name > partition_indexes:*", _PARTITIONS,
        once=("topics:# > partitions:# > active_producers:producer_id",),
    ),
    "BrokerRegistration": _NOTHING,
    "BrokerHeartbeat": _NOTHING,
    "UnregisterBroker": _NOTHING,
    "DescribeTransactions": _answer(
        "transactional_ids:*", "transaction_states:transactional_id",
        once=("transaction_states:# > topics:topic > partitions:*",),
    ),
    "ListTransactions": _answer(
        "producer_id_filters:*", "transaction_states:producer_id",
        owed=Owed.ANY, cite="KIP-664 Public Interfaces", empty_asks_all_until=NO_UPPER_BOUND,
        once=("transaction_states:transactional_id",),
    ),
    "AllocateProducerIds": _NOTHING,
    "ConsumerGroupHeartbeat": Answer(once=_ASSIGNED),
    "ConsumerGroupDescribe": _answer(
        "group_ids:*", "groups:group_id",
        once=(
            "groups:# > members:member_id", "groups:# > members:instance_id",
            "groups:# > members > assignment.topic_partitions:topic_id > partitions:*",
        ),
    ),
    "ControllerRegistration": _NOTHING,
    "GetTelemetrySubscriptions": _NOTHING,
    "PushTelemetry": _NOTHING,
    "AssignReplicasToDirs": _answer(
        "directories:id > topics:topic_id > partitions:partition_index",
        "directories:id > topics:topic_id > partitions:partition_index",
    ),
    "ListConfigResources": _answer(
        "resource_types:*", "config_resources:resource_type",
        owed=Owed.ANY, cite="KIP-1142 Public Interfaces", empty_asks_all_until=NO_UPPER_BOUND,
        once=("config_resources:resource_type+resource_name",),
    ),
    "DescribeTopicPartitions": _answer(
        "topics:name", "topics:name", empty_asks_all_until=NO_UPPER_BOUND, cite="KIP-966 Public Interfaces",
        unless=(
            Unless("KIP-966 Public Interfaces", asked="cursor"),
            Unless("KIP-966 Public Interfaces", answered="next_cursor"),
        ),
        once=("topics:# > partitions:partition_index",),
    ),
    "ShareGroupHeartbeat": Answer(once=_ASSIGNED),
    "ShareGroupDescribe": _answer(
        "group_ids:*", "groups:group_id", once=("groups:# > members:member_id",)
    ),
    "ShareFetch": _answer(
        "topics:topic_id > partitions:partition_index", "responses:topic_id > partitions:partition_index",
        owed=Owed.ANY, cite="KIP-932 Public Interfaces",
        session="share_session_epoch", without_session=frozenset({0}),
        once=("responses:topic_id > partitions:partition_index", "node_endpoints:node_id"),
    ),
    "ShareAcknowledge": _answer(
        "topics:topic_id > partitions:partition_index", "responses:topic_id > partitions:partition_index",
        once=("node_endpoints:node_id",),
    ),
    "AddRaftVoter": _NOTHING,
    "RemoveRaftVoter": _NOTHING,
    "UpdateRaftVoter": _NOTHING,
    "InitializeShareGroupState": _answer(*_STATE),
    "ReadShareGroupState": _answer(*_STATE),
    "WriteShareGroupState": _answer(*_STATE),
    "DeleteShareGroupState": _answer(*_STATE),
    "ReadShareGroupStateSummary": _answer(*_STATE),
    "StreamsGroupHeartbeat": Answer(
        once=(
            "active_tasks:subtopology_id > partitions:*", "standby_tasks:subtopology_id > partitions:*",
            "warmup_tasks:subtopology_id > partitions:*",
        )
    ),
    "StreamsGroupDescribe": _answer(
        "group_ids:*", "groups:group_id",
        once=(
            "groups:# > members:member_id", "groups:# > members:instance_id",
            "groups:# > members > assignment.active_tasks:subtopology_id > partitions:*",
        ),
    ),
    "DescribeShareGroupOffsets": _answer(
        "groups:group_id > topics:topic_name > partitions:*",
        "groups:group_id > topics:topic_name > partitions:partition_index",
    ),
    "AlterShareGroupOffsets": _answer(
        _QUORUM, "responses:topic_name > partitions:partition_index",
        unless=(
            Unless(
                "org.apache.kafka.coordinator.group.GroupCoordinatorService#alterShareGroupOffsets",
                empty_until=0,
            ),
        ),
    ),
    "DeleteShareGroupOffsets": _answer(
        "topics:topic_name", "responses:topic_name",
        unless=(
            Unless(
                "org.apache.kafka.coordinator.group.GroupMetadataManager"
                "#sharePartitionsEligibleForOffsetDeletion",
                empty_until=0,
            ),
        ),
    ),
    "StreamsGroupTopologyDescriptionUpdate": _NOTHING,
    "UnregisterController": _NOTHING,
}  # fmt: skip


class KeyField(NamedTuple):
    """A field with keys, as a path from the root, and whether another one has the key if this one is null."""

    path: str
    has_other: bool


def key_fields(message: Message, version: int, *, is_once: bool = False) -> list[KeyField]:
    """Return the fields of a request or response with keys, either in lists that have each key once, or in
    compared lists.
    """
    api = protocol_messages.api(-1 if message.api_key is None else message.api_key)
    answer = _NOTHING if api is None else ANSWERS.get(api.name, _NOTHING)
    chosen = answer.once if is_once else answer.asked if api and message is api.request else answer.answered
    found = paths_in(message, version, chosen)
    columns = [column for levels in found for level in levels for column in level.key]
    return [
        KeyField(path, len(column.names) > 1)
        for column in columns
        for path in (column.paths if len(column.names) < 2 else column.paths[:1])
    ]


class Column(NamedTuple):
    """One part of a key: the field with its value, or two of which one has it. None: the element itself."""

    names: tuple[str, ...]
    paths: tuple[str, ...]
    """From the root: `.topics.name`."""


class Level(NamedTuple):
    """Entries of a list: the attributes that lead to it, the key of an entry."""

    attributes: tuple[str, ...]
    key: tuple[Column, ...]
    is_counted: bool
    """The place in the list is the key."""


Path = tuple[Level, ...]


def paths_in(message: Message, version: int, paths: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the paths whose fields the version has."""
    found = (_path(message, version, path) for path in paths)
    return tuple(path for path in found if path is not None)


def _path(message: Message, version: int, text: str) -> Path | None:
    levels: list[Level] = []
    here, at = message.root, ""
    for part in text.split(" > "):
        names, _, key = part.partition(":")
        attributes = tuple(names.split("."))
        field: Field | None = None
        for name in attributes:
            field = _field(here, version, name)
            if field is None:
                return None
            at = f"{at}.{name}"
            kind = field.type.element if isinstance(field.type, Array) else field.type
            here = kind if isinstance(kind, Struct) else here
        parts = [] if key in ("", "#") else [_column(here, version, one, at) for one in key.split("+")]
        known = tuple(column for column in parts if column is not None)
        if parts and not known:
            return None
        levels.append(Level(attributes, known, key == "#"))
    return tuple(levels)


def _column(of: Struct, version: int, text: str, at: str) -> Column | None:
    """Return the column of a key; None where the version has none."""
    if text == "*":
        return Column((), (at,))
    names = [name for name in text.replace("/", "|").split("|") if _field(of, version, name) is not None]
    names = names if "/" in text else names[:1]
    paths = tuple(path for name in names for path in _leaves(of, version, name, at))
    return Column(tuple(names), paths) if names else None


def _leaves(of: Struct, version: int, name: str, at: str) -> list[str]:
    field = _field(of, version, name)
    kind = None if field is None else field.type
    element = kind.element if isinstance(kind, Array) else kind
    here = f"{at}.{name}"
    if not isinstance(element, Struct):
        return [here]
    return [f"{here}.{inner.name}" for inner in element.fields if version in inner.versions]


def _field(of: Struct, version: int, name: str) -> Field | None:
    return next((field for field in of.fields if field.name == name and version in field.versions), None)
