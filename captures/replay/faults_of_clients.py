"""What a client does wrong, sent to a real broker: each fault by the code of its rule."""

import struct
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from captures.record.spec import USERS
from captures.replay.raw_client import RawClient, RefusedError, answered, batch
from captures.replay.tape import Tape
from kdissect.decoders.generated.values import Value, items

SUBSCRIPTION = struct.pack(">hih", 0, 1, 6) + b"played" + struct.pack(">i", -1)
_MINUTE_MS = 60_000
_NOT_LEADER, _CONCURRENT = 6, 51
_NOT_YET = (_NOT_LEADER, 14, 15, 16)  # the leader or the coordinator does not know yet that it is
_PATIENCE, _PAUSE_SECONDS = 20, 0.1


class Room(NamedTuple):
    """Where faults are played: a connection of its own, the topic with its id, and a name nobody used.

    Connections that a fault makes besides go onto the same tape.
    """

    client: RawClient
    sasl: str
    topic: str
    topic_id: bytes
    name: str
    tape: Tape


Play = Callable[[Room], str]


class ClientFault(NamedTuple):
    """`play` sends it, and says what the broker did. `owed_refusal`: the rule is that a broker refuses it.

    `check` is silent then where the broker does.
    """

    code: str
    says: str
    play: Play
    owed_refusal: bool


FAULTS: list[ClientFault] = []


def fault(code: str, says: str, *, owed_refusal: bool = False) -> Callable[[Play], Play]:
    """Register a fault."""

    def register(play: Play) -> Play:
        FAULTS.append(ClientFault(code, says, play, owed_refusal))
        return play

    return register


def played(play: Play, room: Room) -> str:
    """Return what the broker did; a connection that ends, or silence, is one of the things it may do."""
    try:
        return play(room)
    except RefusedError as refused:
        return str(refused)


# frames


def _api_versions(room: Room) -> bytes:
    return room.client.frame("ApiVersions", 3, client_software_name="replay", client_software_version="1")


def _with_size(data: bytes, more: int) -> bytes:
    return struct.pack(">i", len(data) - 4 + more) + data[4:]


@fault("FRM007", "ApiVersions v3 whose size counts its own 4 bytes, and Metadata v9 after it")
def _counts_itself(room: Room) -> str:
    room.client.send(_with_size(_api_versions(room), 4))
    return _answers_of_two(room)


@fault("FRM008", "ApiVersions v3 whose size is 1 too large, and Metadata v9 after it")
def _one_too_large(room: Room) -> str:
    room.client.send(_with_size(_api_versions(room), 1))
    return _answers_of_two(room)


@fault("FRM008", "ApiVersions v3 whose size is 1 too small, and Metadata v9 after it")
def _one_too_small(room: Room) -> str:
    room.client.send(_with_size(_api_versions(room), -1))
    return _answers_of_two(room)


def _answers_of_two(room: Room) -> str:
    room.client.send(room.client.frame("Metadata", 9, topics=None))
    try:
        first = answered(room.client.hear("ApiVersions", 3).error_code)
    except RefusedError as refused:
        return str(refused)
    try:
        room.client.hear("Metadata", 9)
    except RefusedError as refused:
        return f"{first}, then {refused}"
    return f"{first}, and the next request too"


@fault("VER018", "FindCoordinator v4 with the body of v3")
def _other_version(room: Room) -> str:
    data = bytearray(room.client.frame("FindCoordinator", 3, key=f"{room.name}-group", key_type=0))
    data[6:8] = struct.pack(">h", 4)
    room.client.say(bytes(data), "FindCoordinator", 4)
    return "answers"


@fault("HDR003", "Metadata v9 without the tag section of its header")
def _no_header_tags(room: Room) -> str:
    data = room.client.frame("Metadata", 9, topics=None)
    at = 4 + 10 + len("replay")
    room.client.say(_with_size(data[:at] + data[at + 1 :], 0), "Metadata", 9)
    return "answers"


# groups


def _join(room: Room, group: str = "") -> Any:
    """Return the answer of a leader's JoinGroup: the member id is given first (KIP-394)."""
    asked: dict[str, Any] = {
        "group_id": group or room.name,
        "session_timeout_ms": _MINUTE_MS,
        "rebalance_timeout_ms": 1000,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": SUBSCRIPTION}],
    }
    given = room.client.ask("JoinGroup", 7, **asked)
    return room.client.ask("JoinGroup", 7, **asked, member_id=given.member_id)


def _assignment(topic: str, *partitions: int) -> bytes:
    rows = b"".join(struct.pack(">i", number) for number in partitions)
    name = topic.encode()
    return (
        struct.pack(">hih", 0, 1, len(name))
        + name
        + struct.pack(">i", len(partitions))
        + rows
        + struct.pack(">i", -1)
    )


def _sync(room: Room, joined: Any, given: dict[str, bytes], **more: Any) -> Any:
    asked = {
        "group_id": room.name,
        "generation_id": joined.generation_id,
        "member_id": joined.member_id,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [{"member_id": who, "assignment": what} for who, what in given.items()],
    }
    return room.client.ask("SyncGroup", 5, **(asked | more))


def _beat(room: Room, generation: int, member: str) -> str:
    answer = room.client.ask("Heartbeat", 4, group_id=room.name, generation_id=generation, member_id=member)
    return answered(answer.error_code)


@fault("GRP027", "Heartbeat of a member after its LeaveGroup", owed_refusal=True)
def _heartbeat_after_leave(room: Room) -> str:
    joined = _join(room)
    _sync(room, joined, {joined.member_id: _assignment(room.topic, 0)})
    room.client.ask("LeaveGroup", 4, group_id=room.name, members=[{"member_id": joined.member_id}])
    return _beat(room, joined.generation_id, joined.member_id)


@fault("GRP010", "Heartbeat of a generation that is 7 ahead")
def _generation_ahead(room: Room) -> str:
    joined = _join(room)
    _sync(room, joined, {joined.member_id: _assignment(room.topic, 0)})
    return _beat(room, joined.generation_id + 7, joined.member_id)


@fault("GRP014", "SyncGroup v5 that names another protocol than was chosen")
def _other_protocol(room: Room) -> str:
    joined = _join(room)
    return answered(_sync(room, joined, {}, protocol_name="roundrobin").error_code)


@fault("GRP013", "SyncGroup of a leader that assigns to a stranger as well")
def _to_a_stranger(room: Room) -> str:
    joined = _join(room)
    given = _sync(
        room, joined, {joined.member_id: _assignment(room.topic, 0), "stranger": _assignment(room.topic, 1)}
    )
    return answered(given.error_code)


@fault("GRP023", "SyncGroup of a leader that assigns one partition twice")
def _shared(room: Room) -> str:
    joined = _join(room)
    both = _assignment(room.topic, 0)
    return _handed_on(_sync(room, joined, {joined.member_id: both, "other": both}), both)


@fault("GRP024", "SyncGroup of a leader of consumers whose assignment is 5 noise bytes")
def _noise(room: Room) -> str:
    joined, noise = _join(room), b"\xff\xfe\xfd\xfc\xfb"
    return _handed_on(_sync(room, joined, {joined.member_id: noise}), noise)


def _handed_on(answer: Any, sent: bytes) -> str:
    is_same = bytes(answer.assignment) == sent
    return answered(answer.error_code) + (", and hands the bytes on" if is_same else "")


@fault("GRP015", "ConsumerGroupHeartbeat with a member epoch that is 9 ahead")
def _epoch_ahead(room: Room) -> str:
    asked = {"group_id": room.name, "member_id": "AAAAAAAAAAAAAAAAAAAAAA", "rebalance_timeout_ms": _MINUTE_MS}
    joined = room.client.ask(
        "ConsumerGroupHeartbeat",
        1,
        **asked,
        member_epoch=0,
        subscribed_topic_names=[room.topic],
        topic_partitions=[],
    )
    answer = room.client.ask("ConsumerGroupHeartbeat", 1, **asked, member_epoch=joined.member_epoch + 9)
    return answered(answer.error_code)


# producers


def _producer(room: Room, name: str | None = None, **more: Any) -> Any:
    given = room.client.ask(
        "InitProducerId", 4, transactional_id=name, transaction_timeout_ms=_MINUTE_MS, **more
    )
    if given.error_code in (14, 15, 16):  # the coordinator of transactions is coming up
        return _producer(room, name, **more)
    return given


def _produce(room: Room, records: bytes, version: int = 11, **more: Any) -> str:
    rows = [{"name": room.topic, "partition_data": [{"index": 0, "records": records}]}]
    asked: dict[str, Any] = {"acks": -1, "timeout_ms": 5000} | more
    while True:
        answer = room.client.ask("Produce", version, **asked, topic_data=rows)
        code = answer.responses[0].partition_responses[0].error_code
        if code not in (_NOT_LEADER, _CONCURRENT):  # the topic is new: its leader may not know yet
            return answered(code)


@fault("PRD004", "Produce with a sequence number that leaves a gap of 4")
def _gap(room: Room) -> str:
    given = _producer(room)
    _produce(room, batch([b"a"], given.producer_id, given.producer_epoch, 0))
    return _produce(room, batch([b"b"], given.producer_id, given.producer_epoch, 5))


@fault("PRD005", "Produce of a new epoch that does not begin with sequence 0")
def _not_from_zero(room: Room) -> str:
    old = _producer(room, room.name)
    _produce(room, batch([b"a"], old.producer_id, old.producer_epoch, 0))
    new = _producer(room, room.name)
    return _produce(room, batch([b"b"], new.producer_id, new.producer_epoch, 4))


@fault("PRD010", "Produce in epoch 0 after a batch of epoch 1", owed_refusal=True)
def _old_epoch(room: Room) -> str:
    given = _producer(room)
    _produce(room, batch([b"a"], given.producer_id, 1, 0))
    return _produce(room, batch([b"b"], given.producer_id, 0, 0))


@fault("PRD003", "Produce of an idempotent batch with acks 1")
def _weak_acks(room: Room) -> str:
    given = _producer(room)
    return _produce(room, batch([b"a"], given.producer_id, given.producer_epoch, 0), acks=1)


@fault("PRD001", "Produce with acks 2")
def _acks_2(room: Room) -> str:
    return _produce(room, batch([b"a"]), acks=2)


@fault("REC004", "Produce of a batch with one bit changed after its checksum")
def _checksum(room: Room) -> str:
    data = bytearray(batch([b"a"]))
    data[-2] ^= 1
    return _produce(room, bytes(data))


@fault("REC016", "Produce v11 of two batches for one partition")
def _two_batches(room: Room) -> str:
    return _produce(room, batch([b"a"]) + batch([b"b"]))


@fault("REC024", "Produce of a control batch")
def _control(room: Room) -> str:
    return _produce(room, batch([b"a"], bits=32))


@fault("TXN010", "EndTxn in the epoch before the one given last", owed_refusal=True)
def _ends_in_old_epoch(room: Room) -> str:
    old = _producer(room, room.name)
    new = _producer(room, room.name)
    assert new.producer_epoch > old.producer_epoch
    return _end(room, old)


@fault("TXN007", "EndTxn with another producer id than was given")
def _other_producer(room: Room) -> str:
    given = _producer(room, room.name)
    given.producer_id += 4711
    return _end(room, given)


@fault("TXN005", "EndTxn of a transaction that was not begun", owed_refusal=True)
def _not_begun(room: Room) -> str:
    return _end(room, _producer(room, room.name))


def _end(room: Room, given: Any) -> str:
    answer = room.client.ask(
        "EndTxn", 3, transactional_id=room.name, producer_id=given.producer_id,
        producer_epoch=given.producer_epoch, committed=True,
    )  # fmt: skip
    return answered(answer.error_code)


@fault("TXN012", "Produce v12 in the epoch before the one that EndTxn v5 gave")
def _epoch_not_taken(room: Room) -> str:
    given = _producer(room, room.name)
    whose = {"transactional_id": room.name, "version": 12}
    records = batch([b"a"], given.producer_id, given.producer_epoch, 0, bits=16)
    assert _produce(room, records, **whose) == answered(0)
    ended = room.client.ask(
        "EndTxn", 5, transactional_id=room.name, producer_id=given.producer_id,
        producer_epoch=given.producer_epoch, committed=True,
    )  # fmt: skip
    assert ended.producer_epoch > given.producer_epoch
    records = batch([b"b"], given.producer_id, given.producer_epoch, 1, bits=16)
    return _produce(room, records, **whose)


@fault("TXN004", "Produce v11 in a transaction, for a partition that was not added")
def _not_added(room: Room) -> str:
    given = _producer(room, room.name)
    records = batch([b"a"], given.producer_id, given.producer_epoch, 0, bits=16)
    return _produce(room, records, transactional_id=room.name)


@fault("TXN011", "TxnOffsetCommit v4 without AddOffsetsToTxn before it")
def _offsets_not_added(room: Room) -> str:
    given = _producer(room, room.name)
    rows = [{"partition_index": 0, "committed_offset": 1}]
    answer = room.client.ask(
        "TxnOffsetCommit", 4, transactional_id=room.name, group_id=room.name, producer_id=given.producer_id,
        producer_epoch=given.producer_epoch, topics=[{"name": room.topic, "partitions": rows}],
    )  # fmt: skip
    return answered(answer.topics[0].partitions[0].error_code)


# topics


def _create(room: Room, **more: int) -> str:
    topic = {"name": f"{room.name}-new", "num_partitions": 1, "replication_factor": 1} | more
    answer = room.client.ask("CreateTopics", 7, topics=[topic], timeout_ms=5000)
    return answered(answer.topics[0].error_code)


@fault("ADM016", "CreateTopics of a topic with no partitions", owed_refusal=True)
def _no_partitions(room: Room) -> str:
    return _create(room, num_partitions=0)


@fault("ADM016", "CreateTopics of a topic with no replicas", owed_refusal=True)
def _no_replicas(room: Room) -> str:
    return _create(room, replication_factor=0)


# reading


@fault("FET023", "ShareAcknowledge of offsets 5000 to 5001, which were never acquired")
def _never_acquired(room: Room) -> str:
    member = {"group_id": room.name, "member_id": "BBBBBBBBBBBBBBBBBBBBBA"}
    room.client.ask("ShareGroupHeartbeat", 1, **member, member_epoch=0, subscribed_topic_names=[room.topic])
    read = {"max_wait_ms": 200, "max_records": 10, "batch_size": 10}
    rows = [{"topic_id": room.topic_id, "partitions": [{"partition_index": 0}]}]
    room.client.ask("ShareFetch", 1, **member, share_session_epoch=0, **read, topics=rows)
    batches = [{"first_offset": 5000, "last_offset": 5001, "acknowledge_types": [1]}]
    rows = [
        {
            "topic_id": room.topic_id,
            "partitions": [{"partition_index": 0, "acknowledgement_batches": batches}],
        }
    ]
    answer = room.client.ask("ShareAcknowledge", 1, **member, share_session_epoch=1, topics=rows)
    found = [row.error_code for topic in answer.responses for row in topic.partitions]
    return answered(answer.error_code or (found or [0])[0])


@fault("FET012", "Fetch of a session whose epoch leaves one out")
def _session_epoch(room: Room) -> str:
    asked: dict[str, Any] = {"max_wait_ms": 100, "min_bytes": 1}
    rows = [
        {
            "topic": room.topic,
            "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}],
        }
    ]
    opened = room.client.ask("Fetch", 12, **asked, session_id=0, session_epoch=0, topics=rows)
    return answered(
        room.client.ask("Fetch", 12, **asked, session_id=opened.session_id, session_epoch=2).error_code
    )


@fault("FET013", "Fetch of a session that the broker never gave")
def _session_of_nobody(room: Room) -> str:
    asked: dict[str, Any] = {"max_wait_ms": 100, "min_bytes": 1}
    return answered(room.client.ask("Fetch", 12, **asked, session_id=471_147, session_epoch=1).error_code)


# logins


def _login(client: RawClient, user: str) -> int:
    shaken: int = client.ask("SaslHandshake", 1, mechanism="PLAIN").error_code
    token = f"\0{user}\0{USERS[user]}".encode()
    return shaken or int(client.ask("SaslAuthenticate", 2, auth_bytes=token).error_code)


@fault("SAS012", "a second login, as another user, on the same connection", owed_refusal=True)
def _other_user(room: Room) -> str:
    client = RawClient(room.sasl, room.tape)
    try:
        assert not _login(client, "admin")
        return answered(_login(client, "alice"))
    finally:
        client.close()


@fault("SAS002", "Metadata v9 between SaslHandshake and the token")
def _before_login(room: Room) -> str:
    client = RawClient(room.sasl, room.tape)
    try:
        client.ask("SaslHandshake", 1, mechanism="PLAIN")
        return answered(_first_error(client.ask("Metadata", 9, topics=[{"name": room.topic}])))
    finally:
        client.close()


# groups, again


@fault("GRP031", "SyncGroup of a leader that assigns to itself twice")
def _assigned_twice(room: Room) -> str:
    joined = _join(room)
    rows = [
        {"member_id": joined.member_id, "assignment": _assignment(room.topic, number)} for number in (0, 1)
    ]
    given = _sync(room, joined, {}, assignments=rows)
    handed = bytes(given.assignment)
    which = [str(number) for number in (0, 1) if handed == _assignment(room.topic, number)]
    return answered(given.error_code) + (f", and hands on assignment {which[0]} of 0 and 1" if which else "")


@fault("GRP035", "SyncGroup of a leader that assigns a topic that the member did not join for")
def _not_subscribed(room: Room) -> str:
    joined, other = _join(room), _assignment(room.topic, 0)
    return _handed_on(_sync(room, joined, {joined.member_id: other}), other)


@fault("GRP037", "ConsumerGroupHeartbeat of a member that owns partition 77, which it was not assigned")
def _owns_unassigned(room: Room) -> str:
    asked = {"group_id": room.name, "member_id": "AAAAAAAAAAAAAAAAAAAAAA", "rebalance_timeout_ms": _MINUTE_MS}
    names = [room.topic]
    joined = room.client.ask(
        "ConsumerGroupHeartbeat",
        1,
        **asked,
        member_epoch=0,
        subscribed_topic_names=names,
        topic_partitions=[],
    )
    owned = [{"topic_id": room.topic_id, "partitions": [0, 1, 77]}]
    answer = room.client.ask(
        "ConsumerGroupHeartbeat", 1, **asked, member_epoch=joined.member_epoch, topic_partitions=owned
    )
    return answered(answer.error_code)


# one field, to a value that it cannot have


Build = Callable[[Room], dict[str, Any]]
_ODD = -5


def _asks(code: str, api: str, version: int, field: str, body: Build) -> None:
    """Register a request with a field of -5."""

    def play(room: Room) -> str:
        error = 0
        for _ in range(_PATIENCE):
            error = _first_error(room.client.ask(api, version, **body(room)))
            if error not in _NOT_YET:
                break
            time.sleep(_PAUSE_SECONDS)
        return answered(error)

    fault(code, f"{api} v{version} with {field} {_ODD}")(play)


def _first_error(value: Value) -> int:
    """Return the first error code in an answer, from its top down, or 0 without one."""
    below: list[Value] = []
    for name, item in items(value):
        if name == "error_code" and item:
            return int(item)
        below += [item] if isinstance(item, Value) else []
        below += [one for one in item if isinstance(one, Value)] if isinstance(item, list | tuple) else []
    return next((code for code in map(_first_error, below) if code), 0)


def _fetch(**more: int) -> Build:
    def body(room: Room) -> dict[str, Any]:
        row = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000} | more
        return {"max_wait_ms": 100, "min_bytes": 1, "topics": [{"topic": room.topic, "partitions": [row]}]}

    return body


def _rows(row: dict[str, Any], **more: Any) -> Build:
    """Return a body whose `topics` have one topic with one partition."""
    return lambda room: {"topics": [{"name": room.topic, "partitions": [row]}]} | more


def _commit(row: dict[str, Any] | None = None, **more: Any) -> Build:
    whole = {"partition_index": 0, "committed_offset": 1} | (row or {})
    return lambda room: _rows(whole, **more)(room) | {"group_id": room.name}


def _transaction(**more: int) -> Build:
    whole = {"producer_id": 1, "producer_epoch": 0, "committed": True} | more
    return lambda room: {"transactional_id": room.name} | whole


for _field in ("last_fetched_epoch", "current_leader_epoch", "log_start_offset"):
    _asks("BDY029", "Fetch", 12, _field, _fetch(**{_field: _ODD}))
_asks("FET026", "Fetch", 12, "fetch_offset", _fetch(fetch_offset=_ODD))
_asks("BDY021", "Fetch", 12, "partition", _fetch(partition=_ODD))
_asks(
    "BDY029", "ListOffsets", 9, "current_leader_epoch",
    _rows({"partition_index": 0, "timestamp": -1, "current_leader_epoch": _ODD}, replica_id=-1),
)  # fmt: skip
for _field in ("leader_epoch", "current_leader_epoch"):
    _epochs = {"partition": 0, "leader_epoch": 0, "current_leader_epoch": -1} | {_field: _ODD}
    _asks(
        "BDY029", "OffsetForLeaderEpoch", 4, _field,
        lambda room, row=_epochs: {"replica_id": -1, "topics": [{"topic": room.topic, "partitions": [row]}]},
    )  # fmt: skip
_asks("BDY029", "OffsetCommit", 8, "generation_id", _commit(generation_id_or_member_epoch=_ODD))
_asks("BDY029", "OffsetCommit", 8, "committed_leader_epoch", _commit({"committed_leader_epoch": _ODD}))
for _field in ("producer_id", "producer_epoch"):
    _asks("BDY029", "EndTxn", 3, _field, _transaction(**{_field: _ODD}))
    _asks(
        "BDY029", "InitProducerId", 4, _field,
        lambda room, field=_field: {"transactional_id": room.name, "transaction_timeout_ms": _MINUTE_MS}
        | {"producer_id": 1, "producer_epoch": 0} | {field: _ODD},
    )  # fmt: skip
_asks(
    "BDY029", "Heartbeat", 4, "generation_id",
    lambda room: {"group_id": room.name, "generation_id": _ODD, "member_id": "x"},
)  # fmt: skip
_asks(
    "BDY029", "SyncGroup", 5, "generation_id",
    lambda room: {"group_id": room.name, "generation_id": _ODD, "member_id": "x"},
)  # fmt: skip
_asks(
    "BDY029", "CreateTopics", 7, "broker_ids",
    lambda room: {"timeout_ms": 5000, "topics": [
        {"name": f"{room.name}-new", "num_partitions": -1, "replication_factor": -1,
         "assignments": [{"partition_index": 0, "broker_ids": [_ODD]}]}
    ]},
)  # fmt: skip
_asks(
    "BDY029", "CreatePartitions", 3, "broker_ids",
    lambda room: {"timeout_ms": 5000, "topics": [
        {"name": room.topic, "count": 3, "assignments": [{"broker_ids": [_ODD]}]}
    ]},
)  # fmt: skip
_asks(
    "BDY029", "AlterPartitionReassignments", 0, "replicas",
    _rows({"partition_index": 0, "replicas": [_ODD]}, timeout_ms=5000),
)  # fmt: skip
_asks("BDY024", "DeleteRecords", 2, "timeout_ms", _rows({"partition_index": 0, "offset": 0}, timeout_ms=_ODD))
_asks(
    "BDY021",
    "DeleteRecords",
    2,
    "partition_index",
    _rows({"partition_index": _ODD, "offset": 0}, timeout_ms=5000),
)
_asks(
    "BDY021", "DescribeProducers", 0, "partition_indexes",
    lambda room: {"topics": [{"name": room.topic, "partition_indexes": [_ODD]}]},
)  # fmt: skip
_asks(
    "BDY021", "ElectLeaders", 2, "partitions",
    lambda room: {"timeout_ms": 5000, "topic_partitions": [{"topic": room.topic, "partitions": [_ODD]}]},
)  # fmt: skip
_asks(
    "BDY021", "DescribeLogDirs", 4, "partitions",
    lambda room: {"topics": [{"topic": room.topic, "partitions": [_ODD]}]},
)  # fmt: skip
_asks(
    "BDY029", "DescribeTopicPartitions", 0, "response_partition_limit",
    lambda room: {"topics": [{"name": room.topic}], "response_partition_limit": _ODD},
)  # fmt: skip
_asks(
    "BDY021", "DescribeTopicPartitions", 0, "cursor.partition_index",
    lambda room: {"topics": [{"name": room.topic}], "response_partition_limit": 10,
                  "cursor": {"topic_name": room.topic, "partition_index": _ODD}},
)  # fmt: skip
_asks(
    "BDY029", "ConsumerGroupHeartbeat", 1, "member_epoch",
    lambda room: {"group_id": room.name, "member_id": "AAAAAAAAAAAAAAAAAAAAAA", "member_epoch": _ODD},
)  # fmt: skip
_asks(
    "BDY029", "AlterUserScramCredentials", 0, "iterations",
    lambda _: {"upsertions": [
        {"name": "replay", "mechanism": 1, "iterations": _ODD, "salt": b"salt", "salted_password": bytes(32)}
    ]},
)  # fmt: skip
_asks("BDY029", "UnregisterBroker", 0, "broker_id", lambda _: {"broker_id": _ODD})
_asks("BDY029", "ListTransactions", 1, "producer_id_filters", lambda _: {"producer_id_filters": [_ODD]})
_asks(
    "BDY029", "TxnOffsetCommit", 4, "committed_leader_epoch",
    lambda room: _commit({"committed_leader_epoch": _ODD})(room)
    | {"transactional_id": room.name, "producer_id": 1, "producer_epoch": 0},
)  # fmt: skip
_asks(
    "BDY029", "AlterShareGroupOffsets", 0, "start_offset",
    lambda room: {"group_id": room.name, "topics": [
        {"topic_name": room.topic, "partitions": [{"partition_index": 0, "start_offset": _ODD}]}
    ]},
)  # fmt: skip
_asks(
    "BDY029",
    "RemoveRaftVoter",
    0,
    "voter_id",
    lambda _: {"cluster_id": None, "voter_id": _ODD, "voter_directory_id": bytes(16)},
)
