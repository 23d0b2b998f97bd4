"""What is known of a group whose members only heartbeat: consumer (KIP-848), share (KIP-932), streams
(KIP-1071).
"""

from collections import deque
from enum import StrEnum
from typing import NamedTuple

from kdissect.history.classic_group import REBALANCES_KEPT, Cause
from kdissect.history.fact import Evidence
from kdissect.history.table import Table
from kdissect.model.packet import NEVER_NS

MEMBERS_KEPT = 5_000  # of one group; group.consumer.max.size is unlimited by default

# What a member holds: (topic id, partition), and for streams (role, subtopology, partition).
Holding = tuple[str | bytes, int] | tuple[str, str, int]


class ModernKind(StrEnum):
    """The kinds of groups."""

    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class ModernMember:
    """One member.

    `epoch` is the one the coordinator told last, `before` the one before it; None where an answer was not
    seen. `assigned` is what the coordinator gave last, `owned` what the member said that it holds; None
    before either was seen.
    """

    __slots__ = (
        "assigned", "before", "client", "client_id", "epoch", "instance_id", "interval_ms", "is_joined",
        "joined_by", "last", "last_ns", "member_id", "owned", "topics",
    )  # fmt: skip

    def __init__(self, member_id: str) -> None:
        self.member_id = member_id
        self.instance_id: str | None = None
        self.client_id: str | None = None
        self.client = ""
        self.epoch: int | None = None
        self.before: int | None = None
        self.is_joined = False
        self.joined_by: Evidence | None = None
        self.last: Evidence | None = None
        self.last_ns = NEVER_NS
        self.interval_ms = 0
        self.assigned: frozenset[Holding] | None = None
        self.owned: frozenset[Holding] | None = None
        self.topics: tuple[str, ...] | None = None

    def learn(self, epoch: int) -> None:
        """The coordinator told an epoch."""
        if epoch != self.epoch:
            self.before, self.epoch = self.epoch, epoch


class ModernRebalance(NamedTuple):
    """A new epoch of a group.

    `causes` are what was seen of its members since the epoch before, with the members; empty where nothing
    was seen: topics that got partitions, a regular expression that matches others, a member that fell silent.
    """

    epoch: int
    told_by: Evidence
    causes: dict[Cause, set[str]]
    members: int


class ModernGroup:
    """One group. `epoch` is the highest that a member was told, `raises` counts how often it rose.

    `rebalances` are the last raises, `causes` what has happened since the last one.
    """

    __slots__ = ("causes", "epoch", "gone", "kind", "members", "raises", "rebalances")

    def __init__(self, kind: ModernKind) -> None:
        self.kind = kind
        self.epoch = 0
        self.raises = 0
        self.members: Table[str, ModernMember] = Table(MEMBERS_KEPT)
        self.gone = 0
        """Members that left or were fenced."""
        self.causes: dict[Cause, set[str]] = {}
        self.rebalances: deque[ModernRebalance] = deque(maxlen=REBALANCES_KEPT)

    def because(self, cause: Cause, member_id: str) -> None:
        """Something happened that raises the epoch."""
        members = self.causes.setdefault(cause, set())
        if len(members) < MEMBERS_KEPT:
            members.add(member_id)

    def rose(self, epoch: int, told_by: Evidence) -> None:
        """A member was told a higher epoch."""
        self.epoch = epoch
        self.raises += 1
        self.rebalances.append(ModernRebalance(epoch, told_by, self.causes, len(self.members)))
        self.causes = {}
