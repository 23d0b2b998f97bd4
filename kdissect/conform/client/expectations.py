"""Expectations of what a client does after a situation, looked for in the requests that follow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from kdissect.conform.client.cluster_state import ClusterState
from kdissect.conform.client.exchange_log import (
    FETCH,
    METADATA,
    PRODUCE,
    Asked,
    ProducedBatch,
    fetched,
    key_of,
    produced,
)
from kdissect.conform.client.record_responses import found
from kdissect.model.wording import plural
from kdissect.schema.protocol_messages import API_VERSIONS, api_name

GROUP_APIS = tuple(map(key_of, ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch")))
GOES_ON = (PRODUCE, FETCH, METADATA)
"""APIs that show that a client goes on, those of records first."""
_FULL_FETCH = (0, -1)  # session epochs (KIP-227)
_MANY = 3  # requests that a client repeats although they cannot succeed
_ON_THE_WAY_S = (
    0.2  # a client that sends without waiting for responses may have sent these before it read one
)
_EARLY_S = 0.1
_EPOCH_OF = {"AddPartitionsToTxn": "v3_and_below_producer_epoch", "EndTxn": "producer_epoch"}


class Absent(StrEnum):
    """The result if nothing of the kind is seen."""

    FAILS = "fails"
    FAILS_WHILE_IT_RUNS = "fails while it runs"  # a client may also report the error, and end
    PASSES = "passes"
    PASSES_WHILE_IT_RUNS = "passes while it runs"  # silence proves nothing if the command ended
    SAYS_NOTHING = "says nothing"


class Seen(NamedTuple):
    """The request that decides, and how."""

    asked: Asked
    passed: bool
    text: str


class Scene(NamedTuple):
    """The requests of a situation. `trigger` is the one that the situation was played at."""

    asked: Sequence[Asked]
    trigger: Asked
    state: ClusterState
    used: Collection[int]
    """Keys of APIs that the client used when nothing was played."""
    repeats: bool = False
    """Whether the command wrote equal records in several batches when nothing was played."""

    def later(self, *keys: int) -> Iterator[Asked]:
        """Yield requests of these APIs that came after the response to the trigger."""
        start = self.trigger.replied_at
        if start is not None:
            for one in self.asked:
                if one.at > start and (not keys or one.key in keys) and one.body is not None:
                    yield one


Check = Callable[[Scene], Seen | None]


class Expectation(NamedTuple):
    """A statement in a situation."""

    code: str
    expected: str
    check: Check
    absent: Absent = Absent.FAILS


def label(asked: Asked) -> str:
    """`Fetch v11`."""
    return f"{api_name(asked.key) or asked.key} v{asked.version}"


def sends(*names: str) -> Check:
    """Return a check that finds any request of these APIs."""
    keys = tuple(map(key_of, names))

    def check(scene: Scene) -> Seen | None:
        return next((Seen(one, True, label(one)) for one in scene.later(*keys)), None)

    return check


def goes_on(scene: Scene) -> Seen | None:
    """Find a Produce or Fetch, as far as the client came when nothing was played."""
    for key in GOES_ON:
        if key in scene.used:
            return next((Seen(one, True, label(one)) for one in scene.later(key)), None)
    return None


def uses_connection(scene: Scene) -> Seen | None:
    """Find the next request on the same connection."""
    same = (one for one in scene.later() if one.connection == scene.trigger.connection)
    return next((Seen(one, True, label(one)) for one in same), None)


# versions


def uses_advertised(scene: Scene) -> Seen | None:
    """Find a request of a version that is not advertised."""
    for one in scene.asked:
        low, high = scene.state.versions.get(one.key, (0, -1))
        if one.number >= scene.trigger.number and one.key != API_VERSIONS and not low <= one.version <= high:
            return Seen(one, False, f"{label(one)}, where {low}-{high} are advertised")
    return None


def negotiates_down(scene: Scene) -> Seen | None:
    """Find ApiVersions in a version that the refusal names. Other connections may begin as this one did."""
    low, high = scene.state.versions[API_VERSIONS]
    for one in scene.asked:
        if one.key != API_VERSIONS or one.number <= scene.trigger.number:
            continue
        is_named = low <= one.version <= high
        if is_named or one.connection == scene.trigger.connection:
            return Seen(one, is_named, label(one))
    return None


# records


def partition_of(asked: Asked) -> tuple[Any, int] | None:
    """Return topic and number of the first partition of a Produce or Fetch request."""
    if asked.key == PRODUCE:
        return next((one.partition for one in produced(asked)), None)
    return next(iter(fetched(asked)), None)


def leader_of(state: ClusterState, key: tuple[Any, int]) -> int:
    """Return the leader of a partition, -1 without one."""
    topic, index = key
    row = _Row(topic)
    partition, _ = found(state, row, index)
    return -1 if partition is None else partition.leader


class _Row(NamedTuple):
    name: Any


def follows_leader(scene: Scene) -> Seen | None:
    """Find a request for the partition at its new leader."""
    key = partition_of(scene.trigger)
    if key is None:
        return None
    leader = leader_of(scene.state, key)
    for one in scene.later(scene.trigger.key):
        names = fetched(one) if one.key == FETCH else {each.partition for each in produced(one)}
        if one.node == leader and key in names:
            return Seen(one, True, f"{label(one)} at node {one.node}")
    return None


def _copies(scene: Scene) -> Iterator[tuple[Asked, bool, ProducedBatch]]:
    """Yield requests with records of the trigger again, and whether the batch has the same identity.

    If the command writes equal records itself, only batches with the same identity are copies.
    """
    batches = produced(scene.trigger)
    for one in scene.later(PRODUCE):
        for each in produced(one):
            same = [before for before in batches if before.records == each.records]
            is_same = any(each.identity == before.identity for before in same)
            is_told = each.producer_id >= 0 if is_same else not scene.repeats
            if same and is_told:
                yield one, is_same, each


def repeats_batch(scene: Scene) -> Seen | None:
    """Find the batch again. A producer that is not idempotent may send it with others."""
    for one, _, _ in _copies(scene):
        return Seen(one, True, label(one))
    loose = {one.partition for one in produced(scene.trigger) if one.producer_id < 0}
    for one in scene.later(PRODUCE):
        if loose & {each.partition for each in produced(one)}:
            return Seen(one, True, label(one))
    return None


def keeps_sequence(scene: Scene) -> Seen | None:
    """Find the batch again, to the same partition with the same producer id, epoch and sequence."""
    if not any(one.producer_id >= 0 for one in produced(scene.trigger)):
        return None
    for one, is_same, each in _copies(scene):
        where = f"partition {each.partition[1]}, producer id {each.producer_id}, epoch {each.epoch}"
        return Seen(one, is_same, f"{where}, sequence {each.sequence}")
    return None


def numbers_in_order(scene: Scene) -> Seen | None:
    """Find a batch that is neither sent again nor has the sequence after that of the batch before."""
    following: dict[tuple[Any, int, int], int] = {}
    known: dict[tuple[Any, int, int, int], bytes] = {}
    for one in scene.asked:
        for each in produced(one) if one.key == PRODUCE else ():
            wrong = "" if each.producer_id < 0 else _wrong_number(each, known, following)
            if wrong:
                return Seen(one, False, f"partition {each.partition[1]}, epoch {each.epoch}, {wrong}")
    return None


def _wrong_number(
    each: ProducedBatch,
    known: dict[tuple[Any, int, int, int], bytes],
    following: dict[tuple[Any, int, int], int],
) -> str:
    """Return what is wrong with the sequence of a batch, or an empty text. Both dictionaries learn of it."""
    before = known.get(each.identity)
    if before is not None:
        return "" if before == each.records else f"sequence {each.sequence} again, with other records"
    known[each.identity] = each.records
    producer = each.identity[:3]
    wanted = following.get(producer, each.sequence)
    following[producer] = each.sequence + each.count
    return "" if each.sequence == wanted else f"sequence {each.sequence} instead of {wanted}"


def drops_batch(scene: Scene) -> Seen | None:
    """Find the batch again, which a broker refused for good."""
    for one, _, _ in _copies(scene):
        return Seen(one, False, f"{label(one)} with the same records")
    return None


def fetches_same_offset(scene: Scene) -> Seen | None:
    """Find the next Fetch of the partition."""
    key = partition_of(scene.trigger)
    wanted = fetched(scene.trigger).get(key) if key else None
    if key is None:
        return None
    for one in scene.later(FETCH):
        offset = fetched(one).get(key)
        if offset is not None:
            return Seen(one, offset == wanted, f"offset {offset}, after a failed Fetch from {wanted}")
    return None


def resets_offset(scene: Scene) -> Seen | None:
    """Find a request for offsets of the log, or a Fetch from another one."""
    key = partition_of(scene.trigger)
    if key is None:
        return None
    wanted, again = fetched(scene.trigger)[key], 0
    for one in scene.later(FETCH, key_of("ListOffsets"), key_of("OffsetForLeaderEpoch")):
        if one.key != FETCH:
            return Seen(one, True, label(one))
        offset = fetched(one).get(key)
        if offset is not None and offset != wanted:
            return Seen(one, True, f"offset {offset}")
        again += offset == wanted
        if again >= _MANY:
            return Seen(one, False, f"offset {wanted} again, {plural(again, 'time')}")
    return None


def fetches_fully(scene: Scene) -> Seen | None:
    """Find the next Fetch at the node, which begins a session or does without."""
    for one in scene.later(FETCH):
        if one.node == scene.trigger.node:
            epoch = one.get("session_epoch", -1)
            return Seen(one, epoch in _FULL_FETCH, f"session epoch {epoch}")
    return None


def _opens_session(asked: Asked) -> bool:
    return bool(asked.body.session_id == 0 and asked.body.session_epoch == 0)


def keeps_session(scene: Scene) -> Seen | None:
    """Find the next Fetch on the connection. It opens no session if the one before did (KIP-227)."""
    for one in scene.later(FETCH):
        if one.connection == scene.trigger.connection:
            has_two = _opens_session(scene.trigger) and _opens_session(one)
            return Seen(one, not has_two, f"session id {one.body.session_id}, epoch {one.body.session_epoch}")
    return None


# coordinators and groups


def follows_coordinator(scene: Scene) -> Seen | None:
    """Find a request of the group at its new coordinator."""
    node = scene.state.coordinator("")
    for one in scene.later(*GROUP_APIS):
        if one.node == node:
            return Seen(one, True, f"{label(one)} at node {node}")
    return None


def _join(scene: Scene) -> Asked | None:
    group = scene.trigger.get("group_id")
    joins = scene.later(key_of("JoinGroup"))
    return next((one for one in joins if one.body.group_id == group), None)


def rejoins(scene: Scene) -> Seen | None:
    """Find a JoinGroup, whatever its member id."""
    one = _join(scene)
    return None if one is None else Seen(one, True, f"{label(one)}, member id {one.body.member_id!r}")


def rejoins_as_same(scene: Scene) -> Seen | None:
    """Find a JoinGroup with the member id of before."""
    return _joins_as(scene, scene.trigger.get("member_id"))


def rejoins_as_new(scene: Scene) -> Seen | None:
    """Find a JoinGroup without a member id. The client may find out at JoinGroup once more."""
    stale = 0
    for one in scene.later(key_of("JoinGroup")):
        if one.body.group_id == scene.trigger.body.group_id:
            stale += bool(one.body.member_id)
            if not one.body.member_id or stale >= _MANY:
                return Seen(one, not one.body.member_id, f"member id {one.body.member_id!r}")
    return None


def rejoins_as_promised(scene: Scene) -> Seen | None:
    """Find a JoinGroup with the member id of the response."""
    return _joins_as(scene, (scene.trigger.reply or {}).get("member_id"))


def _joins_as(scene: Scene, member_id: Any) -> Seen | None:
    one = _join(scene)
    if one is None:
        return None
    return Seen(one, one.body.member_id == member_id, f"member id {one.body.member_id!r}")


def restarts_membership(scene: Scene) -> Seen | None:
    """Find the next heartbeat of a KIP-848 member, which has epoch 0."""
    for one in scene.later(scene.trigger.key):
        if one.body.group_id == scene.trigger.body.group_id:
            return Seen(one, one.body.member_epoch == 0, f"member epoch {one.body.member_epoch}")
    return None


# producers, throttling, responses


def stays_fenced(scene: Scene) -> Seen | None:
    """Find a request of a transaction with the epoch that was fenced."""
    epoch = scene.trigger.body.producer_epoch
    for one in scene.later(*map(key_of, _EPOCH_OF)):
        used = one.get(_EPOCH_OF[api_name(one.key) or ""])
        if used == epoch:
            return Seen(one, False, f"{label(one)} with epoch {epoch}")
    return None


def respects_throttle(scene: Scene) -> Seen | None:
    """Find the next request on the connection of a throttled response."""
    for one in scene.asked:
        if one.replied_at is not None and (one.reply or {}).get("throttle_time_ms"):
            seen = _after_throttle(scene, one, one.replied_at)
            if seen is not None:
                return seen
    return None


def _after_throttle(scene: Scene, trigger: Asked, start: float) -> Seen | None:
    same = [one for one in scene.asked if one.connection == trigger.connection]
    before = [one for one in same if one.number < trigger.number]
    pipelined = {
        later.key
        for one, later in zip(before, same[1:], strict=False)
        if one.replied_at is None or later.at < one.replied_at
    }
    wait = (trigger.reply or {})["throttle_time_ms"] / 1000
    for one in same:
        after = one.at - start
        # A client that sends Fetch requests one by one has none on the way, whatever else it sends.
        may_be_on_the_way = one.key != trigger.key or one.key in pipelined
        if after > (_ON_THE_WAY_S if may_be_on_the_way else 0):
            passed = after >= wait - _EARLY_S
            return Seen(one, passed, f"{label(one)} after {after:.1f} s")
    return None


def uses_wrong_response(scene: Scene) -> Seen | None:
    """Find a request that needs the response which belongs to no request."""
    return next((Seen(one, False, label(one)) for one in scene.later(PRODUCE, FETCH)), None)
