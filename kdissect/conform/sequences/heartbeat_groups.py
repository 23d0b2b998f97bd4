"""Groups whose members send heartbeats with an epoch: consumer groups (KIP-848), share groups (KIP-932) and
streams groups (KIP-1071).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kdissect.conform.broker_connection import Response
from kdissect.conform.broker_run import NONE, BrokerRun, NoResponseError, entry, first
from kdissect.conform.request_bodies import Fields
from kdissect.conform.sequences.suite_topic import coordinator, play_each
from kdissect.history.error_codes import FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID, UNSUPPORTED_VERSION
from kdissect.model.endpoint import Endpoint
from kdissect.model.wording import plural
from kdissect.schema.error_codes import error_name

CONSUMER, SHARE, STREAMS = "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"
_GROUP_NOT_FOUND = 69
_UNRELEASED_INSTANCE_ID, _UNSUPPORTED_ASSIGNOR, _STALE_MEMBER_EPOCH = 111, 112, 113
_MISSING_SOURCE_TOPICS = 1  # of a streams group (KIP-1071)
_LEAVES = -1
_FAR_EPOCH = 1_000
_MEMBER_COMMITS = 9  # version of OffsetCommit with a member epoch (KIP-848)
_OWN_IDS = 1  # version of ConsumerGroupHeartbeat from which on the client makes the member id (KIP-1082)
_SUBTOPOLOGY = "0"
_REBALANCE_MS = 10_000


class Member:
    """A member of a group. It owns the partitions that the broker assigned to it last.

    `reported` are the partitions that its last heartbeat named, `assigned` those that the broker named last.
    """

    def __init__(self, run: BrokerRun, api: str, version: int, group: str, number: int) -> None:
        self.run = run
        self.api = api
        self.version = version
        self.group = group
        self.id = "" if api == CONSUMER and version < _OWN_IDS else run.subject.member_id(number)
        self.epoch = 0
        self.assigned: frozenset[int] = frozenset()
        self.reported: frozenset[int] = frozenset()
        self.topic = run.subject.topic
        self.to = self._coordinator()

    def _coordinator(self) -> Endpoint:
        if self.group not in self.run.groups:
            self.run.groups.append(self.group)
        return coordinator(self.run, self.group)

    def join(self, **more: Any) -> Response:
        """Send the first heartbeat. Raises NoResponseError if the protocol is not enabled."""
        timeout = {} if self.api == SHARE else {"rebalance_timeout_ms": _REBALANCE_MS}
        what: Fields = {"subscribed_topic_names": [self.topic]}
        if self.api == STREAMS:
            topology = {"subtopology_id": _SUBTOPOLOGY, "source_topics": [self.topic]}
            what = {
                "topology": {"epoch": 0, "subtopologies": [topology]}, "process_id": self.id,
                "client_tags": [],
            }  # fmt: skip
        response = self._send(0, timeout | what | more)
        if response.body.error_code == UNSUPPORTED_VERSION:
            raise NoResponseError(response, f"{self.api} has UNSUPPORTED_VERSION: the broker disables it")
        if not response.body.error_code:
            self.id = response.body.member_id or self.id
        return response

    def beat(self) -> Response:
        """Send the next heartbeat."""
        return self._send(self.epoch)

    def beat_as(self, epoch: int, member_id: str | None = None) -> Response:
        """Send a heartbeat that is not the next one, and leave the state as it is."""
        return self.run.call(self.api, self._body(epoch) | ({"member_id": member_id} if member_id else {}),
                             self.version, self.to)  # fmt: skip

    def _body(self, epoch: int) -> Fields:
        owned = sorted(self.assigned)
        subject = self.run.subject
        tasks = [{"subtopology_id": _SUBTOPOLOGY, "partitions": owned}] if owned else []
        return {
            "group_id": self.group, "member_id": self.id, "member_epoch": epoch,
            "topic_partitions": [{"topic_id": subject.topic_id, "partitions": owned}] if owned else [],
            "active_tasks": tasks, "standby_tasks": [], "warmup_tasks": [],
        }  # fmt: skip

    def _send(self, epoch: int, more: Mapping[str, Any] | None = None) -> Response:
        response = self.run.call(self.api, self._body(epoch) | dict(more or {}), self.version, self.to)
        self.reported = self.assigned
        body = response.body
        if not body.error_code:
            self.epoch = body.member_epoch
            self.assigned = self._assigned(body)
        return response

    def _assigned(self, body: Any) -> frozenset[int]:
        """Return the partitions that a response assigns. Without an assignment they stay."""
        if self.api == STREAMS:
            rows = body.active_tasks
        else:
            rows = None if body.assignment is None else body.assignment.topic_partitions
        if rows is None:
            return self.assigned
        return frozenset(number for row in rows for number in row.partitions)


def consumer_groups(run: BrokerRun) -> None:
    """Play the life of members in each version, and what a consumer group refuses."""
    play_each(run, "consumer groups", [(one,) for one in run.versions(CONSUMER)], _consumer_group)


def streams_groups(run: BrokerRun) -> None:
    """Play the life of members in each version, and a topology whose topic does not exist."""
    play_each(run, "streams groups", [(one,) for one in run.versions(STREAMS)], _streams_group)


def _consumer_group(run: BrokerRun, version: int) -> None:
    group = run.subject.name(f"consumers-{version}")
    one, other = (Member(run, CONSUMER, version, group, number) for number in (1, 2))
    if not joins(one):
        return
    _share_partitions(run, one, other)
    if run.has("ConsumerGroupDescribe"):
        _describe(run, one, other)
    refused = Member(run, CONSUMER, version, group, 3).join(server_assignor="kdissect")
    run.errs("CNF086", refused, refused.body.error_code, _UNSUPPORTED_ASSIGNOR)
    if run.has("OffsetCommit") and run.highest("OffsetCommit") >= _MEMBER_COMMITS:
        _commit_with_far_epoch(run, one)
    other.beat_as(_LEAVES)
    fences_and_leaves(one)
    _static_members(run, version)


def _streams_group(run: BrokerRun, version: int) -> None:
    one = Member(run, STREAMS, version, run.subject.name(f"streams-{version}"), 1)
    if not joins(one):
        return
    _has_all(run, one)
    fences_and_leaves(one)
    lost = Member(run, STREAMS, version, run.subject.name(f"no-source-{version}"), 2)
    lost.topic = run.subject.name("no-topic")
    response = lost.join()
    codes = [row.status_code for row in response.body.status or ()]
    run.observe(
        "CNF088", response, passed=_MISSING_SOURCE_TOPICS in codes and not response.body.error_code,
        expected="status MISSING_SOURCE_TOPICS (1)",
        seen=f"status codes {', '.join(map(str, codes)) or 'none'}, error code {response.body.error_code}",
    )  # fmt: skip
    lost.beat_as(_LEAVES)


def joins(member: Member) -> bool:
    """Join, and judge the response. Returns whether it has no error."""
    response = member.join()
    body = response.body
    seen = error_name(body.error_code)
    if not body.error_code:
        seen = f"member epoch {body.member_epoch}, {'a' if body.member_id else 'no'} member id"
    passed = not body.error_code and body.member_epoch > 0 and bool(body.member_id)
    member.run.observe(
        "CNF080", response, passed=passed, expected="a member id and an epoch above 0", seen=seen
    )
    return not body.error_code


def _wanted(run: BrokerRun) -> frozenset[int]:
    return frozenset(range(run.partitions))


def _has_all(run: BrokerRun, member: Member) -> None:
    last = run.until(member.beat, lambda _: member.assigned == _wanted(run))
    _note_assignment(run, last, [member], is_shared=False)


def _note_assignment(
    run: BrokerRun, response: Response, members: Iterable[Member], *, is_shared: bool
) -> None:
    parts = [sorted(one.assigned) for one in members]
    seen = " and ".join(f"partitions {part}" for part in parts)
    passed = {each for part in parts for each in part} == _wanted(run) and not is_shared
    run.observe(
        "CNF081", response, passed=passed,
        expected=f"each of {plural(run.partitions, 'partition')} at one member",
        seen=f"{seen}{', one of them at two members' if is_shared else ''}",
    )  # fmt: skip


def _share_partitions(run: BrokerRun, one: Member, other: Member) -> None:
    """Let a second member join, and both send heartbeats until both have partitions, if there are two."""
    _has_all(run, one)
    last = other.join()
    if last.body.error_code:
        run.errs("CNF080", last, last.body.error_code, NONE)
        return
    is_shared = False

    def beat() -> Response:
        nonlocal is_shared
        one.beat()
        response = other.beat()
        taken = one.assigned | one.reported
        is_shared = is_shared or bool(taken & other.assigned)
        return response

    has_part = min(1, run.partitions - 1)
    last = run.until(
        beat, lambda _: len(other.assigned) >= has_part and one.assigned | other.assigned == _wanted(run)
    )
    _note_assignment(run, last, (one, other), is_shared=is_shared)


def _describe(run: BrokerRun, *members: Member) -> None:
    found = run.call("ConsumerGroupDescribe", {"group_ids": [members[0].group]}, to=members[0].to)
    rows = {row.member_id: row.member_epoch for row in first(found, "groups").members}
    wanted = {one.id: one.epoch for one in members}
    run.observe(
        "CNF087", found, passed=rows == wanted, expected=f"{plural(len(wanted), 'member')} with their epochs",
        seen=f"{plural(len(rows), 'member')}{'' if rows == wanted else ', others or with other epochs'}",
    )  # fmt: skip


def _commit_with_far_epoch(run: BrokerRun, member: Member) -> None:
    part = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    topic = {"name": run.subject.topic, "topic_id": run.subject.topic_id, "partitions": [part]}
    body = {
        "group_id": member.group, "member_id": member.id, "topics": [topic],
        "generation_id_or_member_epoch": member.epoch + _FAR_EPOCH,
    }  # fmt: skip
    response = run.call("OffsetCommit", body, to=member.to)
    code = getattr(entry(response.body, "topics", "partitions"), "error_code", NONE)
    run.errs("CNF089", response, code, _STALE_MEMBER_EPOCH)


def fences_and_leaves(member: Member) -> None:
    """Send heartbeats that a group refuses, then leave it."""
    run = member.run
    alive = member.beat()
    run.errs("CNF082", alive, alive.body.error_code, NONE)
    fenced = member.beat_as(member.epoch + _FAR_EPOCH)
    run.errs("CNF083", fenced, fenced.body.error_code, FENCED_MEMBER_EPOCH)
    unknown = member.beat_as(member.epoch, run.subject.member_id(9))
    run.errs("CNF084", unknown, unknown.body.error_code, UNKNOWN_MEMBER_ID)
    left = member.beat_as(_LEAVES)
    run.observe(
        "CNF085", left, passed=not left.body.error_code and left.body.member_epoch == _LEAVES,
        expected="member epoch -1",
        seen=f"member epoch {left.body.member_epoch}, error code {left.body.error_code}",
    )  # fmt: skip
    if not left.body.error_code:
        after = member.beat_as(member.epoch)  # of a group without members, which a broker may delete
        run.errs("CNF085", after, after.body.error_code, UNKNOWN_MEMBER_ID, _GROUP_NOT_FOUND)


def _static_members(run: BrokerRun, version: int) -> None:
    """Let a second member join with the instance id of a first one that has not left."""
    group = run.subject.name(f"static-{version}")
    one, other = (Member(run, CONSUMER, version, group, number) for number in (4, 5))
    if one.join(instance_id="kdissect").body.error_code:
        return
    refused = other.join(instance_id="kdissect")
    run.errs("CNF079", refused, refused.body.error_code, _UNRELEASED_INSTANCE_ID)
    one.beat_as(_LEAVES)
