"""Responses of coordinators: groups of both protocols, and committed offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kdissect.conform.client.classic_groups import UNKNOWN_MEMBER
from kdissect.conform.client.cluster_state import Body, ClusterState, Commit, ModernMember
from kdissect.conform.client.exchange_log import Asked, topic_of
from kdissect.conform.client.record_responses import UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID

NOT_COORDINATOR, FENCED_MEMBER_EPOCH, GROUP_NOT_FOUND = 16, 110, 69
_MANY_COORDINATORS, _MANY_GROUPS = 4, 8  # versions of FindCoordinator (KIP-699) and OffsetFetch (KIP-709)
_HEARTBEAT_MS = 1000
_LEAVES = (-1, -2)  # epochs of members that leave (KIP-848)
_MAX_MEMBERS = 100
NO_OFFSET = Commit(-1, -1, "")


def is_elsewhere(state: ClusterState, asked: Asked, key: str) -> bool:
    """Return whether another node coordinates a group or a transactional id."""
    return state.coordinator(key) != asked.node


def find_coordinator(state: ClusterState, asked: Asked) -> Body:
    """Return the body for FindCoordinator."""
    if asked.version >= _MANY_COORDINATORS:
        return {"coordinators": [{"key": key} | _place(state, key) for key in asked.body.coordinator_keys]}
    return _place(state, asked.body.key)


def _place(state: ClusterState, key: str) -> Body:
    node = state.coordinator(key)
    where = state.addresses[node]
    return {"node_id": node, "host": where.host, "port": where.port, "error_code": 0, "error_message": None}


def join_group(state: ClusterState, asked: Asked) -> Body:
    """Return the body for JoinGroup."""
    body = asked.body
    if is_elsewhere(state, asked, body.group_id):
        return {
            "error_code": NOT_COORDINATOR, "generation_id": -1, "protocol_name": "", "leader": "",
            "member_id": body.member_id, "members": [],
        }  # fmt: skip
    return state.group(body.group_id).join(body, asked.version, asked.header.client_id)


def sync_group(state: ClusterState, asked: Asked) -> Body:
    """Return the body for SyncGroup."""
    if is_elsewhere(state, asked, asked.body.group_id):
        return {"error_code": NOT_COORDINATOR}
    return state.group(asked.body.group_id).sync(asked.body)


def heartbeat(state: ClusterState, asked: Asked) -> Body:
    """Return the body for Heartbeat."""
    body = asked.body
    if is_elsewhere(state, asked, body.group_id):
        return {"error_code": NOT_COORDINATOR}
    return {"error_code": state.group(body.group_id).heartbeat(body.member_id, body.generation_id)}


def leave_group(state: ClusterState, asked: Asked) -> Body:
    """Return the body for LeaveGroup."""
    body = asked.body
    if is_elsewhere(state, asked, body.group_id):
        return {"error_code": NOT_COORDINATOR}
    group = state.group(body.group_id)
    rows = asked.get("members")
    if rows is None:
        return {"error_code": group.leave(body.member_id)}
    return {
        "members": [
            {
                "member_id": one.member_id, "group_instance_id": one.group_instance_id,
                "error_code": group.leave(one.member_id),
            }
            for one in rows
        ]
    }  # fmt: skip


def offset_commit(state: ClusterState, asked: Asked) -> Body:
    """Return the body for OffsetCommit."""
    body = asked.body
    epoch = asked.get("generation_id_or_member_epoch", -1)
    code = NOT_COORDINATOR if is_elsewhere(state, asked, body.group_id) else 0
    if not code and body.group_id in state.modern:
        members = state.modern[body.group_id]
        code = 0 if epoch < 0 or body.member_id in members else UNKNOWN_MEMBER
    elif not code:
        code = state.group(body.group_id).commit_error(asked.get("member_id", ""), epoch)
    return {"topics": list(committed(state, asked, code, state.commits))}


def committed(
    state: ClusterState, asked: Asked, code: int, into: dict[tuple[str, str, int], Commit]
) -> Iterator[Body]:
    """Store the offsets of a request without an error. Yields the rows of the response."""
    for row in asked.body.topics:
        key = topic_of(row)
        name, missing = name_of(state, key)
        parts = []
        for part in row.partitions:
            if not code and name is not None:
                epoch = getattr(part, "committed_leader_epoch", -1)
                into[asked.body.group_id, name, part.partition_index] = Commit(
                    part.committed_offset, epoch, part.committed_metadata
                )
            parts.append({"partition_index": part.partition_index, "error_code": code or missing})
        yield {"name": name, "topic_id": key, "partitions": parts}


def name_of(state: ClusterState, key: Any) -> tuple[str | None, int]:
    """Return the name of a topic that a request names by name or id, or the error code."""
    if isinstance(key, bytes):
        topic = state.topics.with_id(key)
        return (topic.name, 0) if topic else (None, UNKNOWN_TOPIC_ID)
    return (str(key), 0) if key else (None, UNKNOWN_TOPIC)


def offset_fetch(state: ClusterState, asked: Asked) -> Body:
    """Return the body for OffsetFetch."""
    if asked.version >= _MANY_GROUPS:
        return {"groups": [_of_group(state, asked, row.group_id, row.topics) for row in asked.body.groups]}
    body = _of_group(state, asked, asked.body.group_id, asked.get("topics"))
    body.pop("group_id")
    return body


def _of_group(state: ClusterState, asked: Asked, group: str, rows: Any) -> Body:
    if is_elsewhere(state, asked, group):
        return {"group_id": group, "topics": [], "error_code": NOT_COORDINATOR}
    if rows is None:
        known: dict[str, list[int]] = {}
        for topic_name, index in [key[1:] for key in state.commits if key[0] == group]:
            known.setdefault(topic_name, []).append(index)
        wanted: list[tuple[Any, list[int]]] = list(known.items())
    else:
        wanted = [(topic_of(row), list(row.partition_indexes)) for row in rows]
    topics = []
    for key, indexes in wanted:
        name, code = name_of(state, key)
        parts = []
        for index in indexes:
            found = state.commits.get((group, name or "", index), NO_OFFSET)
            parts.append({
                "partition_index": index, "committed_offset": found.offset, "metadata": found.metadata,
                "committed_leader_epoch": found.epoch, "error_code": code,
            })  # fmt: skip
        topic = state.topics.named(name) if name else None
        topics.append({"name": name, "topic_id": topic.id if topic else key, "partitions": parts})
    return {"group_id": group, "topics": topics}


def consumer_heartbeat(state: ClusterState, asked: Asked) -> Body:
    """Return the body for ConsumerGroupHeartbeat. The first member of a group has all partitions."""
    body = asked.body
    if is_elsewhere(state, asked, body.group_id):
        return {"error_code": NOT_COORDINATOR}
    members = state.modern.setdefault(body.group_id, {})
    member_id = body.member_id or f"member-{asked.number}"
    if body.member_epoch in _LEAVES:
        members.pop(member_id, None)
        return {"member_id": member_id, "member_epoch": body.member_epoch}
    member = members.get(member_id)
    if body.member_epoch == 0 and len(members) < _MAX_MEMBERS:
        member = members[member_id] = ModernMember()
        member.epoch = 1
    if member is None:
        return {"error_code": UNKNOWN_MEMBER}
    if body.member_epoch not in (0, member.epoch):
        return {"error_code": FENCED_MEMBER_EPOCH}
    if body.subscribed_topic_names is not None:
        member.topics = [str(name) for name in body.subscribed_topic_names]
    return {
        "member_id": member_id, "member_epoch": member.epoch, "heartbeat_interval_ms": _HEARTBEAT_MS,
        "assignment": _new_assignment(state, members, member),
    }  # fmt: skip


def _new_assignment(
    state: ClusterState, members: dict[str, ModernMember], member: ModernMember
) -> Body | None:
    """Return the assignment of a member, None if the member has it already."""
    is_first = next(iter(members.values())) is member
    topics = [state.topics.named(name) for name in member.topics] if is_first else []
    wanted = {one.id: list(range(len(one.partitions))) for one in topics if one is not None}
    if member.sent == wanted:
        return None
    member.sent = wanted
    return {"topic_partitions": [{"topic_id": key, "partitions": parts} for key, parts in wanted.items()]}


def list_groups(state: ClusterState, _: Asked) -> Body:
    """Return the body for ListGroups."""
    rows = [
        {"group_id": name, "protocol_type": one.kind, "group_state": one.state, "group_type": "classic"}
        for name, one in state.groups.items()
    ]
    return {"groups": rows}


def describe_groups(state: ClusterState, asked: Asked) -> Body:
    """Return the body for DescribeGroups, without the members."""
    return {
        "groups": [
            {
                "group_id": name, "group_state": one.state if one else "Dead",
                "protocol_type": one.kind if one else "", "protocol_data": "",
            }
            for name, one in ((name, state.groups.get(name)) for name in asked.body.groups)
        ]
    }  # fmt: skip


def delete_groups(state: ClusterState, asked: Asked) -> Body:
    """Return the body for DeleteGroups: groups without members have no offsets afterwards."""
    rows = []
    for name in asked.body.groups_names:
        one = state.groups.get(name)
        if one is not None:
            state.commits = {key: found for key, found in state.commits.items() if key[0] != name}
        rows.append({"group_id": name, "error_code": 0 if one is not None else GROUP_NOT_FOUND})
    return {"results": rows}


HANDLERS = {
    "FindCoordinator": find_coordinator,
    "JoinGroup": join_group,
    "SyncGroup": sync_group,
    "Heartbeat": heartbeat,
    "LeaveGroup": leave_group,
    "OffsetCommit": offset_commit,
    "OffsetFetch": offset_fetch,
    "ConsumerGroupHeartbeat": consumer_heartbeat,
    "ListGroups": list_groups,
    "DescribeGroups": describe_groups,
    "DeleteGroups": delete_groups,
}
