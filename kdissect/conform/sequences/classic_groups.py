"""Groups of the classic protocol, and the offsets that they commit."""

from __future__ import annotations

import struct
from typing import Any

from kdissect.conform.broker_connection import Response
from kdissect.conform.broker_run import NONE, BrokerRun, entry, errors_of, first
from kdissect.conform.request_bodies import Fields, subscription
from kdissect.conform.sequences.suite_topic import coordinator, play_each, version_pairs
from kdissect.model.endpoint import Endpoint
from kdissect.model.wording import plural
from kdissect.schema.error_codes import error_name

_ILLEGAL_GENERATION, _UNKNOWN_MEMBER, _MEMBER_ID_REQUIRED = 22, 25, 79
_MANY_GROUPS = 8  # version of OffsetFetch (KIP-709)


def committed_offsets(run: BrokerRun) -> None:
    """Commit an offset and fetch it, in each version."""
    play_each(run, "committed offsets", version_pairs(run, "OffsetCommit", "OffsetFetch"), _committed_offset)


def _committed_offset(run: BrokerRun, commit: int, fetched: int) -> None:
    group = run.subject.name(f"offsets-{commit}-{fetched}")
    run.groups.append(group)
    to = coordinator(run, group)
    topic = {"name": run.subject.topic, "topic_id": run.subject.topic_id}
    response, none = _fetch_offset(run, group, topic, fetched, to)
    run.observe(
        "CNF031", response, passed=getattr(none, "committed_offset", None) == -1, expected="offset -1",
        seen=f"offset {none.committed_offset}" if none is not None else _lacking(response),
    )  # fmt: skip
    part = {"partition_index": 0, "committed_offset": 7, "committed_metadata": "kdissect"}
    body = {
        "group_id": group, "generation_id_or_member_epoch": -1, "member_id": "",
        "topics": [topic | {"partitions": [part]}],
    }  # fmt: skip
    stored = run.call("OffsetCommit", body, commit, to)
    code = first(stored, "topics", "partitions").error_code
    if commit == 0 and code:
        return  # version 0 stores offsets in ZooKeeper, and there may be none
    if not run.errs("CNF030", stored, code, NONE):
        return
    response, kept = _fetch_offset(run, group, topic, fetched, to)
    if kept is None:
        run.observe("CNF030", response, passed=False, expected="offset 7", seen=_lacking(response))
        return
    # Apache Kafka has no place for metadata in ZooKeeper, where version 0 stores the offset.
    is_same = kept.committed_offset == 7 and (kept.metadata == "kdissect" or commit == 0)
    run.observe(
        "CNF030", response, passed=is_same,
        expected=f"offset 7 with metadata, as OffsetCommit v{commit} stored it",
        seen=f"offset {kept.committed_offset}, metadata of {plural(len(kept.metadata or ''), 'character')}",
    )  # fmt: skip


def _fetch_offset(
    run: BrokerRun, group: str, topic: Fields, version: int, to: Endpoint
) -> tuple[Response, Any]:
    topics = [topic | {"partition_indexes": [0]}]
    body = {"group_id": group, "topics": topics, "groups": [{"group_id": group, "topics": topics}]}
    response = run.call("OffsetFetch", body, version, to)
    path = ("topics", "partitions") if version < _MANY_GROUPS else ("groups", "topics", "partitions")
    return response, entry(response.body, *path)


def _lacking(response: Response) -> str:
    codes = ", ".join(map(error_name, sorted(errors_of(response.body))))
    return f"no partition, {codes or 'no error code'}"


def classic_groups(run: BrokerRun) -> None:
    """Join, synchronize, heartbeat and leave, in each version."""
    names = "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"
    ranges = [run.versions(name) for name in names]
    versions = [[one[min(at, len(one) - 1)] for one in ranges] for at in range(max(map(len, ranges)))]
    play_each(run, "classic groups", versions, _classic_group)


def _classic_group(run: BrokerRun, join: int, sync: int, heartbeat: int, leave: int) -> None:
    group = run.subject.name(f"classic-{join}")
    run.groups.append(group)
    to = coordinator(run, group)
    joining = {
        "group_id": group, "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": subscription(run.subject.topic)}],
    }  # fmt: skip
    joined = run.call("JoinGroup", joining, join, to)
    if join >= 4:
        is_required = joined.body.error_code == _MEMBER_ID_REQUIRED and bool(joined.body.member_id)
        run.observe(
            "CNF040", joined, passed=is_required, expected="MEMBER_ID_REQUIRED and a member id",
            seen=f"error code {joined.body.error_code}",
        )  # fmt: skip
    if joined.body.error_code == _MEMBER_ID_REQUIRED:
        joined = run.call("JoinGroup", joining | {"member_id": joined.body.member_id}, join, to)
    if joined.body.error_code:
        run.skipped[f"classic group, JoinGroup v{join}"] = f"error code {joined.body.error_code}"
        return
    generation, member = joined.body.generation_id, joined.body.member_id
    who: Fields = {"group_id": group, "generation_id": generation, "member_id": member}
    assignment = assignment_of(run.subject.topic)
    syncing = who | {
        "protocol_type": "consumer", "protocol_name": "range",
        "assignments": [{"member_id": member, "assignment": assignment}],
    }  # fmt: skip
    synced = run.call("SyncGroup", syncing, sync, to)
    run.observe(
        "CNF041", synced, passed=not synced.body.error_code and bytes(synced.body.assignment) == assignment,
        expected=f"{plural(len(assignment), 'byte')} of the leader",
        seen=f"{plural(len(synced.body.assignment or b''), 'byte')}, error code {synced.body.error_code}",
    )  # fmt: skip
    alive = run.call("Heartbeat", who, heartbeat, to)
    run.errs("CNF042", alive, alive.body.error_code, NONE)
    other = run.call("Heartbeat", who | {"generation_id": generation + 1}, heartbeat, to)
    run.errs("CNF043", other, other.body.error_code, _ILLEGAL_GENERATION)
    left = run.call("LeaveGroup", who | {"members": [{"member_id": member}]}, leave, to)
    if not left.body.error_code:
        gone = run.call("Heartbeat", who, heartbeat, to)
        run.errs("CNF044", gone, gone.body.error_code, _UNKNOWN_MEMBER)
        run.call("SyncGroup", syncing, sync, to)  # a refusal has the layout of its version, too


def assignment_of(topic: str) -> bytes:
    """Return an assignment of the first partition, version 0."""
    name = topic.encode()
    return b"\0\0" + struct.pack(">ih", 1, len(name)) + name + struct.pack(">iii", 1, 0, 0)
