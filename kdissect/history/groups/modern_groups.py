"""Groups whose members only heartbeat: consumer (KIP-848), share (KIP-932) and streams (KIP-1071).

Key: capture set, group id. Order: that of completion. A member sends one heartbeat at a time. Its epoch is 0
to join, then the one that the coordinator named, -1 to leave, -2 to leave and come back as a static member.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from kdissect.history import api_keys as apis
from kdissect.history import error_codes as codes
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact, GroupKey, is_answered_before
from kdissect.history.groups.classic_group import Cause
from kdissect.history.groups.group_attempts import JOIN_EPOCH, Attempts
from kdissect.history.groups.modern_group import (
    LATE_AFTER,
    MEMBERS_KEPT,
    Holding,
    ModernGroup,
    ModernKind,
    ModernMember,
)
from kdissect.history.state_table import Table
from kdissect.model.packets.packet import NEVER_NS
from kdissect.session.info import ConnectionInfo

GROUPS_KEPT = 20_000  # groups of a cluster, with 500 bytes of state each and 1 KB a member
JOIN, LEAVE, STATIC_LEAVE = JOIN_EPOCH, -1, -2  # KIP-848
_FIRST_EPOCH = 1  # that a member can have (KIP-848)
_MS = 1_000_000
_KINDS = {
    apis.CONSUMER_GROUP_HEARTBEAT: ModernKind.CONSUMER,
    apis.SHARE_GROUP_HEARTBEAT: ModernKind.SHARE,
    apis.STREAMS_GROUP_HEARTBEAT: ModernKind.STREAMS,
}
_FENCING = frozenset({codes.FENCED_MEMBER_EPOCH, codes.UNKNOWN_MEMBER_ID})
_TASKS = ("active_tasks", "standby_tasks", "warmup_tasks")  # of streams groups (KIP-1071)


class ModernFact(StrEnum):
    """Facts about these groups. `detail` names the member."""

    JOINED = "joined"  # seen: the epoch
    EPOCH_GIVEN = "epoch_given"  # the coordinator gave another epoch
    GROUP_EPOCH = "group_epoch"  # the highest epoch of the group's members rose
    ASSIGNED = "assigned"  # holdings before and now
    LEFT = "left"  # seen: -1, or -2 of a static member
    FENCED = "fenced"  # seen: the error code (the member has to join again)
    REFUSED = "refused"  # seen: the error code
    EPOCH_WENT_BACK = "epoch_went_back"  # named by the coordinator (expected: the least)
    EPOCH_DIFFERS = "epoch_differs"  # neither the last epoch received nor the one before
    OTHER_MEMBER_ID = "other_member_id"  # the answer names another member
    ANSWERED_AFTER_LEAVE = (
        "answered_after_leave"  # a member that left, as if it were there (expected: the error code)
    )
    # a member reports a partition that it never received (seen: the partition)
    OWNS_UNASSIGNED = "owns_unassigned"
    HELD_BY_TWO = "held_by_two"  # a member keeps a partition that another one received (seen: the partition)
    LATE = "late"  # milliseconds: the interval asked for, the time since the last heartbeat


class ModernGroups:
    """Consumer, share and streams groups by id."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset(_KINDS)

    def __init__(self) -> None:
        self.groups: Table[GroupKey, ModernGroup] = Table(GROUPS_KEPT)
        self._attempts = Attempts()

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next heartbeat."""
        request = view.request
        if request is None:
            return []
        key: GroupKey = view.info.scope, str(request.group_id)
        kind = _KINDS[view.key]
        group = self.groups.get(key)
        if group is None or group.kind is not kind:  # a group may be converted
            group = self.groups.put(key, ModernGroup(kind))
        member_id = str(request.member_id or getattr(view.response, "member_id", None) or "")
        member = group.members.get(member_id)
        facts: list[Fact] = []
        if member is None:
            member = group.members.put(member_id, ModernMember(member_id))
            facts += _after_leave(view, key, group, member)
        else:
            facts += _against(view, key, member)
            facts += _unassigned(view, key, member)
        _causes(view, group, member)
        _sent(view, member)
        facts += _answered(view, key, group, member)
        group.last_ns = max(group.last_ns, view.sent_ns, view.evidence.answered_ns)
        attempt = self._attempts.of(view)
        if attempt is not None and attempt.is_join:
            group.attempt(attempt)
        member.last = view.evidence
        if attempt is not None and attempt.given_up_ns is not None and not member.is_joined:
            group.go(member_id)
        return facts

    def repeat(
        self, info: ConnectionInfo, heartbeat: Heartbeat, client_id: str | None, evidence: Evidence
    ) -> bool:
        """Take a heartbeat as `feed` does, if its member continues. Otherwise return False, without a
        change.
        """
        key: GroupKey = info.scope, heartbeat.group_id
        group = self.groups.peek(key)
        member = None if group is None else group.members.peek(heartbeat.member_id)
        if group is None or member is None or group.kind is not heartbeat.kind:
            return False
        silent_ms = (evidence.sent_ns - member.last_ns) // _MS
        if (
            not member.is_joined
            or not member.epoch == heartbeat.epoch <= group.epoch
            or heartbeat.member_id in group.contested
            or silent_ms > LATE_AFTER * member.interval_ms
        ):
            return False
        self.groups.use(key)
        group.members.use(heartbeat.member_id)
        _heard(member, client_id, info, evidence.sent_ns)
        if heartbeat.instance_id is not None:
            member.instance_id = heartbeat.instance_id
        self._attempts.answered(info)
        member.answered_ns = max(member.answered_ns, evidence.answered_ns)
        member.interval_ms = heartbeat.interval_ms
        group.follow(member, evidence.answered_ns)
        group.last_ns = max(group.last_ns, evidence.sent_ns, evidence.answered_ns)
        member.last = evidence
        return True


class Heartbeat(NamedTuple):
    """A heartbeat of a member that changes nothing, with the epoch in its request and its response."""

    kind: ModernKind
    group_id: str
    member_id: str
    epoch: int
    interval_ms: int
    instance_id: str | None


def continuing(view: ExchangeView) -> Heartbeat | None:
    """Return a heartbeat with which a member may continue as before: its bodies name no topics, no
    partitions and no status. None for another one.
    """
    request, answer = view.request, view.response
    if request is None or answer is None or answer.error_code or not request.member_id:
        return None
    if request.member_epoch <= JOIN or answer.member_epoch != request.member_epoch:
        return None
    topics = getattr(request, "subscribed_topic_names", None)
    if topics is not None or _holdings(request) is not None or _given(answer) is not None:
        return None
    if getattr(answer, "status", None):  # each of these counts (KIP-1071)
        return None
    if getattr(answer, "member_id", None) not in (None, "", request.member_id):
        return None
    instance_id = getattr(request, "instance_id", None)
    return Heartbeat(
        _KINDS[view.key], str(request.group_id), str(request.member_id), request.member_epoch,
        answer.heartbeat_interval_ms, None if instance_id is None else str(instance_id),
    )  # fmt: skip


def _fact(
    kind: ModernFact, view: ExchangeView, key: GroupKey, member: ModernMember, path: str, **more: Any
) -> Fact:
    more.setdefault("detail", member.member_id)
    return view.fact(kind, key, path, **more)


def _against(view: ExchangeView, key: GroupKey, member: ModernMember) -> list[Fact]:
    """Return the differences between a heartbeat and what the coordinator sent the member."""
    facts = []
    epoch = view.request.member_epoch
    given = member.epoch
    if given is not None and epoch not in (given, member.before, JOIN, LEAVE, STATIC_LEAVE):
        facts.append(
            _fact(
                ModernFact.EPOCH_DIFFERS, view, key, member, "member_epoch", expected=given, seen=epoch,
                earlier=member.last,
            )
        )  # fmt: skip
    silent_ms = (view.sent_ns - member.last_ns) // _MS
    if member.is_joined and member.interval_ms and silent_ms > LATE_AFTER * member.interval_ms:
        expected = member.interval_ms
        facts.append(
            _fact(
                ModernFact.LATE, view, key, member, "", expected=expected, seen=silent_ms, earlier=member.last
            )
        )
    return facts


def _unassigned(view: ExchangeView, key: GroupKey, member: ModernMember) -> list[Fact]:
    """Return whether a member reports partitions or tasks that it did not receive since it joined."""
    owned = _holdings(view.request)
    if member.given is None or not owned or view.request.member_epoch == JOIN:
        return []
    # A task of a streams group changes its role (KIP-1071), and has any of them.
    given = {holding[-2:] for holding in member.given}
    strange = [holding for holding in owned if holding[-2:] not in given]
    if not strange:
        return []
    first = min(strange, key=repr)
    path = "topic_partitions" if len(first) == 2 else f"{first[0]}_tasks"
    kind, seen = ModernFact.OWNS_UNASSIGNED, _text(first)
    return [_fact(kind, view, key, member, path, seen=seen, earlier=member.joined_by, detail="")]


def _after_leave(view: ExchangeView, key: GroupKey, group: ModernGroup, member: ModernMember) -> list[Fact]:
    """Return whether the heartbeat of one that left was answered as if it were a member still."""
    left, answer = group.left.peek(member.member_id), view.response
    if left is None or view.request.member_epoch <= JOIN or not is_answered_before(left, view.evidence):
        return []
    if answer is None or answer.error_code:
        return []
    kind, path, side = ModernFact.ANSWERED_AFTER_LEAVE, "error_code", "response"
    expected = codes.UNKNOWN_MEMBER_ID
    return [
        _fact(kind, view, key, member, path, side=side, expected=expected, seen=0, earlier=left, detail="")
    ]


def _causes(view: ExchangeView, group: ModernGroup, member: ModernMember) -> None:
    """Note the changes in an accepted heartbeat for which the coordinator assigns partitions again."""
    request, answer = view.request, view.response
    if answer is None or answer.error_code:
        return
    if request.member_epoch == LEAVE:
        group.because(Cause.MEMBER_LEFT, member.member_id, view.sent_ns)
    elif request.member_epoch == JOIN and not member.is_joined:
        group.because(_newcomer(request, group, member), member.member_id, view.sent_ns)
    elif _subscribes_otherwise(request, member):
        group.because(Cause.SUBSCRIPTION_CHANGED, member.member_id, view.sent_ns)


def _newcomer(request: Any, group: ModernGroup, member: ModernMember) -> Cause:
    others = [other for other in group.members if other is not member and other.is_joined]
    instance_id = getattr(request, "instance_id", None)
    if instance_id is not None and (
        instance_id in group.away or any(other.instance_id == instance_id for other in others)
    ):
        return Cause.MEMBER_RESTARTED
    return Cause.MEMBER_JOINED if others else Cause.FIRST_MEMBER


def _subscribes_otherwise(request: Any, member: ModernMember) -> bool:
    topics = getattr(request, "subscribed_topic_names", None)
    return None not in (topics, member.topics) and sorted(map(str, topics or ())) != sorted(
        member.topics or ()
    )


def _sent(view: ExchangeView, member: ModernMember) -> None:
    request = view.request
    _heard(member, view.exchange.client_id, view.info, view.sent_ns)
    instance_id = getattr(request, "instance_id", None)
    member.instance_id = member.instance_id if instance_id is None else str(instance_id)
    topics = getattr(request, "subscribed_topic_names", None)
    if topics is not None:  # null says unchanged (KIP-848)
        member.topics = tuple(map(str, topics))
    owned = _holdings(request)
    if owned is not None:
        member.owned = owned


def _heard(member: ModernMember, client_id: str | None, info: ConnectionInfo, sent_ns: int) -> None:
    member.client_id, member.client = client_id, info.client_text
    member.last_ns = max(member.last_ns, sent_ns)
    member.connection = info.id


def _answered(view: ExchangeView, key: GroupKey, group: ModernGroup, member: ModernMember) -> list[Fact]:
    answer = view.response
    if answer is None:
        member.epoch = member.before = None  # the coordinator may have counted on
        member.given = None  # and may have given more
        # and may have taken a partition that another one received
        group.contested.pop(member.member_id, None)
        return []
    if answer.error_code:
        return [_refused(view, key, group, member, answer.error_code)]
    facts = []
    given = getattr(answer, "member_id", None)
    if given and view.request.member_id and given != view.request.member_id:
        expected = view.request.member_id
        kind, path = ModernFact.OTHER_MEMBER_ID, "member_id"
        facts.append(_fact(kind, view, key, member, path, side="response", expected=expected, seen=given))
    epoch = view.request.member_epoch
    if epoch in (LEAVE, STATIC_LEAVE):
        if epoch == STATIC_LEAVE and member.instance_id is not None and len(group.away) < MEMBERS_KEPT:
            group.away[member.instance_id] = member.member_id  # it keeps what it has (KIP-848)
        group.go(member.member_id)
        group.gone += 1
        if epoch == LEAVE or member.instance_id is not None:  # else the meaning is unknown
            group.left.put(member.member_id, view.evidence)
        return [*facts, _fact(ModernFact.LEFT, view, key, member, "member_epoch", seen=epoch)]
    return [*facts, *_goes_on(view, key, group, member)]


def _goes_on(view: ExchangeView, key: GroupKey, group: ModernGroup, member: ModernMember) -> list[Fact]:
    answer = view.response
    path, epoch = "member_epoch", answer.member_epoch
    facts = _back(view, key, member, epoch)
    if facts:
        member.epoch = member.before = None  # which one is right is unknown
        return facts
    member.answered_ns = max(member.answered_ns, view.evidence.answered_ns)
    given = _given(answer)
    if view.request.member_epoch == JOIN:
        member.given = frozenset()
    if given is not None and member.given is not None:
        member.given |= given
    if view.request.member_epoch == JOIN:
        _replace(view, group, member)
        member.is_joined, member.joined_by = True, view.evidence
        member.epoch = member.before = None
        group.left.pop(member.member_id)
        facts.append(_fact(ModernFact.JOINED, view, key, member, path, side="response", seen=epoch))
    elif member.epoch is not None and epoch != member.epoch:
        expected = member.epoch
        fact = _fact(ModernFact.EPOCH_GIVEN, view, key, member, path, expected=expected, seen=epoch)
        facts.append(fact._replace(side="response", earlier=member.last))
    member.is_joined = True
    member.learn(epoch)
    member.interval_ms = answer.heartbeat_interval_ms
    if epoch > group.epoch:
        before = group.epoch
        _raise(view, group, epoch)
        kind = ModernFact.GROUP_EPOCH
        facts.append(_fact(kind, view, key, member, path, side="response", expected=before, seen=epoch))
    elif view.request.member_epoch == JOIN:
        _unraised(view, group, member)
    if given is not None:
        before_given, member.assigned = member.assigned, given
        kind, path = ModernFact.ASSIGNED, "assignment"
        facts.append(_fact(kind, view, key, member, path, side="response", expected=before_given, seen=given))
        _hold(view, group, member, before_given or frozenset())
    else:
        facts += _held_by_two(view, key, group, member)
    group.follow(member, view.evidence.answered_ns)
    return facts


def _raise(view: ExchangeView, group: ModernGroup, epoch: int) -> None:
    """Raise the epoch. A member that names it in its request knew it before, and the capture begins later."""
    if not group.epoch and view.request.member_epoch == epoch:
        group.epoch, group.causes = epoch, {}
    else:
        group.rose(epoch, view.evidence)


def _unraised(view: ExchangeView, group: ModernGroup, member: ModernMember) -> None:
    """Somebody joined at the epoch there is.

    It caused that epoch if another member received one meanwhile, or will cause the next. A static member
    that comes back makes none (KIP-848).
    """
    last = group.rebalances[-1] if group.rebalances else None
    is_given = last is not None and view.sent_ns <= last.shown_ns and not last.causes
    for cause in list(group.causes):
        if not is_given and cause is not Cause.MEMBER_RESTARTED:
            continue
        sent_ns = group.causes[cause].pop(member.member_id, None)
        if not group.causes[cause]:
            del group.causes[cause]
        if sent_ns is not None and last is not None and is_given:
            last.because(cause, member.member_id, sent_ns)


def _replace(view: ExchangeView, group: ModernGroup, member: ModernMember) -> None:
    """Remove the former self of a member that joins: the same instance, or another id on its connection."""
    instance_id = member.instance_id
    if instance_id is not None:
        group.away.pop(instance_id, None)
    for other in list(group.members):
        is_same = instance_id is not None and other.instance_id == instance_id
        if other is not member and (is_same or other.connection == view.info.id):
            group.go(other.member_id)
            group.gone += 1


def _held_by_two(view: ExchangeView, key: GroupKey, group: ModernGroup, member: ModernMember) -> list[Fact]:
    """Return whether a member that goes on as before owns a partition that another one received meanwhile."""
    holding, given = group.contested.get(member.member_id, (None, None))
    if holding is None or given is None or not is_answered_before(given, view.evidence):
        return []
    del group.contested[member.member_id]
    if holding not in (member.assigned or ()) or group.holders.get(holding) in (None, member.member_id):
        return []
    kind, path, side = ModernFact.HELD_BY_TWO, "member_epoch", "response"
    return [_fact(kind, view, key, member, path, side=side, seen=_text(holding), earlier=given, detail="")]


def _text(holding: Holding) -> str:
    return "-".join(part.hex() if isinstance(part, bytes) else str(part) for part in holding)


def _hold(view: ExchangeView, group: ModernGroup, member: ModernMember, before: frozenset[Holding]) -> None:
    """Assign a partition to a member: an exclusive owner must have released it, or have left."""
    if group.kind is ModernKind.SHARE:
        return
    now_ns = view.evidence.answered_ns
    for member_id in group.hold(member, before, view.evidence):
        other = group.members.peek(member_id)
        if other is None or now_ns - other.last_ns <= LATE_AFTER * other.interval_ms * _MS:
            continue  # the heartbeat that releases it may be on its way
        group.go(member_id)
        group.gone += 1
        group.explained(Cause.MEMBER_LOST, member_id, other.answered_ns, now_ns)


def _back(view: ExchangeView, key: GroupKey, member: ModernMember, epoch: int) -> list[Fact]:
    """Return whether the coordinator names an epoch that no member can have."""
    given = None if view.request.member_epoch == JOIN else member.epoch
    least = _FIRST_EPOCH if given is None else given
    if epoch >= least:
        return []
    kind, path = ModernFact.EPOCH_WENT_BACK, "member_epoch"
    earlier = None if given is None else member.last
    side = "response"
    return [_fact(kind, view, key, member, path, side=side, expected=least, seen=epoch, earlier=earlier)]


def _refused(view: ExchangeView, key: GroupKey, group: ModernGroup, member: ModernMember, error: int) -> Fact:
    kind = ModernFact.REFUSED
    if error in _FENCING:
        kind = ModernFact.FENCED
        if member.answered_ns > NEVER_NS:
            answered_ns = view.evidence.answered_ns
            group.explained(Cause.MEMBER_LOST, member.member_id, member.answered_ns, answered_ns)
        group.go(member.member_id)
        group.gone += 1
    elif not member.is_joined and view.request.member_epoch == JOIN:
        group.go(member.member_id)  # it never was a member
    return _fact(
        kind, view, key, member, "error_code", side="response", expected=0, seen=error, earlier=member.last,
        sure=True,
    )  # fmt: skip


def _given(answer: Any) -> frozenset[Holding] | None:
    """Return the assignment in an answer, or None if it has none."""
    return _holdings(getattr(answer, "assignment", None) if hasattr(answer, "assignment") else answer)


def _holdings(of: Any) -> frozenset[Holding] | None:
    """Return the partitions in a request or an assignment, or None if it has none (null: unchanged)."""
    if of is None:
        return None
    rows = getattr(of, "topic_partitions", None)
    if rows is not None:
        return frozenset((row.topic_id, partition) for row in rows for partition in row.partitions or ())
    tasks = [(name.partition("_")[0], getattr(of, name, None)) for name in _TASKS]
    if all(rows is None for _, rows in tasks):
        return None
    return frozenset(
        (role, str(row.subtopology_id), partition)
        for role, rows in tasks
        for row in rows or ()
        for partition in row.partitions or ()
    )
