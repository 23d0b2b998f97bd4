"""Members of streams groups as plain values: tasks, epochs and statuses (docs/statistics.md)."""

from __future__ import annotations

from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.schema.enums import enum_name
from kdissect.stats.by_group.group_log import GroupLog, MemberLog, in_words

Facts = dict[str, Any]
_ROLES = ("active", "standby", "warmup")  # of `GroupTraffic.assigned`


def task_rows(log: GroupLog) -> list[Facts]:
    """Return a row for each member of a streams group."""
    return [
        {
            **_who(member),
            "gone": member.how,
            "process_id": member.streams.process_id,
            "epoch": member.epoch,
            "topology_epoch": member.streams.topology_epoch,
            **_tasks(member),
        }
        for member in log.members
        if member.streams is not None and member.is_accepted
    ]


def status_rows(log: GroupLog) -> list[Facts]:
    """Return a row for each member and status, in the order of their first response."""
    rows = [
        (status.first_ns, member, key, status)
        for member in log.members
        if member.streams is not None
        for key, status in member.streams.statuses.items()
    ]
    rows.sort(key=lambda row: row[0])
    return [
        {
            **_who(member),
            "status": enum_name("streamsStatusCode", code) or str(code),
            "detail": detail,
            "count": status.count,
            "first": rfc3339(status.first_ns),
            "last": rfc3339(status.last_ns),
            "lasts": status.last_ns == member.last_heartbeat_ns and member.how is None,
        }
        for _, member, (code, detail), status in rows
    ]


def _who(member: MemberLog) -> Facts:
    return {"member_id": member.member_id, **member.who(), "instance_id": member.instance_id}


def _tasks(member: MemberLog) -> dict[str, list[str] | None]:
    """Return the tasks by role; None before the member received any."""
    if member.held is None:
        return dict.fromkeys(_ROLES)
    named = [text.partition(" ") for text in in_words(member.held)]
    return {role: [task for of, _, task in named if of == role] for role in _ROLES}
