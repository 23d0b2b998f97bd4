"""Groups whose members only heartbeat: consumer (KIP-848), share (KIP-932) and streams (KIP-1071).

Key: capture set, group id. Order: that of completion. A member has one heartbeat under way at a time; its
epoch is 0 to join, then what the coordinator told it, -1 to leave, -2 to leave and come back as a static
member.
"""

from enum import StrEnum
from typing import Any, ClassVar

from kdissect.history import apis, codes
from kdissect.history.classic_group import Cause
from kdissect.history.fact import Fact
from kdissect.history.group_attempts import JOIN_EPOCH, Attempts
from kdissect.history.modern_group import MEMBERS_KEPT, Holding, ModernGroup, ModernKind, ModernMember
from kdissect.history.table import Table
from kdissect.history.turn import Turn
from kdissect.model.packets.packet import NEVER_NS

GROUPS_KEPT = 20_000  # a cluster's; a state is 500 bytes and 1 KB a member
JOIN, LEAVE, STATIC_LEAVE = JOIN_EPOCH, -1, -2  # KIP-848
_FIRST_EPOCH = 1  # that a member can have (KIP-848)
# A heartbeat is late when it comes after twice the interval the coordinator asked for.
LATE_AFTER = 2
_MS = 1_000_000
_KINDS = {
    apis.CONSUMER_GROUP_HEARTBEAT: ModernKind.CONSUMER,
    apis.SHARE_GROUP_HEARTBEAT: ModernKind.SHARE,
    apis.STREAMS_GROUP_HEARTBEAT: ModernKind.STREAMS,
}
_FENCING = frozenset({codes.FENCED_MEMBER_EPOCH, codes.UNKNOWN_MEMBER_ID})
_TASKS = ("active_tasks", "standby_tasks", "warmup_tasks")  # of streams groups (KIP-1071)


class ModernFact(StrEnum):
    """What can be learned of these groups. `detail` names the member."""

    JOINED = "joined"  # seen: the epoch
    EPOCH_TOLD = "epoch_told"  # the coordinator told another epoch
    GROUP_EPOCH = "group_epoch"  # the highest epoch of the group's members rose
    ASSIGNED = "assigned"  # holdings before and now
    LEFT = "left"  # seen: -1, or -2 of a static member
    FENCED = "fenced"  # seen: the error code; the member has to join again
    REFUSED = "refused"  # seen: the error code
    EPOCH_WENT_BACK = "epoch_went_back"  # told by the coordinator; expected: the least
    EPOCH_DIFFERS = "epoch_differs"  # neither the last epoch told nor the one before
    OTHER_MEMBER_ID = "other_member_id"  # the answer names another member
    LATE = "late"  # milliseconds: the interval asked for, the time since the last heartbeat


GroupKey = tuple[str, str]


class ModernGroups:
    """Consumer, share and streams groups by id."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset(_KINDS)

    def __init__(self) -> None:
        self.groups: Table[GroupKey, ModernGroup] = Table(GROUPS_KEPT)
        self._attempts = Attempts()

    def feed(self, turn: Turn) -> list[Fact]:
        """Take the next heartbeat."""
        request = turn.request
        if request is None:
            return []
        key: GroupKey = turn.info.capture_set, str(request.group_id)
        kind = _KINDS[turn.key]
        group = self.groups.get(key)
        if group is None or group.kind is not kind:  # a group may be converted
            group = self.groups.put(key, ModernGroup(kind))
        member_id = str(request.member_id or getattr(turn.response, "member_id", None) or "")
        member = group.members.get(member_id)
        facts: list[Fact] = []
        if member is None:
            member = group.members.put(member_id, ModernMember(member_id))
        else:
            facts += _against(turn, key, member)
        _causes(turn, group, member)
        _sent(turn, member)
        facts += _answered(turn, key, group, member)
        group.last_ns = max(group.last_ns, turn.sent_ns, turn.evidence.answered_ns)
        attempt = self._attempts.of(turn)
        if attempt is not None and attempt.is_join:
            group.attempt(attempt)
        member.last = turn.evidence
        if attempt is not None and attempt.given_up_ns is not None and not member.is_joined:
            group.go(member_id)
        return facts


def _fact(kind: ModernFact, turn: Turn, key: GroupKey, member: ModernMember, path: str, **more: Any) -> Fact:
    more.setdefault("detail", member.member_id)
    return turn.fact(kind, key, path, **more)


def _against(turn: Turn, key: GroupKey, member: ModernMember) -> list[Fact]:
    """What differs between a heartbeat and what the coordinator told the member."""
    facts = []
    epoch = turn.request.member_epoch
    told = member.epoch
    if told is not None and epoch not in (told, member.before, JOIN, LEAVE, STATIC_LEAVE):
        facts.append(
            _fact(
                ModernFact.EPOCH_DIFFERS, turn, key, member, "member_epoch", expected=told, seen=epoch,
                earlier=member.last,
            )
        )  # fmt: skip
    silent_ms = (turn.sent_ns - member.last_ns) // _MS
    if member.is_joined and member.interval_ms and silent_ms > LATE_AFTER * member.interval_ms:
        expected = member.interval_ms
        facts.append(
            _fact(
                ModernFact.LATE, turn, key, member, "", expected=expected, seen=silent_ms, earlier=member.last
            )
        )
    return facts


def _causes(turn: Turn, group: ModernGroup, member: ModernMember) -> None:
    """What an accepted heartbeat changes that makes the coordinator assign anew."""
    request, answer = turn.request, turn.response
    if answer is None or answer.error_code:
        return
    if request.member_epoch == LEAVE:
        group.because(Cause.MEMBER_LEFT, member.member_id, turn.sent_ns)
    elif request.member_epoch == JOIN and not member.is_joined:
        group.because(_newcomer(request, group, member), member.member_id, turn.sent_ns)
    elif _subscribes_otherwise(request, member):
        group.because(Cause.SUBSCRIPTION_CHANGED, member.member_id, turn.sent_ns)


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


def _sent(turn: Turn, member: ModernMember) -> None:
    request = turn.request
    member.client_id, member.client = turn.exchange.client_id, turn.info.client_text
    member.last_ns = max(member.last_ns, turn.sent_ns)
    member.connection = turn.info.id
    instance_id = getattr(request, "instance_id", None)
    member.instance_id = member.instance_id if instance_id is None else str(instance_id)
    topics = getattr(request, "subscribed_topic_names", None)
    if topics is not None:  # null says unchanged (KIP-848)
        member.topics = tuple(map(str, topics))
    owned = _holdings(request)
    if owned is not None:
        member.owned = owned


def _answered(turn: Turn, key: GroupKey, group: ModernGroup, member: ModernMember) -> list[Fact]:
    answer = turn.response
    if answer is None:
        member.epoch = member.before = None  # the coordinator may have counted on
        return []
    if answer.error_code:
        return [_refused(turn, key, group, member, answer.error_code)]
    facts = []
    told = getattr(answer, "member_id", None)
    if told and turn.request.member_id and told != turn.request.member_id:
        expected = turn.request.member_id
        kind, path = ModernFact.OTHER_MEMBER_ID, "member_id"
        facts.append(_fact(kind, turn, key, member, path, side="response", expected=expected, seen=told))
    epoch = turn.request.member_epoch
    if epoch in (LEAVE, STATIC_LEAVE):
        if epoch == STATIC_LEAVE and member.instance_id is not None and len(group.away) < MEMBERS_KEPT:
            group.away[member.instance_id] = member.member_id  # it keeps what it has (KIP-848)
        group.go(member.member_id)
        group.gone += 1
        return [*facts, _fact(ModernFact.LEFT, turn, key, member, "member_epoch", seen=epoch)]
    return [*facts, *_goes_on(turn, key, group, member)]


def _goes_on(turn: Turn, key: GroupKey, group: ModernGroup, member: ModernMember) -> list[Fact]:
    answer = turn.response
    path, epoch = "member_epoch", answer.member_epoch
    facts = _back(turn, key, member, epoch)
    if facts:
        member.epoch = member.before = None  # nobody knows which one is right
        return facts
    member.answered_ns = max(member.answered_ns, turn.evidence.answered_ns)
    if turn.request.member_epoch == JOIN:
        _replace(turn, group, member)
        member.is_joined, member.joined_by = True, turn.evidence
        member.epoch = member.before = None
        facts.append(_fact(ModernFact.JOINED, turn, key, member, path, side="response", seen=epoch))
    elif member.epoch is not None and epoch != member.epoch:
        expected = member.epoch
        told = _fact(ModernFact.EPOCH_TOLD, turn, key, member, path, expected=expected, seen=epoch)
        facts.append(told._replace(side="response", earlier=member.last))
    member.is_joined = True
    member.learn(epoch)
    member.interval_ms = answer.heartbeat_interval_ms
    if epoch > group.epoch:
        before = group.epoch
        _raise(turn, group, epoch)
        kind = ModernFact.GROUP_EPOCH
        facts.append(_fact(kind, turn, key, member, path, side="response", expected=before, seen=epoch))
    elif turn.request.member_epoch == JOIN:
        _unraised(turn, group, member)
    given = _holdings(getattr(answer, "assignment", None) if hasattr(answer, "assignment") else answer)
    if given is not None:
        before_given, member.assigned = member.assigned, given
        kind, path = ModernFact.ASSIGNED, "assignment"
        facts.append(_fact(kind, turn, key, member, path, side="response", expected=before_given, seen=given))
        _hold(turn, group, member, before_given or frozenset())
    group.follow(member, turn.evidence.answered_ns)
    return facts


def _raise(turn: Turn, group: ModernGroup, epoch: int) -> None:
    """A higher epoch was told; who names it in its request knew it before, and the capture begins later."""
    if not group.epoch and turn.request.member_epoch == epoch:
        group.epoch, group.causes = epoch, {}
    else:
        group.rose(epoch, turn.evidence)


def _unraised(turn: Turn, group: ModernGroup, member: ModernMember) -> None:
    """Somebody joined at the epoch there is.

    It made that one, if another member was told of it meanwhile, or will make the next. A static member that
    comes back makes none (KIP-848).
    """
    last = group.rebalances[-1] if group.rebalances else None
    is_told = last is not None and turn.sent_ns <= last.shown_ns and not last.causes
    for cause in list(group.causes):
        if not is_told and cause is not Cause.MEMBER_RESTARTED:
            continue
        sent_ns = group.causes[cause].pop(member.member_id, None)
        if not group.causes[cause]:
            del group.causes[cause]
        if sent_ns is not None and last is not None and is_told:
            last.because(cause, member.member_id, sent_ns)


def _replace(turn: Turn, group: ModernGroup, member: ModernMember) -> None:
    """Who joins replaces its own former self: the same instance, or another id on its connection."""
    instance_id = member.instance_id
    if instance_id is not None:
        group.away.pop(instance_id, None)
    for other in list(group.members):
        is_same = instance_id is not None and other.instance_id == instance_id
        if other is not member and (is_same or other.connection == turn.info.id):
            group.go(other.member_id)
            group.gone += 1


def _hold(turn: Turn, group: ModernGroup, member: ModernMember, before: frozenset[Holding]) -> None:
    """What one member is given only when another gave it up, or is no member any more."""
    if group.kind is ModernKind.SHARE:
        return
    now_ns = turn.evidence.answered_ns
    for member_id in group.hold(member, before):
        other = group.members.peek(member_id)
        if other is None or now_ns - other.last_ns <= LATE_AFTER * other.interval_ms * _MS:
            continue  # the heartbeat that gives it up may be under way
        group.go(member_id)
        group.gone += 1
        group.explained(Cause.MEMBER_LOST, member_id, other.answered_ns, now_ns)


def _back(turn: Turn, key: GroupKey, member: ModernMember, epoch: int) -> list[Fact]:
    """Whether the coordinator tells an epoch that no member can have."""
    told = None if turn.request.member_epoch == JOIN else member.epoch
    least = _FIRST_EPOCH if told is None else told
    if epoch >= least:
        return []
    kind, path = ModernFact.EPOCH_WENT_BACK, "member_epoch"
    earlier = None if told is None else member.last
    side = "response"
    return [_fact(kind, turn, key, member, path, side=side, expected=least, seen=epoch, earlier=earlier)]


def _refused(turn: Turn, key: GroupKey, group: ModernGroup, member: ModernMember, error: int) -> Fact:
    kind = ModernFact.REFUSED
    if error in _FENCING:
        kind = ModernFact.FENCED
        if member.answered_ns > NEVER_NS:
            answered_ns = turn.evidence.answered_ns
            group.explained(Cause.MEMBER_LOST, member.member_id, member.answered_ns, answered_ns)
        group.go(member.member_id)
        group.gone += 1
    elif not member.is_joined and turn.request.member_epoch == JOIN:
        group.go(member.member_id)  # it never was a member
    return _fact(
        kind, turn, key, member, "error_code", side="response", expected=0, seen=error, earlier=member.last,
        sure=True,
    )  # fmt: skip


def _holdings(of: Any) -> frozenset[Holding] | None:
    """What a request or an assignment holds; None where it says nothing (null: unchanged)."""
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
