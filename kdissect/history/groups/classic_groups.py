"""Classic groups: JoinGroup, SyncGroup, Heartbeat, LeaveGroup and the generations they make.

Key: capture set, group id. Order: that of completion: a coordinator answers the JoinGroups of a generation
together, whenever they were sent, and members follow on connections of their own. (spec/000 "JoinGroup API"
and the sections after it; KIP-345, KIP-394, KIP-559, KIP-800.)
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from kdissect.history import api_keys as apis
from kdissect.history import error_codes as codes
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Fact, GroupKey
from kdissect.history.groups.classic_group import (
    MEMBERS_KEPT,
    ClassicGroup,
    ClassicMember,
    ClassicState,
    Rebalance,
)
from kdissect.history.groups.classic_steps import (
    ClassicFact,
    answered_after_leave,
    answered_to_stranger,
    are_of_one_join,
    assigns,
    causes_of_join,
    generation_differs,
    metadata_differs,
    roster_causes,
    sync_request,
    two_leaders,
    went_back,
)
from kdissect.history.groups.group_assignments import Assignments
from kdissect.history.groups.group_attempts import Attempts
from kdissect.history.machine import nothing_lent
from kdissect.history.state_table import Table
from kdissect.model.packets.packet import NEVER_NS
from kdissect.session.info import ConnectionInfo

GROUPS_KEPT = 20_000  # groups of a cluster, with 1 KB of state each and 1 KB a member
GIVEN_KEPT = 20_000  # member ids given to clients that have not joined with them yet (KIP-394)
# Answers to the heartbeat of a member: to others it says that it does not know them.
_OF_MEMBERS = (0, codes.REBALANCE_IN_PROGRESS)
_ATTEMPTS = (apis.JOIN_GROUP, apis.SYNC_GROUP)
_MS = 1_000_000
_NO_GENERATION = -1  # of a commit outside any group (spec/003 "OffsetCommit API")


class ClassicGroups:
    """Classic groups by id."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset(
        {apis.JOIN_GROUP, apis.SYNC_GROUP, apis.HEARTBEAT, apis.LEAVE_GROUP, apis.OFFSET_COMMIT}
    )

    def __init__(self) -> None:
        self.have_back: Callable[[], None] = nothing_lent
        """Take back members from the native engine (`lent_members`) before they are read."""
        self.groups: Table[GroupKey, ClassicGroup] = Table(GROUPS_KEPT)
        self._given: Table[tuple[str, str], str] = Table(GIVEN_KEPT)
        self._attempts = Attempts()

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next exchange of a group's member."""
        self.have_back()
        request = view.request
        if request is None:
            return []
        key: GroupKey = view.info.scope, str(request.group_id)
        attempt = self._attempts.of(view)
        if attempt is not None and view.key in _ATTEMPTS:
            self.groups.get_or(key, ClassicGroup).attempt(attempt)
        group = self.groups.get(key)
        if view.key == apis.JOIN_GROUP:
            group = group or self.groups.put(key, ClassicGroup())
            return self._join(view, key, group)
        if view.key == apis.OFFSET_COMMIT:
            return [] if group is None else _commit(view, key, group)
        group = group or self.groups.put(key, ClassicGroup())
        if view.key == apis.SYNC_GROUP:
            return _sync(view, key, group)
        return _heartbeat(view, key, group) if view.key == apis.HEARTBEAT else _leave(view, key, group)

    def take_back(
        self,
        answered: Iterable[ConnectionInfo],
        groups: Iterable[GroupKey],
        members: Iterable[tuple[GroupKey, str, int]],
    ) -> None:
        """Reclaim what passed in the native engine (`lent_members`), each in the order of last use.

        The parameters are connections on which a broker answered, groups, and members by group and id with
        the time of their last message.
        """
        for info in answered:
            self._attempts.answered(info)
        for key in groups:
            self.groups.use(key)
        for key, member_id, last_ns in members:
            group = self.groups.peek(key)
            member = None if group is None else group.members.get(member_id)
            assert member is not None  # no code removed it meanwhile
            member.last_ns = last_ns

    # JoinGroup

    def _join(self, view: ExchangeView, key: GroupKey, group: ClassicGroup) -> list[Fact]:
        facts = self._given_id(view, key)
        answer = view.response
        asked = group.members.get(view.request.member_id)
        if asked is not None:
            asked.refusals, asked.notified_ns, asked.overdue = 0, None, False
        if answer is None:
            return facts
        if answer.error_code == codes.MEMBER_ID_REQUIRED:
            self._given.put((view.info.id, key[1]), str(answer.member_id))
            seen = answer.member_id
            return [*facts, view.fact(ClassicFact.MEMBER_ID_GIVEN, key, "member_id", seen=seen)]
        if answer.error_code:
            return [*facts, *_refused(view, key, group, answer.error_code)]
        return [*facts, *_joined(view, key, group, answer)]

    def _given_id(self, view: ExchangeView, key: GroupKey) -> list[Fact]:
        """After MEMBER_ID_REQUIRED a client joins with the id that it received (KIP-394)."""
        given = self._given.pop((view.info.id, key[1]))
        if given is None or given == view.request.member_id:
            return []
        seen = view.request.member_id
        return [view.fact(ClassicFact.GIVEN_ID_UNUSED, key, "member_id", expected=given, seen=seen)]


def _joined(view: ExchangeView, key: GroupKey, group: ClassicGroup, answer: Any) -> list[Fact]:
    generation = answer.generation_id
    back = went_back(view, key, group, generation)
    facts = [*back]
    if group.rebalance is None or generation != group.generation:
        facts.append(_new_generation(view, key, group, generation, answer))
    else:
        facts += two_leaders(view, key, group, str(answer.leader))
        facts += _two_protocols(view, key, group, answer)
    rebalance = group.rebalance
    assert rebalance is not None  # _new_generation made one
    causes_of_join(view, group, rebalance, str(answer.member_id))
    member = _remember(view, group, answer)
    if back:
        member.generation = member.joined_by = None  # its generation is unknown
    rebalance.members.add(member.member_id)
    if answer.members:  # the leader receives all members
        group.roster = {str(row.member_id) for row in answer.members}
        group.has_static = any(getattr(row, "group_instance_id", None) is not None for row in answer.members)
        group.stated_by = view.evidence
        group.stated = {str(row.member_id): bytes(row.metadata) for row in answer.members[:MEMBERS_KEPT]}
        roster_causes(group, rebalance)
        rebalance.members |= group.roster
        _forget_absent(group)
    facts += metadata_differs(view, key, group)
    facts.append(view.fact(ClassicFact.JOINED, key, "member_id", seen=member.member_id))
    if str(answer.protocol_name or "") not in member.protocols and member.protocols:
        facts.append(
            view.fact(
                ClassicFact.PROTOCOL_NOT_OFFERED, key, "protocol_name", side="response",
                expected=member.protocols, seen=answer.protocol_name,
            )
        )  # fmt: skip
    return facts


def _two_protocols(view: ExchangeView, key: GroupKey, group: ClassicGroup, answer: Any) -> list[Fact]:
    expected, seen = group.protocol, answer.protocol_name
    if expected == _text(seen):
        return []
    earlier = None if group.rebalance is None else group.rebalance.began
    if not are_of_one_join(view, earlier):
        return []
    return [
        view.fact(
            ClassicFact.TWO_PROTOCOLS, key, "protocol_name", side="response", expected=expected, seen=seen,
            earlier=earlier,
        )
    ]  # fmt: skip


def _new_generation(
    view: ExchangeView, key: GroupKey, group: ClassicGroup, generation: int, answer: Any
) -> Fact:
    before = group.generation
    earlier = None if group.rebalance is None else group.rebalance.began
    began = Rebalance(generation, view.evidence, group.notified_ns)
    group.rebalances.append(began)
    group.notified_ns = None
    for attempt in group.attempts:
        if attempt.is_join and (earlier is None or attempt.sent_ns > earlier.answered_ns):
            group.tried(attempt, began)
    group.total_rebalances += 1
    group.generation = generation
    group.state = ClassicState.SYNCING
    group.leader = str(answer.leader)
    group.roster = None
    group.stated, group.stated_by, group.assignments = {}, None, Assignments()
    group.protocol = _text(answer.protocol_name)
    group.protocol_type = str(view.request.protocol_type)
    return view.fact(
        ClassicFact.GENERATION_BEGAN, key, "generation_id", side="response", expected=before,
        seen=generation, earlier=earlier,
    )  # fmt: skip


def _remember(view: ExchangeView, group: ClassicGroup, answer: Any) -> ClassicMember:
    request = view.request
    member_id = str(answer.member_id)
    instance_id = getattr(request, "group_instance_id", None)
    old = None if instance_id is None else group.instance(instance_id)
    if old is not None and old.member_id != member_id:
        group.members.pop(old.member_id)
    member = group.member(member_id)
    member.instance_id = instance_id
    member.client_id, member.client = view.exchange.client_id, view.info.client_text
    member.generation, member.joined_by = answer.generation_id, view.evidence
    member.leads = bool(answer.members) or str(answer.leader) == member_id
    member.protocol = str(request.protocol_type), _text(answer.protocol_name)
    member.session_timeout_ms = request.session_timeout_ms
    # Before version 1 the session timeout was the time for that too (KIP-62).
    member.rebalance_timeout_ms = getattr(request, "rebalance_timeout_ms", request.session_timeout_ms)
    member.protocols = tuple(str(row.name) for row in request.protocols or ())
    chosen = {str(row.name): bytes(row.metadata) for row in request.protocols or ()}
    member.metadata = chosen.get(group.protocol or "", next(iter(chosen.values()), b""))
    member.last_ns = max(view.sent_ns, view.evidence.answered_ns)
    group.left.pop(member_id, None)
    group.gone.pop(member_id)
    return member


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _forget_absent(group: ClassicGroup) -> None:
    for member_id in [member.member_id for member in group.members]:
        if member_id not in (group.roster or ()):
            group.members.pop(member_id)


def _refused(view: ExchangeView, key: GroupKey, group: ClassicGroup, error: int) -> list[Fact]:
    if error == codes.REBALANCE_IN_PROGRESS:
        if group.state is not ClassicState.EMPTY:
            group.state = ClassicState.REBALANCING
        group.notified(view.evidence.answered_ns)
        return []
    who = getattr(view.request, "member_id", "")
    if error in (codes.UNKNOWN_MEMBER_ID, codes.FENCED_INSTANCE_ID):
        group.members.pop(who)
    kind = ClassicFact.FENCED if error == codes.FENCED_INSTANCE_ID else ClassicFact.REFUSED
    path = "error_code"
    return [view.fact(kind, key, path, side="response", expected=0, seen=error, detail=str(who), sure=True)]


# SyncGroup


def _sync(view: ExchangeView, key: GroupKey, group: ClassicGroup) -> list[Fact]:
    request, answer = view.request, view.response
    member = group.members.get(request.member_id)
    facts = generation_differs(view, key, member, request.generation_id)
    is_current = request.generation_id == group.generation
    if is_current:
        facts += sync_request(view, key, group)
        if group.rebalance is not None:
            group.rebalance.synced.add(str(request.member_id))
    if answer is not None and answer.error_code:
        return [*facts, *_refused(view, key, group, answer.error_code)]
    if is_current:
        facts += assigns(view, key, group)
    if answer is None:
        return facts
    member = _accepted(view, group, request.generation_id)
    member.assignment = bytes(answer.assignment)
    if is_current:
        facts += group.assignments.give(view, key, member.member_id, member.assignment)
    member.last_ns = view.sent_ns
    if group.generation is None:
        group.generation = request.generation_id
    if request.generation_id == group.generation:
        group.state = ClassicState.STABLE
        if group.rebalance is not None:
            group.rebalance.assigned(member.member_id, view.evidence.answered_ns)
    return [
        *facts,
        view.fact(
            ClassicFact.ASSIGNED, key, "assignment", side="response", seen=member.assignment,
            detail=member.member_id,
        ),
    ]  # fmt: skip


# Heartbeat, OffsetCommit, LeaveGroup


def _heartbeat(view: ExchangeView, key: GroupKey, group: ClassicGroup) -> list[Fact]:
    request, answer = view.request, view.response
    member = group.members.get(request.member_id)
    facts = generation_differs(view, key, member, request.generation_id) + _late(view, key, member)
    if member is not None and answer is not None and not answer.error_code:
        member.refusals, member.notified_ns, member.overdue = 0, None, False  # it joined: no rebalance is on
    facts += _overdue(view, key, group, member)
    if answer is None:
        return facts
    if answer.error_code in _OF_MEMBERS:
        facts += answered_after_leave(view, key, group, member)
        if not answer.error_code and not facts:
            facts += answered_to_stranger(view, key, group, member)
        if member is None and str(request.member_id) not in group.gone:
            _accepted(view, group, request.generation_id).last_ns = view.sent_ns
    if answer.error_code == codes.REBALANCE_IN_PROGRESS and member is not None:
        member.refusals += 1
        if member.notified_ns is None:
            member.notified_ns = view.evidence.answered_ns
        seen = member.refusals
        facts.append(view.fact(ClassicFact.REJOIN_REQUESTED, key, "error_code", side="response", seen=seen))
    return [*facts, *_refused(view, key, group, answer.error_code)] if answer.error_code else facts


def _accepted(view: ExchangeView, group: ClassicGroup, generation: int) -> ClassicMember:
    """Return the sender of a request that only members of a generation may send."""
    member = group.member(str(view.request.member_id))
    member.client_id, member.client = view.exchange.client_id, view.info.client_text
    if member.generation is None:
        member.generation = generation
    return member


def _late(view: ExchangeView, key: GroupKey, member: ClassicMember | None) -> list[Fact]:
    """Return the time since a member was last heard of, against its session timeout."""
    if member is None:
        return []
    is_late, silent_ms = _is_late(member, view.sent_ns), (view.sent_ns - member.last_ns) // _MS
    member.last_ns = max(member.last_ns, view.sent_ns)
    if not is_late:
        return []
    expected = member.session_timeout_ms
    return [view.fact(ClassicFact.SILENT_TOO_LONG, key, "", expected=expected, seen=silent_ms)]


def _is_late(member: ClassicMember, sent_ns: int) -> bool:
    before, allowed_ms = member.last_ns, member.session_timeout_ms
    return before != NEVER_NS and allowed_ms != 0 and (sent_ns - before) // _MS > allowed_ms


def _overdue(
    view: ExchangeView, key: GroupKey, group: ClassicGroup, member: ClassicMember | None
) -> list[Fact]:
    """Return whether a member that was asked to join again still has not (KIP-62).

    The group waits as long as the most patient member allows.
    """
    if member is None or member.notified_ns is None or member.overdue:
        return []
    allowed_ms = max(known.rebalance_timeout_ms for known in group.members)
    waited_ms = (view.sent_ns - member.notified_ns) // _MS
    if not 0 < allowed_ms < waited_ms:
        return []
    member.overdue = True  # said once
    return [view.fact(ClassicFact.REJOIN_OVERDUE, key, "", expected=allowed_ms, seen=waited_ms)]


def _commit(view: ExchangeView, key: GroupKey, group: ClassicGroup) -> list[Fact]:
    request = view.request
    generation = getattr(request, "generation_id_or_member_epoch", _NO_GENERATION)
    if generation == _NO_GENERATION:
        return []
    member = group.members.get(request.member_id)
    facts = generation_differs(view, key, member, generation)
    if member is not None:
        member.last_ns = max(member.last_ns, view.sent_ns)
    elif view.response is not None and _is_taken(view.response):
        facts += answered_to_stranger(view, key, group, member)
    return facts


def _is_taken(answer: Any) -> bool:
    """Whether each offset of a commit was stored."""
    errors = [row.error_code for topic in answer.topics or () for row in topic.partitions or ()]
    return bool(errors) and not any(errors)


def _leave(view: ExchangeView, key: GroupKey, group: ClassicGroup) -> list[Fact]:
    request, answer = view.request, view.response
    if answer is None or answer.error_code:
        return [] if answer is None else _refused(view, key, group, answer.error_code)
    rows = getattr(request, "members", None)
    if rows is None:
        return [_gone(view, key, group, str(request.member_id), "")]
    errors = [row.error_code for row in getattr(answer, "members", None) or ()]
    facts = []
    for index, row in enumerate(rows):
        if index < len(errors) and errors[index]:
            continue
        static = None if row.group_instance_id is None else group.instance(row.group_instance_id)
        member_id = str(row.member_id) or (static.member_id if static is not None else "")
        facts.append(_gone(view, key, group, member_id, str(getattr(row, "reason", None) or "")))
    return facts


def _gone(view: ExchangeView, key: GroupKey, group: ClassicGroup, member_id: str, reason: str) -> Fact:
    group.leave(member_id, view.evidence)
    return view.fact(ClassicFact.LEFT, key, "member_id", seen=member_id, detail=reason)
