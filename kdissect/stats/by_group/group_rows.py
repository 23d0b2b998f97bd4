"""The facts of `GroupTraffic` as plain values, for JSON and tables (docs/statistics.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.history.fact import GroupKey
from kdissect.history.groups.classic_group import (
    Cause,
    ClassicGroup,
    ClassicMember,
    ClassicState,
    Rebalance,
    before,
    earliest,
)
from kdissect.history.groups.group_attempts import Attempt
from kdissect.history.groups.modern_group import ModernGroup, ModernRebalance
from kdissect.model.packets.packet import NEVER_NS
from kdissect.session.identities import cluster_fact, plain_name, topic_now
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.delivery_rows import delivery_rows
from kdissect.stats.by_group.group_log import GroupLog, MemberLog, in_words
from kdissect.stats.by_group.group_traffic import GroupTraffic
from kdissect.stats.by_group.migrated_groups import is_migrated, joined_row
from kdissect.stats.by_group.position_table import Partition
from kdissect.stats.by_group.streams_rows import status_rows, task_rows

Facts = dict[str, Any]
Commits = Mapping[Partition, int]
"""The offsets that a group committed."""
Ends = Mapping[tuple[str, Partition], int]
"""The ends of partitions, by capture set."""
_NO_FETCH_NS = 10_000_000_000  # a Fetch waits half a second by default (fetch.max.wait.ms)
_NOT_CAPTURED = "coordinator not in the capture"
_NO_MEMBER = "no member seen"
_NO_NAMES: Mapping[str, str] = {}
_RECONCILING = "reconciling"  # not all members have come to the group's epoch (KIP-848)
UNANSWERED = "join unanswered"  # all that asked to join went before there was an answer
REBALANCING = "rebalancing"


def group_facts(traffic: GroupTraffic, wanted: Callable[[str], object] | None = None) -> list[Facts]:
    """Return the `wanted` groups by id. A group that migrated from one protocol to another is a single group
    (KIP-848).
    """
    traffic.catch_up()
    commits, ends = traffic.positions.commits(), traffic.positions.ends()
    deliveries = delivery_rows(traffic)
    found: list[Facts] = []
    for key, log in sorted(traffic.logs.items(), key=lambda item: item[0]):
        if key[1] and log.is_wanted and (wanted is None or wanted(key[1])):
            rows = _group(traffic, key, log, commits.get(key, {}), ends)
            found += [row | {"deliveries": deliveries.get(key, [])} for row in rows]
    return found


def _group(
    traffic: GroupTraffic, key: GroupKey, log: GroupLog, commits: Commits, ends: Ends
) -> Iterator[Facts]:
    classic, modern = traffic.classic.groups.peek(key), traffic.modern.groups.peek(key)
    common = _common(traffic, key, log, commits, ends)
    has_classic = classic is not None and (
        classic.total_rebalances or len(classic.members) or classic.attempts
    )
    if classic is not None and has_classic and modern is not None and is_migrated(modern):
        rows = _classic(classic, log), _modern(traffic, modern, log)
        yield common | joined_row(classic, modern, *rows, log)
        return
    if classic is not None and has_classic:
        yield common | _classic(classic, log)
    if modern is not None:
        yield common | _modern(traffic, modern, log)
    if modern is None and not has_classic:
        nothing: Facts = {
            "kind": None,
            "protocol": None,
            "generation": None,
            "rebalances": [],
            "rebalance_count": 0,
            "rebalancing": None,
        }
        yield common | nothing | {"state": _why_nothing(traffic, log)}


def _why_nothing(traffic: GroupTraffic, log: GroupLog) -> str:
    """Return the reason why a named group shows no member."""
    coordinator = log.coordinator
    away = coordinator is not None and traffic.leaders.is_captured(coordinator) is False
    return _NOT_CAPTURED if away else _NO_MEMBER


def _common(traffic: GroupTraffic, key: GroupKey, log: GroupLog, commits: Commits, ends: Ends) -> Facts:
    _mark_missing(traffic, key, log)
    members = list(log.members)
    partitions = _partitions(traffic, log.info, members, commits, ends)
    lags = [row["lag"] for row in partitions if row["lag"] is not None]
    return {
        **cluster_fact(log.info),
        "group": key[1],
        "coordinator": log.coordinator,
        "members": [_member(member) for member in members],
        "tasks": task_rows(log),
        "statuses": status_rows(log),
        "partitions": partitions,
        "lag": sum(lags) if lags else None,
        "named_by": [
            {"client_id": client_id, "api": api, "requests": count}
            for (client_id, api), count in log.named_by.items()
        ],
        "errors": dict(log.errors.most_common()),
        "failures": [
            {
                "api": api,
                "error": error,
                **client.facts(),
                "count": failed.count,
                "first": rfc3339(failed.first_ns),
                "last": rfc3339(failed.last_ns),
                "every_ns": failed.every_ns,
            }
            for (api, error, client), failed in log.failures.items()
        ],
        "rejoins": [
            {
                **client.facts(),
                "after": how,
                "reason": reason or None,
                "count": joined.count,
                "first": rfc3339(joined.first_ns),
                "last": rfc3339(joined.last_ns),
                "every_ns": joined.every_ns,
            }
            for (how, reason, client), joined in log.rejoins.items()
        ],
        "denied": [
            {**client.facts(), "api": api, "attempts": count} for (client, api), count in log.denied.items()
        ],
    }


def _mark_missing(traffic: GroupTraffic, key: GroupKey, log: GroupLog) -> None:
    """Mark members that are not in the group's last state and never sent a request to leave.

    Asked again while a capture is read, the answer may be different.
    """
    classic, modern = traffic.classic.groups.peek(key), traffic.modern.groups.peek(key)
    there = {member.member_id for group in (classic, modern) if group is not None for member in group.members}
    if modern is not None:
        there -= modern.lost().keys()
    for member in log.members:
        if member.left_ns is None:
            member.how = None  # found out here, the last time, without a request
    for member in log.members:
        if member.how is None and member.member_id not in there:
            member.how = _missing(log, member)


def _missing(log: GroupLog, member: MemberLog) -> str:
    if not member.is_accepted and member.joined_ns is None and member.held is None:
        return "refused"
    return "replaced" if _came_back(log, member) else "lost"


def _came_back(log: GroupLog, member: MemberLog) -> bool:
    """Return whether a static member joined again with another id (KIP-345)."""
    return member.instance_id is not None and any(
        other.instance_id == member.instance_id and _joined(other) > _joined(member) for other in log.members
    )


def _joined(member: MemberLog) -> int:
    return NEVER_NS if member.joined_ns is None else member.joined_ns


def _classic(group: ClassicGroup, log: GroupLog) -> Facts:
    open_one = _under_way(group, log)
    state = str(group.state) if open_one is None else open_one.pop("state")
    return {
        "kind": "classic",
        "protocol": " ".join(part for part in (group.protocol_type, group.protocol) if part) or None,
        "state": state,
        "generation": group.generation,
        "rebalance_count": group.total_rebalances,
        "rebalances": [_rebalance(rebalance, group, log) for rebalance in group.rebalances],
        "rebalancing": open_one,
    }


def _rebalance(rebalance: Rebalance, group: ClassicGroup, log: GroupLog) -> Facts:
    began = rebalance.since_ns
    names = _attempt_names(group)
    causes = rebalance.why(group.leader)
    return {
        "generation": rebalance.generation,
        "time": rfc3339(began),
        "took_ns": max(rebalance.stable_ns - began, 0) if rebalance.stable_ns > NEVER_NS else None,
        "members": len({_identity(log, member) for member in rebalance.members}),
        "causes": _causes(causes.items(), log, names),
        "reasons": {_name(log, member): reason for member, reason in sorted(rebalance.reasons.items())},
    }


def _under_way(group: ClassicGroup, log: GroupLog) -> Facts | None:
    """Return a rebalance that did not end in the capture: its start, its reason, its members, and the missing
    members.

    Joining shows as JoinGroups without an answer or members asked to join again, after the last generation.
    Syncing shows as a generation whose leader has not sent the assignments yet.
    """
    last = group.rebalance
    done_ns = NEVER_NS if last is None else last.began.answered_ns
    tries = [one for one in group.attempts if one.is_join and one.sent_ns > done_ns]
    if not tries and group.notified_ns is None:
        return _syncing(group, log)
    names = _attempt_names(group)
    waiting = {one.who for one in tries if one.given_up_ns is None}
    is_given_up = tries and not waiting and not len(group.members)
    back = [one.sent_ns for one in tries if one.member_id in group.members]
    shown_ns = earliest(group.notified_ns, *back)
    causes: dict[Cause, dict[str, int]] = {
        Cause.MEMBER_LEFT: {who: evidence.sent_ns for who, evidence in group.left.items()},
        Cause.MEMBER_JOINED: {one.who: one.sent_ns for one in tries if one.member_id not in group.members},
    }
    since_ns = earliest(shown_ns, *(one.sent_ns for one in tries))
    assert since_ns is not None  # one or the other was seen
    missing = [one.member_id for one in group.members if one.member_id not in waiting and _is_there(log, one)]
    found = before(causes, shown_ns) or {Cause.UNKNOWN: {""}}
    return {
        "state": UNANSWERED if is_given_up else REBALANCING,
        "generation": None,
        "time": rfc3339(since_ns),
        "causes": _causes(found.items(), log, names),
        "joined": [_name(log, who, names) for who in sorted(waiting)],
        "gave_up": _gave_up(tries, names),
        "waiting_for": [_name(log, who) for who in missing],
        "revoking": [],
    }


def _gave_up(tries: Iterable[Attempt], names: Mapping[str, str]) -> list[Facts]:
    return [
        {"member": names.get(one.who), "at": rfc3339(one.given_up_ns)}
        for one in tries
        if one.given_up_ns is not None
    ]


def _is_there(log: GroupLog, member: ClassicMember) -> bool:
    known = log.members.peek(member.member_id)
    return known is None or known.how is None


def _syncing(group: ClassicGroup, log: GroupLog) -> Facts | None:
    """Return a generation that began and has no assignments yet."""
    last = group.rebalance
    if last is None or last.stable_ns > NEVER_NS or group.state is not ClassicState.SYNCING:
        return None
    return {
        "state": str(group.state),
        "generation": last.generation,
        "time": rfc3339(last.since_ns),
        "causes": _causes(last.why(group.leader).items(), log, _attempt_names(group)),
        "joined": [_name(log, who) for who in sorted(last.synced)],
        "gave_up": [],
        "waiting_for": [_name(log, who) for who in sorted(last.members - last.synced)],
        "revoking": [],
    }


def _attempt_names(group: ClassicGroup | ModernGroup) -> dict[str, str]:
    return {one.who: one.name for one in group.attempts}


def _modern(traffic: GroupTraffic, group: ModernGroup, log: GroupLog) -> Facts:
    open_one = _reconciling(traffic, group, log)
    lost, members = group.lost(), _members_of(group)
    names = _attempt_names(group)
    return {
        "kind": str(group.kind),
        "protocol": None,
        "state": _settled_state(group, members) if open_one is None else open_one.pop("state"),
        "generation": group.epoch,
        "rebalance_count": group.raises,
        "rebalances": [_raise(rebalance, lost, log, names) for rebalance in group.rebalances],
        "rebalancing": open_one,
    }


def _settled_state(group: ModernGroup, members: list[str]) -> str:
    if not members:
        return "empty"
    return "unassigned" if group.is_unassigned() else "stable"


def _members_of(group: ModernGroup) -> list[str]:
    """Return the current members, as far as the capture shows them."""
    lost = group.lost()
    return [one.member_id for one in group.members if one.is_joined and one.member_id not in lost]


def _raise(
    rebalance: ModernRebalance, lost: Mapping[str, ModernRebalance], log: GroupLog, names: Mapping[str, str]
) -> Facts:
    began, settled_ns = rebalance.since_ns, rebalance.settled_ns
    missed = {who for who, raised in lost.items() if raised is rebalance}
    causes = rebalance.why() or ({Cause.MEMBER_LOST: missed} if missed else {Cause.UNKNOWN: set()})
    return {
        "generation": rebalance.epoch,
        "time": rfc3339(began),
        "took_ns": None if settled_ns is None else max(settled_ns - began, 0),
        "members": rebalance.members - sum(one.epoch <= rebalance.epoch for one in lost.values()),
        "causes": _causes(causes.items(), log, names),
        "reasons": {},
    }


def _reconciling(traffic: GroupTraffic, group: ModernGroup, log: GroupLog) -> Facts | None:
    """Return a reconciliation that is not over in the capture: its start, its reason, the joining members,
    and the members without the epoch.

    A member that got an older epoch, or that still holds a revoked partition, is not at the epoch. The cause
    of a new epoch shows before any member receives it.
    """
    is_empty = not _members_of(group)
    tries, late = group.trying(), group.waited_for()
    waiting = [one for one in tries if one.given_up_ns is None]
    expected = {} if is_empty else group.expected()
    is_given_up = bool(tries) and is_empty and not waiting
    if not (waiting or late or expected or is_given_up):
        return None
    names = _attempt_names(group)
    since = group.not_reached(late)
    causes = _merged([rebalance.why() for rebalance in since], expected, tries)
    times = [time_ns for members in expected.values() for time_ns in members.values()]
    began = earliest(*(one.since_ns for one in since), *(one.sent_ns for one in tries), *times)
    return {
        "state": UNANSWERED if is_given_up else _RECONCILING,
        "generation": None if expected or waiting else group.epoch,
        "time": rfc3339(group.last_ns if began is None else began),
        "causes": _causes((causes or {Cause.UNKNOWN: set()}).items(), log, names),
        "joined": [_name(log, one.who, names) for one in waiting],
        "gave_up": _gave_up(tries, names),
        "waiting_for": [_name(log, member.member_id) for member in late],
        "revoking": [
            {
                "member": _name(log, one.member_id),
                "partitions": in_words(traffic.assigned(log.info, one.revoking)),
            }
            for one in late
            if one.revoking
        ],
    }


def _merged(
    found: list[dict[Cause, set[str]]], expected: dict[Cause, dict[str, int]], tries: list[Attempt]
) -> dict[Cause, set[str]]:
    causes: dict[Cause, set[str]] = {}
    joining = {Cause.MEMBER_JOINED: {one.who for one in tries}} if tries else {}
    every: list[Mapping[Cause, Iterable[str]]] = [*found, expected, joining]
    for one in every:
        for cause, members in one.items():
            causes.setdefault(cause, set()).update(members)
    return causes


def _causes(
    causes: Iterable[tuple[Cause, set[str]]], log: GroupLog, names: Mapping[str, str] = _NO_NAMES
) -> list[Facts]:
    """Return causes with their members. `names` are names of members without a member id."""
    found = []
    for cause, members in causes:
        for member_id in sorted(members) or [""]:
            member = log.members.peek(member_id)
            left = member is not None and cause in (Cause.MEMBER_LEFT, Cause.MEMBER_LOST)
            said = left and member is not None and member.how == "left"
            found.append(
                {
                    # A member that left may be missed before the answer to its LeaveGroup is there.
                    "cause": str(Cause.MEMBER_LEFT if said else cause),
                    "member": _name(log, member_id, names),
                    "member_id": (member_id if member is not None else None) or None,
                    "reason": (member.reason or None) if left and member is not None else None,
                }
            )
    return found


def _identity(log: GroupLog, member_id: str) -> str:
    """Return the identity of a member: a static member that came back with another id is the same member
    (KIP-345).
    """
    member = log.members.peek(member_id)
    return member_id if member is None else member.instance_id or member_id


def _name(log: GroupLog, member_id: str, names: Mapping[str, str] = _NO_NAMES) -> str | None:
    member = log.members.peek(member_id)
    return names.get(member_id, member_id) or None if member is None else member.name


def _member(member: MemberLog) -> Facts:
    return {
        "member_id": member.member_id,
        **member.who(),
        "instance_id": member.instance_id,
        "joined": None if member.joined_ns is None else rfc3339(member.joined_ns),
        "gone": member.how,
        "gone_at": None if member.left_ns is None else rfc3339(member.left_ns),
        "reason": member.reason or None,
        "epoch": member.epoch,
        "assigned": None if member.held is None else in_words(member.held),
        "heartbeats": member.heartbeats,
        "heartbeat_gap_ns": member.gaps.facts(),
    }


def _partitions(
    traffic: GroupTraffic, info: ConnectionInfo, members: list[MemberLog], commits: Commits, ends: Ends
) -> list[Facts]:
    """Return the lag of what members hold or held, and of what the group committed.

    Without topics that were deleted and created again: the broker deletes what was committed for them.
    """
    commits = {key: offset for key, offset in commits.items() if key[0] == topic_now(info, key[0])}
    owners: dict[tuple[str, int], MemberLog] = {}
    for member in members:
        for held in member.held or ():
            if isinstance(held, str):
                continue  # a task
            partition_key = topic_now(info, held[0]), held[1]
            if partition_key not in owners or member.how is None:
                owners[partition_key] = member
    found = []
    for partition_key in sorted({*owners, *commits}):
        owner = owners.get(partition_key)
        link = None if owner is None else owner.link
        position = None if link is None else traffic.positions.of_client(link, partition_key)
        fetched_ns = None if link is None else traffic.positions.last_fetch_ns(link)
        end = ends.get((info.scope, partition_key))
        is_old = owner is not None and _fetches_no_longer(owner, fetched_ns)
        found.append(_partition(partition_key, owner, position, commits.get(partition_key), end, is_old))
    return found


def _fetches_no_longer(owner: MemberLog, fetched_ns: int | None) -> bool:
    """Return whether a member has sent heartbeats and no Fetch for a time: it learns of no new records."""
    return (
        fetched_ns is not None and owner.how is None and owner.last_heartbeat_ns - fetched_ns > _NO_FETCH_NS
    )


def _lag(end: int | None, offset: int | None, is_old: bool) -> int | None:
    """Return the records between an offset and the known end of a partition; None if it is not known.

    A negative offset is none. An offset after that end proves that the partition has more records. If the end
    may be old, only records that are known to be there count.
    """
    if end is None or offset is None or offset < 0 or end < offset or (is_old and end == offset):
        return None
    return end - offset


def _partition(
    partition_key: tuple[str, int],
    owner: MemberLog | None,
    position: Any,
    committed: int | None,
    end: int | None,
    is_old: bool,
) -> Facts:
    offset = None if position is None else position.fetch_offset
    return {
        "topic": plain_name(partition_key[0]),
        "partition": partition_key[1],
        "member": None if owner is None else owner.name,
        "fetch_offset": offset,
        "high_watermark": None if position is None else position.high_watermark,
        "lag": _lag(end, offset, is_old),
        "committed": committed,
        "committed_lag": _lag(end, committed, is_old),
    }
