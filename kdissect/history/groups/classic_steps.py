"""Facts that a classic group's exchanges show, and why its generations began."""

from enum import StrEnum
from typing import Any

from kdissect.history import error_codes as codes
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact, GroupKey, is_answered_before
from kdissect.history.groups import group_assignments
from kdissect.history.groups.classic_group import Cause, ClassicGroup, ClassicMember, Rebalance
from kdissect.history.groups.group_assignments import AssignmentFact
from kdissect.history.groups.group_payloads import assigned_partitions, subscribed_topics
from kdissect.model.packets.packet import NEVER_NS
from kdissect.model.wording import plural

_TOPICS_NAMED = 3  # in a text
REASONS_KEPT = 100  # what members say of themselves, of one rebalance
_FIRST_GENERATION = 1  # of a new group (org.apache.kafka.coordinator.group.GroupMetadataManager)


class ClassicFact(StrEnum):
    """Facts about classic groups."""

    MEMBER_ID_GIVEN = "member_id_given"  # MEMBER_ID_REQUIRED (KIP-394), seen: the id
    GIVEN_ID_UNUSED = "given_id_unused"  # the next JoinGroup has another id
    JOINED = "joined"  # seen: the member's id
    GENERATION_BEGAN = "generation_began"  # generations before and now
    ASSIGNED = "assigned"  # SyncGroup's response, seen: the bytes, detail: the member
    REJOIN_REQUESTED = "rejoin_requested"  # REBALANCE_IN_PROGRESS; seen: how often in a row
    REJOIN_OVERDUE = "rejoin_overdue"  # still not joined again, milliseconds: the rebalance timeout, the time
    LEFT = "left"  # seen: the member's id, detail: its reason
    FENCED = "fenced"  # another member has the instance id, detail: the member
    REFUSED = "refused"  # seen: the error code, detail: the member
    GENERATION_WENT_BACK = "generation_went_back"  # in JoinGroup's response, expected: the least
    # chosen for one generation, expected: the one that other members received
    TWO_PROTOCOLS = "two_protocols"
    GENERATION_DIFFERS = "generation_differs"  # not that of the member's last JoinGroup
    ASSIGNMENTS_OF_FOLLOWER = "assignments_of_follower"  # expected: the leader, seen: the member
    ASSIGNMENT_TO_STRANGER = "assignment_to_stranger"  # seen: ids that are not in the generation
    PROTOCOL_DIFFERS = "protocol_differs"  # SyncGroup names other than JoinGroup's result (KIP-559)
    PROTOCOL_NOT_OFFERED = "protocol_not_offered"  # chosen, though a member did not offer it
    TWO_LEADERS = "two_leaders"  # named for one generation, expected: the one that other members received
    METADATA_DIFFERS = "metadata_differs"  # not as a member sent it, detail: the member
    ANSWERED_AFTER_LEAVE = "answered_after_leave"  # a heartbeat of a member that left, as if it were there
    ANSWERED_TO_STRANGER = "answered_to_stranger"  # a heartbeat of one that is not in the generation
    SILENT_TOO_LONG = "silent_too_long"  # milliseconds: the session timeout, the silence


def causes_of_join(view: ExchangeView, group: ClassicGroup, rebalance: Rebalance, member_id: str) -> None:
    """Why a member that joins may have brought the generation about. Called before the member is updated."""
    reason = getattr(view.request, "reason", None)
    if reason and len(rebalance.reasons) < REASONS_KEPT:
        rebalance.reasons[member_id] = str(reason)
    for who, evidence in group.left.items():
        if who != member_id:
            rebalance.because(Cause.MEMBER_LEFT, who, evidence.sent_ns)
    group.left.clear()
    known = group.members.peek(member_id)
    was_there = known is not None and known.generation is not None
    rebalance.asked(member_id, view.sent_ns, was_there)
    if known is None or not was_there:
        rebalance.because(_newcomer(view, group), member_id, view.sent_ns)
    elif _subscribes_otherwise(known, view.request):
        rebalance.because(Cause.SUBSCRIPTION_CHANGED, member_id, view.sent_ns)


def _newcomer(view: ExchangeView, group: ClassicGroup) -> Cause:
    instance_id = getattr(view.request, "group_instance_id", None)
    if instance_id is not None and group.instance(instance_id) is not None:
        return Cause.MEMBER_RESTARTED
    if group.total_rebalances == 1 and group.generation != _FIRST_GENERATION:
        return Cause.UNKNOWN  # the member may have been there before the capture
    return Cause.MEMBER_JOINED if len(group.members) else Cause.FIRST_MEMBER


def _subscribes_otherwise(known: ClassicMember, request: Any) -> bool:
    """Return whether the topics differ: other bytes (owned partitions, generation) change at every
    rebalance.
    """
    before = subscribed_topics(known.metadata)
    if before is None:
        return False
    for row in request.protocols or ():
        now = subscribed_topics(bytes(row.metadata))
        if now is None or sorted(now) == sorted(before):
            return False
    return True


def roster_causes(group: ClassicGroup, rebalance: Rebalance) -> None:
    """Note members that disappeared without a LeaveGroup, as the leader's response shows."""
    roster = group.roster or set()
    for member in group.members:
        if member.member_id not in roster and member.generation is not None:
            rebalance.because(Cause.MEMBER_LOST, member.member_id, NEVER_NS)


def went_back(view: ExchangeView, key: GroupKey, group: ClassicGroup, generation: int) -> list[Fact]:
    """Return whether a broker names a generation that cannot follow.

    A group that was empty begins again, with 1 or another first generation of its broker. A client that joins
    it then has no member id of the old one.
    """
    before, rebalance = group.generation, group.rebalance
    earlier = None
    if generation >= 0:
        if before is None or rebalance is None or before <= generation:
            return []
        asked = group.members.peek(str(view.request.member_id))
        if generation <= _FIRST_GENERATION and (asked is None or asked.generation is None):
            return []
        earlier = rebalance.began
        if not is_answered_before(earlier, view.evidence):
            return []  # it was sent before that: its response may be late
    kind, expected, seen = ClassicFact.GENERATION_WENT_BACK, before if earlier else 0, generation
    side = "response"
    return [view.fact(kind, key, "generation_id", side=side, expected=expected, seen=seen, earlier=earlier)]


def are_of_one_join(view: ExchangeView, began: Evidence | None) -> bool:
    """Return whether one coordinator answered a JoinGroup and the one that began the generation at the same
    time.

    It answers all members of a generation at once. A later response may come from another cluster at the same
    address, in which the group has the same generation.
    """
    return began is not None and not is_answered_before(began, view.evidence)


def two_leaders(view: ExchangeView, key: GroupKey, group: ClassicGroup, stated: str) -> list[Fact]:
    """Return whether members of a generation receive different leaders.

    A static member that comes back under another id may receive a leader that also came back (KIP-345).
    """
    began = None if group.rebalance is None else group.rebalance.began
    if stated == group.leader or any(member.instance_id is not None for member in group.members):
        return []
    if not are_of_one_join(view, began):
        return []
    if getattr(view.request, "group_instance_id", None) is not None:
        return []
    kind, expected, path = ClassicFact.TWO_LEADERS, group.leader, "leader"
    side = "response"
    return [view.fact(kind, key, path, side=side, expected=expected, seen=stated, earlier=began)]


def metadata_differs(view: ExchangeView, key: GroupKey, group: ClassicGroup) -> list[Fact]:
    """Return whether the leader of the generation received members' metadata as they sent it.

    The leader's response and the members' responses come in any order.
    """
    facts = []
    for member_id in list(group.stated):
        member = group.members.peek(member_id)
        if member is None or member.generation != group.generation or member.joined_by is None:
            continue
        stated = group.stated.pop(member_id)
        if stated != member.metadata and member.protocol[1] in member.protocols:
            fact = view.fact(
                ClassicFact.METADATA_DIFFERS, key, "members", side="response",
                expected=_topics(member.metadata, stated), seen=_topics(stated, member.metadata),
                earlier=member.joined_by, detail=member.member_id,
            )  # fmt: skip
            facts.append(fact._replace(evidence=group.stated_by or fact.evidence))
    return facts


def _topics(metadata: bytes, other: bytes) -> str:
    """Return metadata in a few words that differ from those for the other bytes."""
    topics = subscribed_topics(metadata)
    if topics is None or topics == subscribed_topics(other):
        return f"{plural(len(metadata), 'byte')}"
    return f"topics {', '.join(topics[:_TOPICS_NAMED])}" if topics else "no topic"


def answered_after_leave(
    view: ExchangeView, key: GroupKey, group: ClassicGroup, member: ClassicMember | None
) -> list[Fact]:
    """Return whether the heartbeat of one that left was answered as if it were a member still."""
    left = None if member is not None else group.gone.peek(str(view.request.member_id))
    if left is None or not is_answered_before(left, view.evidence):
        return []
    seen, path, side = view.response.error_code, "error_code", "response"
    kind, expected = ClassicFact.ANSWERED_AFTER_LEAVE, codes.UNKNOWN_MEMBER_ID
    return [view.fact(kind, key, path, side=side, expected=expected, seen=seen, earlier=left)]


def answered_to_stranger(
    view: ExchangeView, key: GroupKey, group: ClassicGroup, member: ClassicMember | None
) -> list[Fact]:
    """Return whether a heartbeat for the generation was accepted of one that is not in its leader's list.

    Members that joined on the same connection show that it leads to the coordinator of that generation. A
    static member that comes back has another id than the leader knew (KIP-345).
    """
    request, roster, told = view.request, group.roster, group.stated_by
    if member is not None or view.response.error_code or roster is None or told is None or group.has_static:
        return []
    if request.generation_id != group.generation or str(request.member_id) in roster:
        return []
    joined = (other.joined_by for other in group.members if other.generation == group.generation)
    if not is_answered_before(told, view.evidence) or view.info.id not in {
        by.connection for by in joined if by is not None
    }:
        return []
    kind, path, side = ClassicFact.ANSWERED_TO_STRANGER, "error_code", "response"
    expected = codes.UNKNOWN_MEMBER_ID
    return [view.fact(kind, key, path, side=side, expected=expected, seen=0, earlier=told)]


def assigns(view: ExchangeView, key: GroupKey, group: ClassicGroup) -> list[Fact]:
    """Return a SyncGroup of the current generation that was not refused: what its leader assigns."""
    request = view.request
    member = group.members.peek(str(request.member_id))
    if member is None or not member.leads or not request.assignments or group.rebalance is None:
        return []
    named = getattr(request, "protocol_type", None), getattr(request, "protocol_name", None)
    stated = named if None not in named else member.protocol
    return [
        *group_assignments.of_leader(view, key, stated),
        *_not_subscribed(view, key, group, stated[1]),
        *group.assignments.send(view, key),
    ]


def _not_subscribed(
    view: ExchangeView, key: GroupKey, group: ClassicGroup, assignor: str | None
) -> list[Fact]:
    """Return whether the leader assigns topics that a member did not subscribe to when it joined."""
    for index, row in enumerate(view.request.assignments if assignor in group_assignments.EXCLUSIVE else ()):
        member = group.members.peek(str(row.member_id))
        if member is None or member.generation != group.generation or assignor not in member.protocols:
            continue
        topics = subscribed_topics(member.metadata)
        given = {topic for topic, _ in assigned_partitions(bytes(row.assignment)) or ()}
        strange = sorted(given.difference(map(str, topics))) if topics is not None else []
        if strange:
            kind, path = AssignmentFact.NOT_SUBSCRIBED, f"assignments[{index}].assignment"
            expected, seen = _topics(member.metadata, b""), f"topic {strange[0]}"
            return [view.fact(kind, key, path, expected=expected, seen=seen, earlier=member.joined_by)]
    return []


def generation_differs(
    view: ExchangeView, key: GroupKey, member: ClassicMember | None, generation: int
) -> list[Fact]:
    """Return whether a member's request names the generation that it received last."""
    if member is None or not _is_of_other_generation(member, generation, view.evidence):
        return []
    return [
        view.fact(
            ClassicFact.GENERATION_DIFFERS, key, "generation_id", expected=member.generation,
            seen=generation, earlier=member.joined_by,
        )
    ]  # fmt: skip


def _is_of_other_generation(member: ClassicMember, generation: int, sent: Evidence) -> bool:
    """Return whether a member names another generation than it received before the request."""
    if member.generation is None or member.joined_by is None:
        return False
    return generation != member.generation and is_answered_before(member.joined_by, sent)


def sync_request(view: ExchangeView, key: GroupKey, group: ClassicGroup) -> list[Fact]:
    """Return the facts of a SyncGroup of the current generation."""
    request = view.request
    facts = []
    assignments = request.assignments or ()
    member = group.members.peek(str(request.member_id))
    leads = member is not None and member.leads  # the broker may have named another leader to other members
    if assignments and not leads and group.leader not in (None, request.member_id):
        kind = ClassicFact.ASSIGNMENTS_OF_FOLLOWER
        expected, seen = group.leader, request.member_id
        facts.append(view.fact(kind, key, "assignments", expected=expected, seen=seen))
    if group.roster is not None:
        strangers = sorted({str(row.member_id) for row in assignments} - group.roster)
        if strangers:
            facts.append(view.fact(ClassicFact.ASSIGNMENT_TO_STRANGER, key, "assignments", seen=strangers))
    named = getattr(request, "protocol_type", None), getattr(request, "protocol_name", None)
    is_of_join = member is not None and member.generation == request.generation_id
    chosen = member.protocol if member is not None and is_of_join else (None, None)
    if None not in named and None not in chosen and named != chosen:
        facts.append(
            view.fact(ClassicFact.PROTOCOL_DIFFERS, key, "protocol_name", expected=chosen, seen=named)
        )
    return facts
