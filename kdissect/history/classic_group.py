"""What is known of one classic group, its generations and members."""

from collections import deque
from enum import StrEnum

from kdissect.history.fact import Evidence
from kdissect.history.table import Table
from kdissect.model.packet import NEVER_NS

MEMBERS_KEPT = 5_000  # of one group; group.max.size is unlimited by default, thousands are rare
REBALANCES_KEPT = 100  # the last ones of a group; further ones are counted only


class ClassicState(StrEnum):
    """Where a group stands, as far as its members show it."""

    UNKNOWN = "unknown"
    REBALANCING = "rebalancing"  # members were told to join again
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
    LEADER_REJOINED = "leader_rejoined"  # without another cause: its topics changed
    UNKNOWN = "unknown"


class ClassicMember:
    """One member. `generation` is that of its last JoinGroup answer, None where that was not seen."""

    __slots__ = (
        "assignment", "client", "client_id", "generation", "instance_id", "joined_by", "last_ns", "member_id",
        "metadata", "overdue", "protocols", "rebalance_timeout_ms", "refusals", "session_timeout_ms",
        "told_ns",
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
        self.protocols: tuple[str, ...] = ()
        self.metadata: bytes = b""
        """What it subscribes to, under the protocol the group chose; else under its first."""
        self.assignment: bytes | None = None
        self.last_ns = 0
        self.refusals = 0
        """Heartbeats in a row that were answered with REBALANCE_IN_PROGRESS."""
        self.told_ns = 0
        """When the first of them was answered; 0: none was."""
        self.overdue = False


class Rebalance:
    """The beginning of one generation.

    `causes` are those that were seen, with the members they name; `reasons` what members said of themselves
    (KIP-800). `first` is the member whose JoinGroup was sent first, at `first_ns`; `stable_ns` the time of
    the last SyncGroup answer, NEVER_NS before the first.
    """

    __slots__ = ("began", "causes", "first", "first_ns", "generation", "members", "reasons", "stable_ns")

    def __init__(self, generation: int, began: Evidence) -> None:
        self.generation = generation
        self.began = began
        self.first = ""
        self.first_ns = 0
        self.stable_ns = NEVER_NS
        self.members: set[str] = set()
        self.causes: dict[Cause, set[str]] = {}
        self.reasons: dict[str, str] = {}

    def asked(self, member_id: str, sent_ns: int) -> None:
        """A member asked to join."""
        if not self.first_ns or sent_ns < self.first_ns:
            self.first, self.first_ns = member_id, sent_ns

    def because(self, cause: Cause, member_id: str) -> bool:
        """Add a cause; whether it is new."""
        members = self.causes.setdefault(cause, set())
        new = member_id not in members
        members.add(member_id)
        return new

    def why(self, leader: str | None) -> dict[Cause, set[str]]:
        """The causes. Where none was seen, a known member asked: the leader does when its topics changed."""
        if self.causes:
            return self.causes
        return {Cause.LEADER_REJOINED if self.first == leader else Cause.UNKNOWN: {self.first}}


class ClassicGroup:
    """One group.

    `roster` are the members its leader was told of, None before that was seen: then members may be missing
    in `members`, which were seen themselves. `left` are those that left since the last generation began.
    """

    __slots__ = (
        "generation", "leader", "left", "members", "protocol", "protocol_type", "rebalances", "roster",
        "state", "total_rebalances",
    )  # fmt: skip

    def __init__(self) -> None:
        self.state = ClassicState.UNKNOWN
        self.generation: int | None = None
        self.leader: str | None = None
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.members: Table[str, ClassicMember] = Table(MEMBERS_KEPT)
        self.roster: set[str] | None = None
        self.left: dict[str, Evidence] = {}
        self.rebalances: deque[Rebalance] = deque(maxlen=REBALANCES_KEPT)
        self.total_rebalances = 0

    @property
    def rebalance(self) -> Rebalance | None:
        """The one that led to the current generation."""
        return self.rebalances[-1] if self.rebalances else None

    def member(self, member_id: str) -> ClassicMember:
        """A member, made if it was not known."""
        return self.members.get_or(member_id, lambda: ClassicMember(member_id))

    def instance(self, instance_id: str) -> ClassicMember | None:
        """A static member by its instance id (KIP-345)."""
        return next((member for member in self.members if member.instance_id == instance_id), None)

    def leave(self, member_id: str, evidence: Evidence) -> ClassicMember | None:
        """A member is gone."""
        member = self.members.pop(member_id)
        if member is not None:
            if len(self.left) < MEMBERS_KEPT:
                self.left[member_id] = evidence
            if not len(self.members):
                self.state = ClassicState.EMPTY
        return member
