"""State of one classic group, its generations and members."""

from collections import deque
from enum import StrEnum

from kdissect.history.fact import Evidence
from kdissect.history.groups.group_assignments import Assignments
from kdissect.history.groups.group_attempts import Attempt
from kdissect.history.state_table import Table
from kdissect.model.packets.packet import NEVER_NS

MEMBERS_KEPT = 5_000  # of one group. group.max.size is unlimited by default, and thousands are rare
REBALANCES_KEPT = 100  # the last rebalances of a group. Earlier ones are only counted
ATTEMPTS_KEPT = 1_000  # unanswered JoinGroups of a group. Later attempts are ignored
GONE_KEPT = 1_000  # members of a group that left. A broker assigns an id only once


class ClassicState(StrEnum):
    """Where a group stands, as far as its members show it."""

    UNKNOWN = "unknown"
    REBALANCING = "rebalancing"  # the broker asked members to join again
    SYNCING = "syncing"  # a generation began, assignments are outstanding
    STABLE = "stable"
    EMPTY = "empty"  # all known members left


class Cause(StrEnum):
    """Why a generation began."""

    FIRST_MEMBER = "first_member"  # the group was empty
    MEMBER_JOINED = "member_joined"
    MEMBER_LEFT = "member_left"
    MEMBER_LOST = "member_lost"  # its session ended: it is missing and never left
    MEMBER_RESTARTED = "member_restarted"  # a static member with a new id
    SUBSCRIPTION_CHANGED = "subscription_changed"
    ASSIGNMENT_DELAYED = "assignment_delayed"  # a first assignment comes later than the epoch before it
    LEADER_REJOINED = "leader_rejoined"  # without another cause: its topics changed
    UNKNOWN = "unknown"


class ClassicMember:
    """One member.

    `generation` is the group's current one, by its JoinGroup's response or by another request that the broker
    accepted; None without either.
    """

    __slots__ = (
        "assignment",
        "client",
        "client_id",
        "generation",
        "instance_id",
        "joined_by",
        "last_ns",
        "leads",
        "member_id",
        "metadata",
        "notified_ns",
        "overdue",
        "protocol",
        "protocols",
        "rebalance_timeout_ms",
        "refusals",
        "session_timeout_ms",
    )  # fmt: skip

    def __init__(self, member_id: str) -> None:
        self.member_id = member_id
        self.instance_id: str | None = None
        self.client_id: str | None = None
        self.client = ""
        self.generation: int | None = None
        self.joined_by: Evidence | None = None
        self.session_timeout_ms = 0
        self.rebalance_timeout_ms = 0
        self.leads = False
        """Whether its JoinGroup's answer made it the leader, by name or with the list of members."""
        self.protocol: tuple[str | None, str | None] = None, None
        """Type and name, in that response."""
        self.protocols: tuple[str, ...] = ()
        self.metadata: bytes = b""
        """Its subscription under the protocol that the group chose, or under its first protocol."""
        self.assignment: bytes | None = None
        self.last_ns = NEVER_NS
        self.refusals = 0
        """Heartbeats in a row that were answered with REBALANCE_IN_PROGRESS."""
        self.notified_ns: int | None = None
        """When the first of them was answered."""
        self.overdue = False


class Rebalance:
    """The beginning of one generation.

    `causes` are the possible ones, with the members they name and when each was seen at work; `reasons` are
    those that members gave (KIP-800). `first` is the member whose JoinGroup was sent first, at `first_ns`;
    `shown_ns` is the first effect: a member was asked to join again, or a known member did. `synced` sent a
    SyncGroup; `stable_ns` is the time at which the last member received its first assignment of the
    generation, NEVER_NS before that.
    """

    __slots__ = (
        "_assigned", "began", "causes", "first", "first_ns", "generation", "members", "reasons", "shown_ns",
        "stable_ns", "synced",
    )  # fmt: skip

    def __init__(self, generation: int, began: Evidence, notified_ns: int | None = None) -> None:
        self.generation = generation
        self.began = began
        self.first = ""
        self.first_ns: int | None = None
        self.shown_ns = notified_ns
        self.stable_ns = NEVER_NS
        self.members: set[str] = set()
        self.synced: set[str] = set()
        self._assigned: set[str] = set()
        """Members that received an assignment."""
        self.causes: dict[Cause, dict[str, int]] = {}
        self.reasons: dict[str, str] = {}

    @property
    def since_ns(self) -> int:
        """When it began, as far as anything shows it."""
        found = earliest(self.first_ns, self.shown_ns)
        return self.began.answered_ns if found is None else found

    def asked(self, member_id: str, sent_ns: int, was_there: bool) -> None:
        """Note that a member asked to join. A known member does so because a rebalance is in progress."""
        if self.first_ns is None or sent_ns < self.first_ns:
            self.first, self.first_ns = member_id, sent_ns
        if was_there:
            self.shown_ns = earliest(self.shown_ns, sent_ns)

    def assigned(self, member_id: str, answered_ns: int) -> None:
        """Note that a member received an assignment.

        A member may ask again in the same generation: a broker answers a JoinGroup that changes nothing with
        the present generation.
        """
        if member_id not in self._assigned:
            self._assigned.add(member_id)
            self.stable_ns = max(self.stable_ns, answered_ns)

    def because(self, cause: Cause, member_id: str, time_ns: int) -> None:
        """Note a possible cause of the rebalance and its time, NEVER_NS if that is unknown."""
        if cause is Cause.MEMBER_JOINED:  # JoinGroups are answered in another order than they are sent
            for first, first_ns in self.causes.get(Cause.FIRST_MEMBER, {}).items():
                if time_ns < first_ns:
                    self.causes[Cause.FIRST_MEMBER] = {member_id: time_ns}
                    member_id, time_ns = first, first_ns
        members = self.causes.setdefault(cause, {})
        if len(members) < MEMBERS_KEPT:
            members.setdefault(member_id, time_ns)

    def why(self, leader: str | None) -> dict[Cause, set[str]]:
        """Return the causes, each no later than its effect.

        Without such a cause, a known member asked to join: a leader does when its topics changed.
        """
        found = before(self.causes, self.shown_ns)
        if found:
            return found
        return {Cause.LEADER_REJOINED if self.first == leader else Cause.UNKNOWN: {self.first}}


def earliest(*times_ns: int | None) -> int | None:
    """Return the first of the known times."""
    return min((time_ns for time_ns in times_ns if time_ns is not None), default=None)


def before(causes: dict[Cause, dict[str, int]], shown_ns: int | None) -> dict[Cause, set[str]]:
    """Return the causes at work when the effect showed; all causes if its time is unknown."""
    found: dict[Cause, set[str]] = {}
    for cause, members in causes.items():
        early = {who for who, time_ns in members.items() if shown_ns is None or time_ns <= shown_ns}
        if early:
            found[cause] = early
    return found


class ClassicGroup:
    """One group.

    `roster` are the members that the leader's response lists, None before it was seen. `members` may lack
    some of them, because it has only members that were seen themselves. `has_static`: one of them is static
    (KIP-345). `left` are the members that left since the last generation began, `gone` all members that left,
    and `notified_ns` is when a member was first asked since then to join again. `attempts` were not answered.
    `assignments` are the generation's, `stated` the metadata that its leader received, in `stated_by`, of
    members that were not seen to join it yet.
    """

    __slots__ = (
        "assignments",
        "attempts",
        "generation",
        "gone",
        "has_static",
        "leader",
        "left",
        "members",
        "notified_ns",
        "protocol",
        "protocol_type",
        "rebalances",
        "roster",
        "state",
        "stated",
        "stated_by",
        "total_rebalances",
    )  # fmt: skip

    def __init__(self) -> None:
        self.state = ClassicState.UNKNOWN
        self.generation: int | None = None
        self.leader: str | None = None
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.members: Table[str, ClassicMember] = Table(MEMBERS_KEPT)
        self.roster: set[str] | None = None
        self.has_static = False
        self.left: dict[str, Evidence] = {}
        self.gone: Table[str, Evidence] = Table(GONE_KEPT)
        self.assignments = Assignments()
        self.stated: dict[str, bytes] = {}
        self.stated_by: Evidence | None = None
        self.notified_ns: int | None = None
        self.attempts: list[Attempt] = []
        self.rebalances: deque[Rebalance] = deque(maxlen=REBALANCES_KEPT)
        self.total_rebalances = 0

    @property
    def rebalance(self) -> Rebalance | None:
        """The one that led to the current generation."""
        return self.rebalances[-1] if self.rebalances else None

    def notified(self, time_ns: int) -> None:
        """Note that a member was asked to join again."""
        self.notified_ns = earliest(self.notified_ns, time_ns)

    def attempt(self, attempt: Attempt) -> None:
        """Note a JoinGroup or SyncGroup that was not answered.

        That is known when its connection ends: the generation it helped to bring about may have begun since.
        """
        if len(self.attempts) < ATTEMPTS_KEPT:
            self.attempts.append(attempt)
        if not attempt.is_join:
            return
        earlier_ns = NEVER_NS
        for rebalance in self.rebalances:
            began_ns = rebalance.began.answered_ns
            if earlier_ns <= attempt.sent_ns <= began_ns:
                self.tried(attempt, rebalance)
                return
            earlier_ns = began_ns

    def tried(self, attempt: Attempt, rebalance: Rebalance) -> None:
        """Count an attempt to a rebalance."""
        if attempt.member_id in self.members:
            rebalance.asked(attempt.who, attempt.sent_ns, was_there=True)
        else:
            rebalance.because(Cause.MEMBER_JOINED, attempt.who, attempt.sent_ns)

    def member(self, member_id: str) -> ClassicMember:
        """Return a member, made if it was not known."""
        return self.members.get_or(member_id, lambda: ClassicMember(member_id))

    def instance(self, instance_id: str) -> ClassicMember | None:
        """Return a static member by its instance id (KIP-345)."""
        return next((member for member in self.members if member.instance_id == instance_id), None)

    def leave(self, member_id: str, evidence: Evidence) -> ClassicMember | None:
        """Remove a member that left."""
        member = self.members.pop(member_id)
        if member_id:
            self.gone.put(member_id, evidence)
        if member is not None:
            if len(self.left) < MEMBERS_KEPT:
                self.left[member_id] = evidence
            if not len(self.members):
                self.state, self.notified_ns = ClassicState.EMPTY, None
        return member
