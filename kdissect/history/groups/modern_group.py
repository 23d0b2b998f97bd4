"""State of a group whose members only heartbeat: consumer (KIP-848), share (KIP-932), streams (KIP-1071)."""

from collections import deque
from enum import StrEnum

from kdissect.history.fact import Evidence
from kdissect.history.groups.classic_group import (
    ATTEMPTS_KEPT,
    GONE_KEPT,
    REBALANCES_KEPT,
    Cause,
    before,
    earliest,
)
from kdissect.history.groups.group_attempts import Attempt
from kdissect.history.state_table import Table
from kdissect.model.packets.packet import NEVER_NS

MEMBERS_KEPT = 5_000  # of one group. group.consumer.max.size is unlimited by default
# Who says nothing for longer was removed by then: the session timeout of all three kinds by default
# (group.consumer.session.timeout.ms, KIP-848).
SESSION_NS = 45_000_000_000
# A heartbeat is late when it comes after twice the interval the coordinator asked for.
LATE_AFTER = 2
# A member that missed this number of heartbeats has left: a session is that much longer than the interval (45
# s to 5 s, KIP-848).
_MISSED = 9
_MS = 1_000_000

# A partition that a member owns: (topic id, partition), and for streams (role, subtopology, partition).
Holding = tuple[str | bytes, int] | tuple[str, str, int]
_NOTHING: frozenset[Holding] = frozenset()
# Causes for which members give up what newcomers get.
_FOR_NEWCOMERS = frozenset({Cause.MEMBER_JOINED, Cause.MEMBER_RESTARTED})
_RAISING = frozenset({Cause.MEMBER_JOINED, Cause.MEMBER_LEFT, Cause.SUBSCRIPTION_CHANGED})


class ModernKind(StrEnum):
    """The kinds of groups."""

    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class ModernMember:
    """One member.

    `epoch` is the one that the coordinator named last, `before` the one before it; None if the response was
    not seen. `assigned` is the coordinator's last assignment, `owned` the partitions that the member
    reported; None before either was seen. `given` is all that it was assigned since it joined, None where
    that is not known. `answered_ns` is when a response last confirmed its membership.
    """

    __slots__ = (
        "answered_ns", "assigned", "before", "client", "client_id", "connection", "epoch", "given",
        "instance_id", "interval_ms", "is_joined", "joined_by", "last", "last_ns", "member_id", "owned",
        "topics",
    )  # fmt: skip

    def __init__(self, member_id: str) -> None:
        self.member_id = member_id
        self.instance_id: str | None = None
        self.client_id: str | None = None
        self.client = ""
        self.connection = ""
        self.epoch: int | None = None
        self.before: int | None = None
        self.is_joined = False
        self.joined_by: Evidence | None = None
        self.last: Evidence | None = None
        self.last_ns = NEVER_NS
        self.answered_ns = NEVER_NS
        self.interval_ms = 0
        self.assigned: frozenset[Holding] | None = None
        self.given: frozenset[Holding] | None = None
        self.owned: frozenset[Holding] | None = None
        self.topics: tuple[str, ...] | None = None

    def learn(self, epoch: int) -> None:
        """Note the epoch that the coordinator named."""
        if epoch != self.epoch:
            self.before, self.epoch = self.epoch, epoch

    @property
    def revoking(self) -> frozenset[Holding]:
        """Partitions that it owns and must release, as far as both were seen."""
        if self.owned is None or self.assigned is None:
            return _NOTHING
        return self.owned - self.assigned

    def is_behind(self, epoch: int) -> bool:
        """Return whether it has not reached the group's epoch: it received an older one, or owns a revoked
        partition.
        """
        return self.epoch is not None and (self.epoch < epoch or bool(self.revoking))


class ModernRebalance:
    """A new epoch of a group.

    `causes` are the causes that its members showed since the epoch before, with the members and when they
    sent them. It is empty if members did not show one: topics that got partitions, or a regular expression
    that matches more topics. `settled_ns` is when the last member came to it and members were assigned what
    they wait for, None where that was not seen or another epoch came first. `delayed` is the rebalance of
    which the assignment comes with this one.
    """

    __slots__ = ("causes", "delayed", "epoch", "given_by", "members", "settled_ns")

    def __init__(
        self, epoch: int, given_by: Evidence, causes: dict[Cause, dict[str, int]], members: int
    ) -> None:
        self.epoch = epoch
        self.given_by = given_by
        self.causes = causes
        self.members = members
        self.settled_ns: int | None = None
        self.delayed: ModernRebalance | None = None

    def settle(self, time_ns: int) -> None:
        """All members came to it."""
        self.settled_ns = time_ns
        if self.delayed is not None and self.delayed.settled_ns is None:
            # The coordinator waits before it assigns (group.streams.initial.rebalance.delay.ms, KIP-1071).
            self.because(Cause.ASSIGNMENT_DELAYED, "", NEVER_NS)
            self.delayed.settle(time_ns)

    @property
    def shown_ns(self) -> int:
        """Time when a member first received it."""
        return self.given_by.answered_ns

    @property
    def since_ns(self) -> int:
        """When it began, as far as anything shows it."""
        times = (time_ns for members in self.causes.values() for time_ns in members.values())
        return earliest(self.shown_ns, *(time_ns for time_ns in times if time_ns > NEVER_NS)) or self.shown_ns

    def why(self) -> dict[Cause, set[str]]:
        """Return the causes, each no later than its effect."""
        return before(self.causes, self.shown_ns)

    def because(self, cause: Cause, member_id: str, time_ns: int) -> None:
        """Note a possible cause of the epoch and its time, NEVER_NS if that is unknown."""
        _note(self.causes, cause, member_id, time_ns)


def _note(causes: dict[Cause, dict[str, int]], cause: Cause, member_id: str, time_ns: int) -> None:
    """Keep a cause with its member and time."""
    members = causes.setdefault(cause, {})
    if len(members) < MEMBERS_KEPT:
        members.setdefault(member_id, time_ns)


class ModernGroup:
    """One group. `epoch` is the highest that a member received, `raises` counts how often it rose.

    `rebalances` are the last raises, `causes` what has happened since the last one. `behind` are members that
    have not come to the epoch. `holders` are the members that hold what only one can. `away` are static
    members that will be back under another id, by instance id. `attempts` to join were not answered. `left`
    are members that left. `contested` maps a member to a partition of its own that another member received,
    and to the response that shows it. `revoked` are partitions that members lost since the last raise and
    that no other member received yet.
    """

    __slots__ = (
        "attempts", "away", "behind", "causes", "contested", "epoch", "gone", "holders", "kind", "last_ns",
        "left", "members", "raises", "rebalances", "revoked",
    )  # fmt: skip

    def __init__(self, kind: ModernKind) -> None:
        self.kind = kind
        self.epoch = 0
        self.raises = 0
        self.members: Table[str, ModernMember] = Table(MEMBERS_KEPT)
        self.gone = 0
        """Members that left or were fenced."""
        self.causes: dict[Cause, dict[str, int]] = {}
        self.rebalances: deque[ModernRebalance] = deque(maxlen=REBALANCES_KEPT)
        self.behind: set[str] = set()
        self.holders: dict[Holding, str] = {}
        self.away: dict[str, str] = {}
        self.attempts: list[Attempt] = []
        self.left: Table[str, Evidence] = Table(GONE_KEPT)
        self.contested: dict[str, tuple[Holding, Evidence]] = {}
        self.revoked: set[Holding] = set()
        self.last_ns = NEVER_NS
        """When anything was last seen of it."""

    def because(self, cause: Cause, member_id: str, time_ns: int) -> None:
        """Something happened that raises the epoch."""
        _note(self.causes, cause, member_id, time_ns)

    def explained(self, cause: Cause, member_id: str, after_ns: int, until_ns: int) -> None:
        """Something is known to have happened between two times, by what it led to.

        A lost member explains the first epoch since then that has no other cause, or the next epoch.
        """
        for rebalance in self.rebalances:
            if after_ns < rebalance.shown_ns <= until_ns and not rebalance.causes:
                rebalance.because(cause, member_id, NEVER_NS)
                return
        self.because(cause, member_id, NEVER_NS)

    def rose(self, epoch: int, given_by: Evidence) -> None:
        """Note that a member received a higher epoch."""
        self.epoch = epoch
        self.raises += 1
        there = sum(member.is_joined for member in self.members)
        last = self.rebalances[-1] if self.rebalances else None
        delayed = None if self.causes or last is None or last.settled_ns is not None else last
        rebalance = ModernRebalance(epoch, given_by, self.causes, there)
        rebalance.delayed = delayed if self.is_unassigned() else None
        self.rebalances.append(rebalance)
        self.causes = {}
        self.revoked.clear()
        self.behind = {member.member_id for member in self.members if member.is_behind(epoch)}

    def follow(self, member: ModernMember, time_ns: int) -> None:
        """Note that a member received or sent something."""
        if member.is_behind(self.epoch):
            self.behind.add(member.member_id)
            return
        self.behind.discard(member.member_id)
        last = self.rebalances[-1] if self.rebalances else None
        if last is None or last.settled_ns is not None or self.behind or self.is_unassigned():
            return
        if not self._newcomers():
            last.settle(time_ns)

    def _newcomers(self) -> list[str]:
        """Return members without an assignment that get what others gave up since the last raise."""
        if not (self.revoked and self.rebalances and _FOR_NEWCOMERS & self.rebalances[-1].causes.keys()):
            return []
        return [one.member_id for one in self.members if one.is_joined and one.assigned == _NOTHING]

    def is_unassigned(self) -> bool:
        """Return True if the coordinator has not assigned anything to any member yet."""
        given = [member.assigned for member in self.members if member.is_joined]
        return bool(given) and all(assigned is not None and not assigned for assigned in given)

    def hold(self, member: ModernMember, given_before: frozenset[Holding], by: Evidence) -> list[str]:
        """Note that a member received a partition that only one member can own.

        A former owner that never released it has left.
        """
        lost: dict[str, None] = {}
        revoked = given_before - (member.assigned or _NOTHING)
        self._let_go(member.member_id, revoked)
        self.revoked |= revoked
        self.revoked -= member.assigned or _NOTHING
        for holding in sorted(member.assigned or (), reverse=True):  # the least one is reported
            if self.kind is ModernKind.STREAMS and holding[0] != "active":
                continue
            holder = self.holders.get(holding)
            self.holders[holding] = member.member_id
            other = None if holder in (None, member.member_id) else self.members.peek(holder or "")
            if other is not None and holding in (other.assigned or ()) and holding in (other.owned or ()):
                lost[other.member_id] = None
                self.contested[other.member_id] = holding, by
        return list(lost)

    def go(self, member_id: str) -> ModernMember | None:
        """Remove a member."""
        member = self.members.pop(member_id)
        self.behind.discard(member_id)
        self.contested.pop(member_id, None)
        if member is not None:
            self._let_go(member_id, member.assigned or _NOTHING)
        return member

    def _let_go(self, member_id: str, holdings: frozenset[Holding]) -> None:
        for holding in holdings:
            if self.holders.get(holding) == member_id:
                del self.holders[holding]

    def attempt(self, attempt: Attempt) -> None:
        """Note a member that asked to join and got no response.

        It may have caused the next epoch.

        That is known when its connection ends, and members may have received the epoch since.
        """
        if len(self.attempts) < ATTEMPTS_KEPT:
            self.attempts.append(attempt)
        for rebalance in self.rebalances:
            if attempt.sent_ns <= rebalance.shown_ns:
                rebalance.because(Cause.MEMBER_JOINED, attempt.who, attempt.sent_ns)
                return
        self.because(Cause.MEMBER_JOINED, attempt.who, attempt.sent_ns)

    def trying(self) -> list[Attempt]:
        """Return the attempts of clients that have not become members since."""
        found = []
        for attempt in self.attempts:
            member = self.members.peek(attempt.member_id)
            if member is None or not member.is_joined:
                found.append(attempt)
        return found

    def expected(self) -> dict[Cause, dict[str, int]]:
        """Return recent events that raise the epoch, and of which no member was informed yet."""
        found: dict[Cause, dict[str, int]] = {}
        for cause in filter(_RAISING.__contains__, self.causes):
            late = {
                who: time_ns
                for who, time_ns in self.causes[cause].items()
                if self.last_ns - time_ns <= SESSION_NS
            }
            if late:
                found[cause] = late
        return found

    def not_reached(self, members: list[ModernMember]) -> list[ModernRebalance]:
        """Return the rebalances that some members have not finished, or the last one for revoking members."""
        least = min((member.epoch or 0 for member in members), default=self.epoch)
        found = [rebalance for rebalance in self.rebalances if rebalance.epoch > least]
        return found or (list(self.rebalances)[-1:] if members else [])

    def lost(self) -> dict[str, ModernRebalance]:
        """Return members that the coordinator missed and removed, each with the epoch that came of it.

        No message says so. The heartbeat of a lost member was late when an epoch without another explanation
        came, and the member missed all heartbeats since, for as long as a session takes.
        """
        found = {}
        for member in self.members:
            interval_ns = member.interval_ms * _MS
            late_ns, silent_ns = LATE_AFTER * interval_ns, self.last_ns - member.last_ns
            if not (member.is_joined and interval_ns and silent_ns > _MISSED * interval_ns):
                continue
            for rebalance in self.rebalances:
                if not rebalance.causes and rebalance.shown_ns - member.last_ns > late_ns:
                    found[member.member_id] = rebalance
                    break
        return found

    def waited_for(self) -> list[ModernMember]:
        """Return members that have not reached the epoch or have no assignment yet, except silent or lost
        members.
        """
        lost = self.lost()
        late = self.behind.difference(lost) or set(self._newcomers()).difference(lost)
        found = [self.members.peek(member_id) for member_id in sorted(late)]
        return [one for one in found if one is not None and self.last_ns - one.last_ns <= SESSION_NS]
