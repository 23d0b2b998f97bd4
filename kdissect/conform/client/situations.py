"""Situations: what a scripted cluster does, at which request, and what a client is expected to do then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kdissect.conform.client import expectations as expects
from kdissect.conform.client.cluster_state import Body, ClusterState
from kdissect.conform.client.cluster_topics import NODES
from kdissect.conform.client.exchange_log import FETCH, PRODUCE, Asked, fetched, key_of, produced, topic_of
from kdissect.conform.client.expectations import Absent, Expectation, leader_of, partition_of
from kdissect.conform.client.group_responses import committed
from kdissect.conform.client.record_responses import found
from kdissect.conform.client.scripted_cluster import Reply
from kdissect.schema.protocol_messages import API_VERSIONS

OLD_RELEASE = "2.1.0"
THROTTLE_MS = 2000
ALWAYS = 1 << 30
_SLOW_S = 3.0
_TOO_FAR = 1000  # offsets after the end of the log
_LEADER_NOT_AVAILABLE, _NOT_ENOUGH_REPLICAS, _TOPIC_REFUSED = 5, 19, 29
_LOADING, _COORDINATOR_NOT_AVAILABLE = 14, 15
_FENCED_MEMBER_EPOCH = 110
_MEMBER_IDS_FROM = 4

Act = Callable[[ClusterState, Asked], Body | None]
"""Changes the state before a request. It may return the body of the response."""
Applies = Callable[[ClusterState, Asked], bool]


class Situation(NamedTuple):
    """One situation. `apis` are those at whose requests it is played, from the `nth` on, so many `times`.

    `versions` changes the advertised versions, for a release.
    """

    name: str
    about: str
    apis: tuple[str, ...]
    expected: tuple[Expectation, ...]
    act: Act | None = None
    deliver: Callable[[Reply], Reply] | None = None
    applies: Applies = lambda _, __: True
    nth: int = 1
    times: int = 1
    release: str = ""
    has_sessions: bool = False
    wants: tuple[str, ...] = ()
    """APIs without which the situation says nothing about a client, if they are others than `apis`."""

    @property
    def keys(self) -> frozenset[int]:
        """Keys of the APIs at which it is played, none for all."""
        return frozenset(map(key_of, self.apis))


class SituationScript:
    """A situation in a cluster. `played` are the requests that it was played at."""

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        self.played: list[Asked] = []
        self._seen = 0
        self._numbers: set[int] = set()

    def before(self, state: ClusterState, asked: Asked) -> Body | None:
        """Play the situation, if this is the request for it."""
        one = self.situation
        is_meant = (not one.apis or asked.key in one.keys) and one.applies(state, asked)
        if not is_meant:
            return None
        self._seen += 1
        if self._seen < one.nth or len(self.played) >= one.times:
            return None
        self.played.append(asked)
        self._numbers.add(asked.number)
        return None if one.act is None else one.act(state, asked)

    def after(self, _: ClusterState, asked: Asked, reply: Reply) -> Reply:
        """Change how the response is sent."""
        if asked.number not in self._numbers or self.situation.deliver is None:
            return reply
        return self.situation.deliver(reply)


# state changes


def _move_leader(state: ClusterState, asked: Asked) -> None:
    topic, index = partition_of(asked) or (None, 0)
    partition, _ = found(state, _Named(topic), index)
    if partition is not None:
        partition.leader = NODES[partition.leader % len(NODES)]
        partition.epoch += 1


class _Named(NamedTuple):
    name: Any


def _lose_leader(state: ClusterState, asked: Asked) -> None:
    state.lose(asked.node)


def _begin_log_again(state: ClusterState, asked: Asked) -> None:
    for key in fetched(asked):
        partition, _ = found(state, _Named(key[0]), key[1])
        if partition is not None:
            partition.begin_again()


def _move_coordinator(state: ClusterState, _: Asked) -> None:
    state.move_coordinator()


def _rebalance(state: ClusterState, asked: Asked) -> None:
    state.group(asked.body.group_id).begin_rebalance()


def _forget_member(state: ClusterState, asked: Asked) -> None:
    state.group(asked.body.group_id).leave(asked.body.member_id)


def _next_generation(state: ClusterState, asked: Asked) -> None:
    state.group(asked.body.group_id).generation += 1


def _refuse_version(state: ClusterState, asked: Asked) -> None:
    state.versions[API_VERSIONS] = (0, asked.version - 1)


def _delete_records(state: ClusterState, asked: Asked) -> None:
    for row in asked.body.topics:
        for part in row.partitions:
            partition, _ = found(state, row, part.partition)
            if partition is not None:
                partition.truncate_before(partition.end + _TOO_FAR)
                partition.add_record()


def _recreate_topic(state: ClusterState, asked: Asked) -> None:
    topic = state.topics.with_id(topic_of(asked.body.topics[0]))
    if topic is not None:
        topic.recreate()


def _forget_sessions(state: ClusterState, _: Asked) -> None:
    state.sessions.clear()


def _fence_producer(state: ClusterState, asked: Asked) -> None:
    known = state.producers.get(asked.body.transactional_id)
    if known is not None:
        known.epoch += 1


# responses with errors


def _produce_error(code: int) -> Act:
    def act(_: ClusterState, asked: Asked) -> Body:
        return {
            "responses": [
                {
                    "name": topic_of(row), "topic_id": topic_of(row),
                    "partition_responses": [
                        {"index": part.index, "error_code": code, "base_offset": -1}
                        for part in row.partition_data
                    ],
                }
                for row in asked.body.topic_data
            ]
        }  # fmt: skip

    return act


def _error(code: int) -> Act:
    return lambda _, __: {"error_code": code}


def _offsets_error(code: int) -> Act:
    return lambda state, asked: {"topics": list(committed(state, asked, code, {}))}


def _coordinator_error(code: int) -> Act:
    def act(_: ClusterState, asked: Asked) -> Body:
        place = {"node_id": -1, "host": "", "port": -1, "error_code": code, "error_message": None}
        keys = asked.get("coordinator_keys", ())
        return place | {"coordinators": [{"key": key} | place for key in keys]}

    return act


def _no_leader(state: ClusterState, asked: Asked) -> Body | None:
    rows = [
        {
            "error_code": _LEADER_NOT_AVAILABLE, "name": row.name, "partitions": [],
            "topic_id": getattr(row, "topic_id", bytes(16)),
        }
        for row in asked.body.topics
    ]  # fmt: skip
    return {"brokers": state.brokers(), "controller_id": NODES[0], "topics": rows}


def _throttled(reply: Reply) -> Reply:
    return reply._replace(body=(reply.body or {}) | {"throttle_time_ms": THROTTLE_MS})


# requests


def _is_produced(_: ClusterState, asked: Asked) -> bool:
    return bool(asked.body.acks) and bool(produced(asked))


def _is_led(state: ClusterState, asked: Asked) -> bool:
    """Whether a Produce or Fetch request goes to the leader of its first partition, and wants a response."""
    key = partition_of(asked)
    wants = asked.key == FETCH or _is_produced(state, asked)
    return key is not None and wants and leader_of(state, key) == asked.node


def _names_topics(_: ClusterState, asked: Asked) -> bool:
    return bool(asked.get("topics")) and all(getattr(row, "name", None) for row in asked.body.topics)


def _is_fetched(_: ClusterState, asked: Asked) -> bool:
    return bool(fetched(asked))


def _is_fetched_by_id(_: ClusterState, asked: Asked) -> bool:
    return bool(fetched(asked)) and isinstance(topic_of(asked.body.topics[0]), bytes)


def _is_in_session(_: ClusterState, asked: Asked) -> bool:
    return bool(asked.get("session_id", 0)) and asked.body.session_epoch > 0


def _may_be_in_session(_: ClusterState, asked: Asked) -> bool:
    return bool(fetched(asked)) and asked.get("session_id") is not None


def _has_read(state: ClusterState, asked: Asked) -> bool:
    """Whether a Fetch request goes to the leader, and no offset in it is the first one of a log."""
    return _is_led(state, asked) and min(fetched(asked).values()) > 0


def _is_numbered(state: ClusterState, asked: Asked) -> bool:
    return _is_led(state, asked) and all(one.producer_id >= 0 for one in produced(asked))


def _is_newer_version(_: ClusterState, asked: Asked) -> bool:
    return asked.version > 0


def _is_new_member(_: ClusterState, asked: Asked) -> bool:
    is_static = asked.get("group_instance_id") is not None
    return asked.version >= _MEMBER_IDS_FROM and not asked.body.member_id and not is_static


def _is_member(_: ClusterState, asked: Asked) -> bool:
    return bool(asked.body.member_epoch > 0)


def _is_data(state: ClusterState, asked: Asked) -> bool:
    return asked.key == FETCH or (asked.key == PRODUCE and _is_produced(state, asked))


_METADATA = Expectation("CNF110", "Metadata", expects.sends("Metadata"), Absent.FAILS_WHILE_IT_RUNS)
_LEADER = Expectation(
    "CNF111", "a request for the partition at its new leader", expects.follows_leader,
    Absent.FAILS_WHILE_IT_RUNS,
)  # fmt: skip
_THROTTLE = (
    Expectation("CNF160", "no request for 2 s", expects.respects_throttle, Absent.PASSES_WHILE_IT_RUNS),
)
_THROTTLES = 2  # the next batch may be for the partition of another leader
_SEQUENCE = Expectation(
    "CNF121", "producer id, epoch and sequence of before", expects.keeps_sequence, Absent.SAYS_NOTHING
)
_BATCH = Expectation("CNF120", "the batch again", expects.repeats_batch)
_RESET = Expectation(
    "CNF130", "ListOffsets, or a Fetch from another offset", expects.resets_offset, Absent.SAYS_NOTHING
)
_OFFSET = Expectation("CNF131", "a Fetch from the same offset", expects.fetches_same_offset)
_ORDER = "the sequence after that of the batch before"
_NUMBERS = Expectation("CNF125", _ORDER, expects.numbers_in_order, Absent.SAYS_NOTHING)
_COORDINATOR = Expectation("CNF140", "FindCoordinator", expects.sends("FindCoordinator"))
_AT_COORDINATOR = Expectation(
    "CNF141", "a request of the group at its new coordinator", expects.follows_coordinator
)
_ADVERTISED = Expectation("CNF100", "versions that are advertised", expects.uses_advertised, Absent.PASSES)
_GOES_ON = "Produce or Fetch"

SITUATIONS: tuple[Situation, ...] = (
    Situation("advertised versions", "the cluster does what Kafka does", (), (_ADVERTISED,)),
    Situation(
        "ApiVersions refused", "an ApiVersions version is refused, and lower ones are named",
        ("ApiVersions",),
        (
            Expectation("CNF101", "ApiVersions in a version of the response", expects.negotiates_down),
            Expectation("CNF102", _GOES_ON, expects.goes_on),
        ),
        act=_refuse_version, applies=_is_newer_version,
    ),
    Situation(
        "old broker", "the versions of Kafka 2.1 are advertised",
        ("ApiVersions",),
        (
            _ADVERTISED,
            Expectation("CNF102", _GOES_ON, expects.goes_on),
        ),
        applies=lambda state, asked: asked.version <= state.versions[API_VERSIONS][1], release=OLD_RELEASE,
    ),
    Situation(
        "unknown tags", "each response has tagged fields that no release has", (),
        (Expectation("CNF170", _GOES_ON, expects.goes_on),),
        deliver=lambda reply: reply._replace(has_tags=True), times=ALWAYS,
    ),
    Situation(
        "responses in pieces", "each response comes in pieces: 1, 4, 5 bytes, and two more", (),
        (Expectation("CNF171", _GOES_ON, expects.goes_on),),
        deliver=lambda reply: reply._replace(in_pieces=True), times=ALWAYS,
    ),
    Situation(
        "slow response", "a response to Produce or Fetch comes after 3 s", ("Produce", "Fetch"),
        (Expectation("CNF172", "a request on the same connection", expects.uses_connection),),
        deliver=lambda reply: reply._replace(delay_s=_SLOW_S), applies=_is_data,
    ),
    Situation(
        "connection lost at Metadata", "the connection is closed in the middle of a response to Metadata",
        ("Metadata",),
        (Expectation("CNF173", "Metadata again", expects.sends("Metadata")),),
        deliver=lambda reply: reply._replace(is_cut=True),
    ),
    Situation(
        "wrong correlation id", "responses to Metadata have the correlation id of no request", ("Metadata",),
        (
            Expectation(
                "CNF174", "no use of the response", expects.uses_wrong_response, Absent.PASSES
            ),
        ),
        deliver=lambda reply: reply._replace(shift=100_000), times=ALWAYS,
    ),
    Situation(
        "no leader", "Metadata has LEADER_NOT_AVAILABLE for the topic", ("Metadata",),
        (Expectation("CNF112", "Metadata again", expects.sends("Metadata")),),
        act=_no_leader, applies=_names_topics,
    ),
    Situation(
        "leader change at Produce", "Produce has NOT_LEADER_OR_FOLLOWER, and Metadata the new leader",
        ("Produce",), (_METADATA, _LEADER, _BATCH, _SEQUENCE), act=_move_leader, applies=_is_led,
    ),
    Situation(
        "leader lost at Produce", "the leader closes all connections, and another node leads the partition",
        ("Produce",), (_METADATA, _LEADER), act=_lose_leader,
        deliver=lambda reply: reply._replace(closes=True), applies=_is_led,
    ),
    Situation(
        "retriable error at Produce", "Produce has NOT_ENOUGH_REPLICAS", ("Produce",),
        (_BATCH, _SEQUENCE, _NUMBERS), act=_produce_error(_NOT_ENOUGH_REPLICAS), applies=_is_led,
    ),
    Situation(
        "batches in order", "the cluster stores batches of an idempotent producer", ("Produce",),
        (Expectation("CNF125", _ORDER, expects.numbers_in_order, Absent.PASSES),),
        applies=_is_numbered, nth=2,
    ),
    Situation(
        "connection lost at Produce", "a batch is stored, and the connection closed before the response",
        ("Produce",), (_BATCH, _SEQUENCE, _NUMBERS), deliver=lambda reply: reply._replace(closes=True),
        applies=_is_led,
    ),
    Situation(
        "fatal error at Produce", "Produce has TOPIC_AUTHORIZATION_FAILED", ("Produce",),
        (Expectation("CNF122", "not the batch again", expects.drops_batch, Absent.PASSES),),
        act=_produce_error(_TOPIC_REFUSED), applies=_is_led, times=ALWAYS,
    ),
    Situation(
        "leader change at Fetch", "Fetch has NOT_LEADER_OR_FOLLOWER, and Metadata the new leader",
        ("Fetch",), (_METADATA, _LEADER, _OFFSET), act=_move_leader, applies=_is_led, nth=2,
    ),
    Situation(
        "leader lost at Fetch", "the leader closes all connections, and another node leads the partition",
        ("Fetch",), (_METADATA, _LEADER), act=_lose_leader,
        deliver=lambda reply: reply._replace(closes=True), applies=_is_led, nth=2,
    ),
    Situation(
        "connection lost at Fetch", "the connection is closed in the middle of a response to Fetch",
        ("Fetch",), (_OFFSET,), deliver=lambda reply: reply._replace(is_cut=True), applies=_is_fetched, nth=2,
    ),
    Situation(
        "records deleted", "Fetch has OFFSET_OUT_OF_RANGE: all records were deleted", ("Fetch",),
        (_RESET,), act=_delete_records, applies=_is_led, nth=2,
    ),
    Situation(
        "log shorter", "Fetch has OFFSET_OUT_OF_RANGE: the log begins again at offset 0", ("Fetch",),
        (_RESET,), act=_begin_log_again, applies=_has_read, nth=2,
    ),
    Situation(
        "topic created again", "Fetch has UNKNOWN_TOPIC_ID: the topic has another id", ("Fetch",),
        (_METADATA,), act=_recreate_topic, applies=_is_fetched_by_id, nth=2,
    ),
    Situation(
        "fetch session lost", "Fetch has FETCH_SESSION_ID_NOT_FOUND", ("Fetch",),
        (Expectation("CNF132", "session epoch 0 or -1", expects.fetches_fully),),
        act=_forget_sessions, applies=_is_in_session, has_sessions=True,
    ),
    Situation(
        "fetch sessions", "a Fetch that asks for a session has one", ("Fetch",),
        (Expectation("CNF133", "no other new session", expects.keeps_session),),
        applies=_may_be_in_session, has_sessions=True,
    ),
    Situation(
        "no coordinator", "FindCoordinator has COORDINATOR_NOT_AVAILABLE", ("FindCoordinator",),
        (Expectation("CNF142", "FindCoordinator again", expects.sends("FindCoordinator")),),
        act=_coordinator_error(_COORDINATOR_NOT_AVAILABLE),
    ),
    Situation(
        "coordinator lost at JoinGroup", "JoinGroup has NOT_COORDINATOR", ("JoinGroup",),
        (_COORDINATOR, _AT_COORDINATOR), act=_move_coordinator,
    ),
    Situation(
        "coordinator lost at Heartbeat", "Heartbeat has NOT_COORDINATOR", ("Heartbeat",),
        (_COORDINATOR, _AT_COORDINATOR), act=_move_coordinator, wants=("JoinGroup",),
    ),
    Situation(
        "coordinator lost at OffsetCommit", "OffsetCommit has NOT_COORDINATOR", ("OffsetCommit",),
        (_COORDINATOR, _AT_COORDINATOR), act=_move_coordinator,
    ),
    Situation(
        "new member", "JoinGroup has MEMBER_ID_REQUIRED", ("JoinGroup",),
        (Expectation("CNF150", "JoinGroup with the member id of the response", expects.rejoins_as_promised),),
        applies=_is_new_member,
    ),
    Situation(
        "rebalance at Heartbeat", "Heartbeat has REBALANCE_IN_PROGRESS", ("Heartbeat",),
        (Expectation("CNF151", "JoinGroup with its member id", expects.rejoins_as_same),),
        act=_rebalance, wants=("JoinGroup",),
    ),
    Situation(
        "rebalance at SyncGroup", "SyncGroup has REBALANCE_IN_PROGRESS", ("SyncGroup",),
        (Expectation("CNF151", "JoinGroup with its member id", expects.rejoins_as_same),), act=_rebalance,
    ),
    Situation(
        "member forgotten", "Heartbeat has UNKNOWN_MEMBER_ID", ("Heartbeat",),
        (Expectation("CNF152", "JoinGroup without a member id", expects.rejoins_as_new),),
        act=_forget_member, wants=("JoinGroup",),
    ),
    Situation(
        "generation over", "Heartbeat has ILLEGAL_GENERATION", ("Heartbeat",),
        (Expectation("CNF153", "JoinGroup", expects.rejoins),), act=_next_generation, wants=("JoinGroup",),
    ),
    Situation(
        "member fenced", "ConsumerGroupHeartbeat has FENCED_MEMBER_EPOCH", ("ConsumerGroupHeartbeat",),
        (Expectation("CNF154", "a heartbeat with member epoch 0", expects.restarts_membership),),
        act=_error(_FENCED_MEMBER_EPOCH), applies=_is_member,
    ),
    Situation(
        "throttled Produce", "Produce has a throttle time of 2 s", ("Produce",), _THROTTLE,
        deliver=_throttled, applies=_is_led, times=_THROTTLES,
    ),
    Situation(
        "throttled Fetch", "Fetch has a throttle time of 2 s", ("Fetch",), _THROTTLE,
        deliver=_throttled, applies=_is_fetched, nth=2,
    ),
    Situation(
        "throttled ConsumerGroupHeartbeat", "ConsumerGroupHeartbeat has a throttle time of 2 s",
        ("ConsumerGroupHeartbeat",), _THROTTLE, deliver=_throttled, applies=_is_member,
    ),
    Situation(
        "no producer id yet", "InitProducerId has COORDINATOR_LOAD_IN_PROGRESS", ("InitProducerId",),
        (Expectation("CNF123", "InitProducerId again", expects.sends("InitProducerId")),),
        act=_error(_LOADING),
    ),
    Situation(
        "coordinator loads at TxnOffsetCommit", "TxnOffsetCommit has COORDINATOR_LOAD_IN_PROGRESS",
        ("TxnOffsetCommit",),
        (Expectation("CNF126", "TxnOffsetCommit again", expects.sends("TxnOffsetCommit")),),
        act=_offsets_error(_LOADING),
    ),
    Situation(
        "producer fenced", "EndTxn has PRODUCER_FENCED", ("EndTxn",),
        (
            Expectation(
                "CNF124", "no request of a transaction with that epoch", expects.stays_fenced, Absent.PASSES
            ),
        ),
        act=_fence_producer,
    ),
)  # fmt: skip
"""Every situation, in the order in which they are played."""
