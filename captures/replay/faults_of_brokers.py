"""What a broker answers wrong, sent to real clients: each fault by the code of its rule.

A fault is a change of one decoded answer. `story` is what the client does meanwhile (`clients.STORIES`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from captures.replay.proxy import Change
from kdissect.decoders.records.checksum import crc32c

_OFFSET_OUT_OF_RANGE, _LEADER_NOT_AVAILABLE, _NOT_LEADER, _REBALANCE, _FENCED_MEMBER_EPOCH = 1, 5, 6, 27, 110
_ZERO_ID = bytes(16)
_BATCH_LENGTH_END, _CHECKSUM_END = 12, 21  # spec/001 "5.3.1 Record Batch"


class BrokerFault(NamedTuple):
    """`change` is made in answers of `apis`, `times` times."""

    code: str
    says: str
    story: str
    apis: tuple[str, ...]
    change: Change
    times: int


FAULTS: list[BrokerFault] = []


def fault(code: str, says: str, story: str, *apis: str, times: int = 1) -> Callable[[Change], Change]:
    """Register a fault."""

    def register(change: Change) -> Change:
        FAULTS.append(BrokerFault(code, says, story, apis, change, times))
        return change

    return register


def _results(answer: Any) -> list[Any]:
    """Return the results of partitions in an answer, those of the last topic."""
    topics = (
        getattr(answer, "responses", None)
        or getattr(answer, "topics", None)
        or answer.results_by_topic_v3_and_below
    )
    if not topics:
        return []
    rows: list[Any] = next(
        getattr(topics[-1], name)
        for name in ("partition_responses", "partitions", "results_by_partition")
        if hasattr(topics[-1], name)
    )
    return rows


# what of an answer belongs to what of its request


def _without_last(answer: Any, _: Any) -> bool:
    rows = _results(answer)
    if not rows:
        return False
    rows.pop()
    return True


def _last_twice(answer: Any, _: Any) -> bool:
    rows = _results(answer)
    if not rows:
        return False
    rows.append(rows[-1])
    return True


def _of_a_stranger(answer: Any, _: Any) -> bool:
    rows = _results(answer)
    if not rows:
        return False
    name = next(name for name in ("index", "partition_index") if hasattr(rows[-1], name))
    setattr(rows[-1], name, getattr(rows[-1], name) + 77)
    return True


fault("PAI008", "Produce: the result of a partition is missing", "produce", "Produce")(_without_last)
fault("PAI008", "Produce: the result of a partition comes twice", "produce", "Produce")(_last_twice)
fault("PAI008", "Produce: the result is that of partition 77 or more", "produce", "Produce")(_of_a_stranger)
fault("PAI008", "OffsetFetch: the result of a partition is missing", "group", "OffsetFetch")(
    lambda answer, _: _groups_offset(answer)
)
fault("PAI008", "OffsetCommit: the result of a partition is missing", "group", "OffsetCommit")(_without_last)
fault("PAI008", "TxnOffsetCommit: the result of a partition is missing", "transactions", "TxnOffsetCommit")(
    _without_last
)


def _groups_offset(answer: Any) -> bool:
    rows = answer.groups[0].topics if hasattr(answer, "groups") else answer.topics
    if not rows:
        return False
    rows[-1].partitions.pop()
    return True


@fault("PAI009", "Metadata: the topic that was asked for is missing", "produce", "Metadata", times=3)
def _topic_missing(answer: Any, asked: Any) -> bool:
    if not asked.topics or not answer.topics:
        return False
    answer.topics.clear()
    return True


@fault("PAI009", "FindCoordinator: another key is answered", "group", "FindCoordinator")
def _other_key(answer: Any, _: Any) -> bool:
    if not getattr(answer, "coordinators", None):
        return False
    answer.coordinators[0].key += "-other"
    return True


@fault("PAI011", "Metadata: a partition stands twice", "produce", "Metadata", times=9)
def _partition_twice(answer: Any, _: Any) -> bool:
    if not answer.topics or not answer.topics[0].partitions:
        return False
    answer.topics[0].partitions.append(answer.topics[0].partitions[0])
    return True


@fault("PAI015", "Produce: the answer never comes, later answers do", "produce", "Produce")
def _never(_answer: Any, _asked: Any) -> bytes:
    return b""


@fault("PAI001", "Produce: the answer has another correlation id", "produce", "Produce")
def _other_correlation_id(_answer: Any, _asked: Any) -> bytes:
    return (4).to_bytes(4) + (123_456).to_bytes(4)


# producers


@fault("PRD011", "InitProducerId: producer id -1 without an error", "produce", "InitProducerId")
def _no_id(answer: Any, _: Any) -> bool:
    answer.producer_id = -1
    return True


@fault("PRD012", "Produce: the second batch is given the offset 0 again", "batches", "Produce", times=9)
def _offset_again(answer: Any, _: Any) -> bool:
    for row in _results(answer):
        row.base_offset = 0
    return True


# reading


def _rows(answer: Any) -> list[Any]:
    """Return partitions of a Fetch or ShareFetch that bring records."""
    return [row for topic in answer.responses for row in topic.partitions if row.records]


@fault("FET004", "Fetch: a partition that nobody asked for", "consume", "Fetch")
def _unasked(answer: Any, _: Any) -> bool:
    rows = _rows(answer)
    for row in rows[:1]:
        row.partition_index += 77
    return bool(rows)


@fault("PAI011", "Fetch: a partition is answered twice", "consume", "Fetch")
def _fetched_twice(answer: Any, _: Any) -> bool:
    for topic in answer.responses:
        for row in topic.partitions:
            if row.records:
                topic.partitions.append(row)
                return True
    return False


@fault("FET018", "Fetch: an error at the top with records", "consume", "Fetch")
def _failed_with_data(answer: Any, _: Any) -> bool:
    answer.error_code = -1
    return bool(_rows(answer))


@fault("FET019", "ShareFetch: NOT_LEADER_OR_FOLLOWER with records", "share", "ShareFetch")
@fault("FET019", "Fetch: NOT_LEADER_OR_FOLLOWER with records", "consume", "Fetch")
def _beside_error(answer: Any, _: Any) -> bool:
    rows = _rows(answer)
    for row in rows:
        row.error_code = _NOT_LEADER
    return bool(rows)


@fault("FET020", "Fetch: a preferred replica with records", "consume", "Fetch")
def _beside_replica(answer: Any, _: Any) -> bool:
    rows = _rows(answer)
    for row in rows:
        row.preferred_read_replica = 2
    return bool(rows)


@fault("FET021", "Fetch: aborted transactions for one who reads uncommitted records", "consume", "Fetch")
def _aborted(answer: Any, _: Any) -> bool:
    rows = _rows(answer)
    for row in rows:
        row.aborted_transactions = [{"producer_id": 1, "first_offset": 0}]
    return bool(rows)


@fault("FET022", "Fetch: the session id of another session", "linger", "Fetch")
def _other_session(answer: Any, asked: Any) -> bool:
    answer.session_id += 11
    return bool(asked.session_epoch > 0 and answer.session_id > 11)


@fault("FET025", "Fetch: a high watermark of 0 after one of 6", "linger", "Fetch", times=3)
def _high_watermark_back(answer: Any, asked: Any) -> bool:
    rows = [row for topic in answer.responses for row in topic.partitions]
    for row in rows:
        row.high_watermark = row.last_stable_offset = 0
    return bool(rows) and asked.session_epoch > 0


@fault("REC043", "Fetch: the second batch has leader epoch 0, the first 7", "consume", "Fetch")
def _epoch_back(answer: Any, _: Any) -> bool:
    rows = [row for row in _rows(answer) if len(row.records) > 12 + int.from_bytes(row.records[8:12])]
    for row in rows:
        row.records = bytes(row.records[:12]) + (7).to_bytes(4) + bytes(row.records[16:])
    return bool(rows)


@fault("REC044", "Fetch: batches of leader epoch 77", "consume", "Fetch")
def _epoch_beyond(answer: Any, asked: Any) -> bool:
    rows = [row for row in _rows(answer) if asked.topics]
    for row in rows:
        row.records = bytes(row.records[:12]) + (77).to_bytes(4) + bytes(row.records[16:])
    return bool(rows)


@fault("FET030", "Fetch: batches of leader epoch 77 in a fetch session", "linger", "Fetch")
def _epoch_beyond_session(answer: Any, asked: Any) -> bool:
    rows = [row for row in _rows(answer) if asked.session_epoch > 0 and not asked.topics]
    for row in rows:
        row.records = bytes(row.records[:12]) + (77).to_bytes(4) + bytes(row.records[16:])
    return bool(rows)


@fault("FET031", "Fetch: another value than was produced, with a right checksum", "read back", "Fetch")
def _other_value(answer: Any, _: Any) -> bool:
    rows = _rows(answer)
    for row in rows:
        data = bytearray(row.records)
        end = _BATCH_LENGTH_END + int.from_bytes(data[_BATCH_LENGTH_END - 4 : _BATCH_LENGTH_END])
        data[end - 2] ^= 1  # the last byte of the value, before the count of headers
        data[_CHECKSUM_END - 4 : _CHECKSUM_END] = crc32c(bytes(data[_CHECKSUM_END:end])).to_bytes(4)
        row.records = bytes(data)
    return bool(rows)


@fault("PAI016", "Fetch: a throttle time that is the wait for records", "linger", "Fetch", times=9)
def _throttled(answer: Any, asked: Any) -> bool:
    answer.throttle_time_ms = asked.max_wait_ms
    return not _rows(answer)


# groups


@fault("GRP019", "JoinGroup: generation -5", "group", "JoinGroup")
def _generation(answer: Any, _: Any) -> bool:
    answer.generation_id = -5
    return not answer.error_code


@fault("GRP020", "JoinGroup: the leader is no member", "group", "JoinGroup")
def _leader(answer: Any, _: Any) -> bool:
    answer.leader = "nobody"
    return not answer.error_code


@fault("GRP022", "SyncGroup: partition 77 instead of what the leader assigned", "group", "SyncGroup")
def _other_assignment(answer: Any, _: Any) -> bool:
    data = bytes(answer.assignment)
    if answer.error_code or not data:
        return False
    at = 6 + 2 + int.from_bytes(data[6:8]) + 4  # version, one topic, its name, count of its partitions
    answer.assignment = data[:at] + (77).to_bytes(4) + data[at + 4 :]
    return True


@fault("GRP024", "SyncGroup: an assignment of 5 noise bytes", "group", "SyncGroup")
def _noise(answer: Any, _: Any) -> bool:
    answer.assignment = b"\xff\xfe\xfd\xfc\xfb"
    return not answer.error_code


@fault("GRP026", "JoinGroup: the leader receives metadata that no member sent", "group", "JoinGroup")
def _other_metadata(answer: Any, _: Any) -> bool:
    for member in answer.members:
        data = bytes(member.metadata)  # version, count of topics, length of the first one's name, the name
        member.metadata = data[:8] + data[8:14][::-1] + data[14:]
    return bool(answer.members) and not answer.error_code


@fault("GRP029", "JoinGroup: joined without a member id", "group", "JoinGroup")
def _no_member_id(answer: Any, _: Any) -> bool:
    answer.member_id = ""
    return not answer.error_code


@fault("GRP029", "JoinGroup: REBALANCE_IN_PROGRESS with members", "group", "JoinGroup")
def _members_beside_error(answer: Any, _: Any) -> bool:
    answer.error_code = _REBALANCE
    return bool(answer.members)


@fault("GRP003", "JoinGroup: a protocol that the member did not offer", "group", "JoinGroup")
def _not_offered(answer: Any, _: Any) -> bool:
    answer.protocol_name = "nobodys"
    return not answer.error_code


@fault("GRP016", "ConsumerGroupHeartbeat: the id of another member", "modern group", "ConsumerGroupHeartbeat")
def _other_member(answer: Any, _: Any) -> bool:
    if not answer.member_id:
        return False
    answer.member_id = "CCCCCCCCCCCCCCCCCCCCCA"
    return True


@fault("GRP019", "ConsumerGroupHeartbeat: member epoch 0", "modern group", "ConsumerGroupHeartbeat")
def _epoch_0(answer: Any, _: Any) -> bool:
    answer.member_epoch = 0
    return not answer.error_code


# share groups


@fault("FET024", "ShareFetch: 500 offsets more are acquired than records came", "share", "ShareFetch")
def _acquired(answer: Any, _: Any) -> bool:
    for row in _rows(answer):
        for held in row.acquired_records[-1:]:
            held.last_offset += 500
            return True
    return False


@fault("PAI008", "ShareAcknowledge: the result of a partition is missing", "share", "ShareAcknowledge")
def _unacknowledged(answer: Any, asked: Any) -> bool:
    return bool(asked.topics) and _without_last(answer, asked)


# versions


@fault("VER007", "ApiVersions: Produce from version 9 to 5", "produce", "ApiVersions", times=9)
def _upside_down(answer: Any, _: Any) -> bool:
    for row in answer.api_keys:
        if row.api_key == 0:
            row.min_version, row.max_version = 9, 5
    return not answer.error_code


@fault("MET002", "Metadata: the leader of a partition is no broker", "produce", "Metadata", times=3)
def _unknown_leader(answer: Any, _: Any) -> bool:
    if not answer.topics or not answer.topics[0].partitions:
        return False
    for row in answer.topics[0].partitions:
        row.leader_id = 99
    return True


# numbers and sets


@fault("BDY028", "Produce: base offset -7", "produce", "Produce")
def _base_offset(answer: Any, _: Any) -> bool:
    for row in _results(answer):
        row.base_offset = -7
    return True


@fault("BDY028", "Fetch: high watermark -7", "consume", "Fetch")
def _high_watermark(answer: Any, _: Any) -> bool:
    rows = _rows(answer)
    for row in rows:
        row.high_watermark = -7
    return bool(rows)


@fault("MET008", "Metadata: a partition names a replica twice", "produce", "Metadata", times=9)
def _replica_twice(answer: Any, _: Any) -> bool:
    rows = [row for topic in answer.topics for row in topic.partitions]
    for row in rows:
        row.replica_nodes = [*row.replica_nodes, *row.replica_nodes]
    return bool(rows)


@fault("MET008", "Metadata: an offline replica that is no replica", "produce", "Metadata", times=9)
def _offline(answer: Any, _: Any) -> bool:
    rows = [row for topic in answer.topics for row in topic.partitions]
    for row in rows:
        row.offline_replicas = [4711]
    return bool(rows)


# one field, to a value that it cannot have


def sets(path: str, value: Any) -> Change:
    """Set a field of every struct at a path of names with dots, in responses without an error."""

    def change(answer: Any, _: Any) -> bool:
        *names, last = path.split(".")
        ends = [answer]
        for name in names:
            found = [getattr(end, name, None) for end in ends if not getattr(end, "error_code", 0)]
            ends = [one for each in found if each is not None for one in (each if _is_list(each) else [each])]
        ends = [end for end in ends if hasattr(end, last) and not getattr(end, "error_code", 0)]
        for end in ends:
            setattr(end, last, value)
        return bool(ends)

    return change


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


_IMPOSSIBLE = (
    # story, API, times, field
    ("produce", "Metadata", 9, "controller_id"),
    ("produce", "Metadata", 9, "topics.partitions.leader_epoch"),
    ("produce", "ApiVersions", 9, "finalized_features_epoch"),
    ("produce", "InitProducerId", 1, "producer_epoch"),
    ("produce", "Produce", 1, "responses.partition_responses.log_append_time_ms"),
    ("produce", "Produce", 1, "responses.partition_responses.log_start_offset"),
    ("consume", "ListOffsets", 1, "topics.partitions.offset"),
    ("consume", "ListOffsets", 1, "topics.partitions.leader_epoch"),
    ("consume", "ListOffsets", 1, "topics.partitions.timestamp"),
    ("consume", "Fetch", 1, "responses.partitions.last_stable_offset"),
    ("consume", "Fetch", 1, "responses.partitions.log_start_offset"),
    ("consume", "Fetch", 1, "responses.partitions.preferred_read_replica"),
    ("group", "OffsetFetch", 1, "groups.topics.partitions.committed_leader_epoch"),
    ("group", "FindCoordinator", 1, "coordinators.node_id"),
    ("share", "ShareFetch", 1, "responses.partitions.acquired_records.delivery_count"),
    ("topics", "CreateTopics", 9, "topics.replication_factor"),
    ("topics", "DeleteRecords", 1, "topics.partitions.low_watermark"),
    ("topics", "DescribeCluster", 9, "controller_id"),
    ("topics", "DescribeLogDirs", 9, "results.total_bytes"),
    ("topics", "DescribeLogDirs", 9, "results.topics.partitions.offset_lag"),
    ("topics", "DescribeTopicPartitions", 9, "topics.partitions.leader_epoch"),
    ("cluster", "DescribeQuorum", 1, "topics.partitions.high_watermark"),
    ("cluster", "DescribeQuorum", 1, "topics.partitions.leader_epoch"),
    ("cluster", "DescribeQuorum", 1, "topics.partitions.current_voters.log_end_offset"),
    ("cluster", "DescribeQuorum", 1, "topics.partitions.current_voters.last_fetch_timestamp"),
    ("cluster", "DescribeTransactions", 1, "transaction_states.producer_epoch"),
    ("cluster", "DescribeTransactions", 1, "transaction_states.transaction_start_time_ms"),
    ("cluster", "DescribeProducers", 1, "topics.partitions.active_producers.last_sequence"),
    ("cluster", "DescribeProducers", 1, "topics.partitions.active_producers.last_timestamp"),
    ("cluster", "ListTransactions", 1, "transaction_states.producer_id"),
)
for _story, _api, _times, _path in _IMPOSSIBLE:
    fault("BDY028", f"{_api}: {_path} -7", _story, _api, times=_times)(sets(_path, -7))

_SET = (
    # rule, what it says, story, API, times, field, value
    ("ADM017", "CreateTopics: 7 partitions were made, and others asked for", "topics", "CreateTopics", 9,
     "topics.num_partitions", 7),
    ("ADM020", "DescribeLogDirs: a log of -5 bytes", "topics", "DescribeLogDirs", 9,
     "results.topics.partitions.partition_size", -5),
    ("ADM021", "DeleteRecords: low watermark 0, where all before offset 1 was to be deleted", "topics",
     "DeleteRecords", 1, "topics.partitions.low_watermark", 0),
    ("BDY030", "DescribeLogDirs: more bytes are free than there are", "topics", "DescribeLogDirs", 9,
     "results.usable_bytes", 2**60),
    ("BDY030", "DescribeTopicPartitions: replica 4711 is offline, and no replica", "topics",
     "DescribeTopicPartitions", 9, "topics.partitions.offline_replicas", [4711]),
    ("BDY030", "DescribeTopicPartitions: replica 4711 may be elected, and is no replica", "topics",
     "DescribeTopicPartitions", 9, "topics.partitions.eligible_leader_replicas", [4711]),
    ("BDY030", "DescribeTopicPartitions: replica 4711 is in sync with the leader, and no replica", "topics",
     "DescribeTopicPartitions", 9, "topics.partitions.isr_nodes", [1, 4711]),
    ("FET027", "ShareFetch: records are acquired for 0 ms", "share", "ShareFetch", 1,
     "acquisition_lock_timeout_ms", 0),
    ("GRP030", "JoinGroup: the leader receives no members", "group", "JoinGroup", 1, "members", []),
    ("GRP032", "ConsumerGroupHeartbeat: an interval of 0 ms", "modern group", "ConsumerGroupHeartbeat", 1,
     "heartbeat_interval_ms", 0),
    ("GRP034", "ConsumerGroupHeartbeat: the zero id is assigned", "modern group", "ConsumerGroupHeartbeat", 1,
     "assignment.topic_partitions.topic_id", _ZERO_ID),
    ("KRF005", "DescribeQuorum: the leader is no replica", "cluster", "DescribeQuorum", 1,
     "topics.partitions.leader_id", 999),
    ("MET009", "DescribeTopicPartitions: the leader is not in sync", "topics", "DescribeTopicPartitions", 9,
     "topics.partitions.isr_nodes", []),
    ("MET009", "Metadata: the leader is not in sync", "produce", "Metadata", 9,
     "topics.partitions.isr_nodes", []),
    ("MET010", "DescribeTopicPartitions: LEADER_NOT_AVAILABLE with a leader", "topics",
     "DescribeTopicPartitions", 9, "topics.partitions.error_code", _LEADER_NOT_AVAILABLE),
    ("MET010", "Metadata: LEADER_NOT_AVAILABLE with a leader", "produce", "Metadata", 2,
     "topics.partitions.error_code", _LEADER_NOT_AVAILABLE),
    ("MET013", "DescribeCluster: a broker at an empty host", "topics", "DescribeCluster", 9,
     "brokers.host", ""),
    ("MET013", "FindCoordinator: a coordinator at an empty host", "group", "FindCoordinator", 1,
     "coordinators.host", ""),
    ("PRD014", "Produce: the log starts 50 offsets above what was appended", "produce", "Produce", 1,
     "responses.partition_responses.log_start_offset", 50),
    ("VER021", "ApiVersions: finalized features from level 2 to level 1", "produce", "ApiVersions", 9,
     "finalized_features.min_version_level", 99),
)  # fmt: skip
for _code, _says, _story, _api, _times, _path, _value in _SET:
    fault(_code, _says, _story, _api, times=_times)(sets(_path, _value))


# what goes together


@fault(
    "ADM022",
    "ListOffsets: a record that is 1000 s older than the time asked for",
    "topics",
    "ListOffsets",
    times=9,
)
def _earlier(answer: Any, asked: Any) -> bool:
    time = asked.topics[0].partitions[0].timestamp
    row = answer.topics[0].partitions[0]
    row.offset, row.timestamp = 0, time - 1_000_000
    return time > 0 and not row.error_code


@fault("ADM023", "CreateTopics: a topic is made with the zero id", "topics", "CreateTopics", times=9)
def _without_id(answer: Any, asked: Any) -> bool:
    for made in answer.topics:
        if not made.error_code:
            made.topic_id = _ZERO_ID
    return not asked.validate_only and not any(made.error_code for made in answer.topics)


@fault("FET029", "Fetch: high watermark -1 with records", "consume", "Fetch")
def _no_high_watermark(answer: Any, _: Any) -> bool:
    rows = _rows(answer)
    for row in rows:
        row.high_watermark = -1
    return bool(rows)


@fault(
    "GRP033",
    "ConsumerGroupHeartbeat: a member that joins is fenced",
    "modern group",
    "ConsumerGroupHeartbeat",
)
def _fenced_at_join(answer: Any, asked: Any) -> bool:
    answer.error_code = _FENCED_MEMBER_EPOCH
    return bool(asked.member_epoch == 0)


@fault("MET011", "Metadata: partitions 0 and 7", "produce", "Metadata", times=9)
def _gap_of_partitions(answer: Any, _: Any) -> bool:
    rows = [row for topic in answer.topics for row in topic.partitions if row.partition_index == 1]
    for row in rows:
        row.partition_index = 7
    return bool(rows)


@fault("MET015", "Metadata: the id of another cluster", "linger", "Metadata", times=9)
def _other_cluster(answer: Any, asked: Any) -> bool:
    answer.cluster_id = "".join(reversed(answer.cluster_id))
    return bool(asked.topics)


@fault("TXN013", "EndTxn: the epoch of the transaction that ends", "transactions", "EndTxn", times=9)
def _epoch_not_raised(answer: Any, asked: Any) -> bool:
    answer.producer_id, answer.producer_epoch = asked.producer_id, asked.producer_epoch
    return not answer.error_code


@fault("TEL007", "GetTelemetrySubscriptions: no instance id", "produce", "GetTelemetrySubscriptions", times=9)
def _no_instance(answer: Any, asked: Any) -> bool:
    answer.client_instance_id = _ZERO_ID
    return asked.client_instance_id == _ZERO_ID


@fault("FET032", "Fetch: an offset within the log is out of range", "consume", "Fetch")
def _out_of_range(answer: Any, _: Any) -> bool:
    rows = [row for topic in answer.responses for row in topic.partitions if row.high_watermark > 0]
    for row in rows:
        row.error_code, row.records = _OFFSET_OUT_OF_RANGE, None
    return bool(rows)
