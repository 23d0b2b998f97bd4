"""A group as causes look at it: rebalances with their times, who came and went, and the packets."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import Any, NamedTuple

from kdissect.causes.cause import times
from kdissect.causes.evidence.evidence import Evidence, Row
from kdissect.causes.evidence.seen import Seen, packets_of
from kdissect.causes.ledger.symptom import SymptomKind
from kdissect.engine.times import ns_of
from kdissect.history.fact import Fact
from kdissect.history.groups.classic_group import ClassicState
from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.model.cause import Cost, Packets, Party

_STEPS = (
    "ClassicFact.generation_began",
    "ClassicFact.left",
    "ClassicFact.joined",
    "ClassicFact.rejoin_requested",
    "ClassicFact.fenced",
    "ClassicFact.refused",
    "ModernFact.group_epoch",
    "ModernFact.left",
    "ModernFact.joined",
    "ModernFact.fenced",
    "ModernFact.refused",
)
_TOLD = 2  # heartbeats: one may have been on its way


_INCREMENTAL = frozenset({"connect compatible", "connect sessioned"})  # KIP-415


class Rebalance(NamedTuple):
    """One rebalance: when, how long it kept its members, and who brought it about, by how."""

    time_ns: int
    took_ns: int
    members: int
    causes: tuple[tuple[str, str], ...]
    """How, and the member by name."""


class GroupStory:
    """One group. `client_id` and `address` identify members: a client that is started again is the same."""

    def __init__(self, row: Row, facts: list[Fact]) -> None:
        self.row = row
        self.name: str = row["group"]
        self._facts = facts
        self._times = sorted((fact.evidence.sent_ns, number) for number, fact in enumerate(facts))
        self.rebalances = [_rebalance(one) for one in row["rebalances"]]

    @property
    def is_incremental(self) -> bool:
        """Whether members go on with what stays theirs (cooperative assignment, KIP-848, KIP-415)."""
        protocol = self.row["protocol"] or ""
        return self.row["kind"] != "classic" or "cooperative" in protocol or protocol in _INCREMENTAL

    @property
    def is_of_workers(self) -> bool:
        """Whether the members are workers of Connect, of which MirrorMaker consists."""
        return (self.row["protocol"] or "").startswith("connect")

    @property
    def stops(self) -> str:
        """The activity that a rebalance stops."""
        return "reading stops on the partitions that move" if self.is_incremental else "the whole group stops"

    @property
    def is_resized(self) -> bool:
        """Whether its rebalances come from members that came once and left once.

        An incremental rebalance takes two steps: the first gives partitions back, the second gives them out.
        """
        came, left = self.came("member_joined", "first_member"), self.came("member_left")
        if self.came("member_lost") or max([0, *came.values(), *left.values()]) > 1:
            return False
        steps = 2 if self.is_incremental else 1
        moves = self.brought_about("member_joined", "first_member", "member_left")
        return len(self.rebalances) <= steps * len(moves)

    @property
    def joined_ns(self) -> int | None:
        """When the coordinator answered the JoinGroups of a generation that has no assignments yet; None if
        it has them.
        """
        if self.row["state"] != ClassicState.SYNCING:
            return None
        began = [one.evidence.answered_ns for one in self._facts if one.kind is ClassicFact.GENERATION_BEGAN]
        return max(began, default=None)

    @property
    def parties(self) -> frozenset[Party]:
        """The group and its coordinator."""
        found = {Party("group", self.name)}
        if self.row["coordinator"]:
            found.add(Party("broker", self.row["coordinator"]))
        if cluster := self.row.get("cluster"):
            found.add(Party("cluster", cluster))
        return frozenset(found)

    def of_member(self, *names: str) -> frozenset[Party]:
        """Return the group with these members."""
        return self.parties | {Party("client", name) for name in names if name}

    def brought_about(self, *hows: str, name: str | None = None) -> list[Rebalance]:
        """Rebalances that came about so, by a member."""
        return [
            one
            for one in self.rebalances
            if any(how in hows and name in (None, member) for how, member in one.causes)
        ]

    def came(self, *hows: str) -> Counter[str]:
        """Return how often each member came or went so."""
        return Counter(
            member for one in self.rebalances for how, member in one.causes if how in hows and member
        )

    def cost(self, rebalances: list[Rebalance]) -> Cost:
        """Return members that waited, times how long."""
        return Cost(
            time_ns=sum(one.took_ns * max(one.members, 1) for one in rebalances), retries=len(rebalances)
        )

    def seen(self, rebalances: list[Rebalance]) -> Seen:
        """Return when these rebalances were seen, with the packets that are nearest to them."""
        seen = Seen()
        for one in rebalances:
            at = self._nearest(one.time_ns)
            packets = Packets("", -1, f"group {self.name}", one.time_ns)
            if at is not None:
                packets = packets_of(at.evidence)._replace(time_ns=one.time_ns)
            seen.add(packets, one.took_ns)
        return seen

    def _nearest(self, time_ns: int) -> Fact | None:
        """Return the fact that is nearest to a time: the first of several."""
        times = self._times
        after = bisect_left(times, (time_ns, 0))
        before = bisect_left(times, (times[after - 1][0], 0)) if after else after
        near = [(abs(times[at][0] - time_ns), times[at][1]) for at in (before, after) if at < len(times)]
        return self._facts[min(near)[1]] if near else None

    def reads_again(self, seen: Evidence, name: str) -> str:
        """Return a sentence about records that a member receives again each time it comes back, or an empty
        text.
        """
        for one in seen.ledger.open(SymptomKind.REFETCHED):
            if one.group == self.name and one.client.client_id == name:
                return (
                    f" When it came back, it began to read topic '{one.topic}' at the same place"
                    f" ({one.detail}) {times(one.seen.times)}, and received the same records."
                )
        return ""

    def seen_open(self, since_ns: int, until_ns: int) -> Seen:
        """Return a rebalance in progress, with the packets of the last completed one."""
        seen = self.seen(self.rebalances[-1:])
        if not seen.times:
            seen.add(Packets("", -1, f"group {self.name}", since_ns))
        seen.first_ns, seen.last_ns = since_ns, until_ns
        return seen


def stories(seen: Evidence) -> list[GroupStory]:
    """Return all groups."""
    return seen.once(_stories)


def _stories(seen: Evidence) -> list[GroupStory]:
    facts: dict[str, list[Fact]] = {}
    for known in seen.facts(*_STEPS):
        facts.setdefault(known.fact.key[1], []).append(known.fact)
    return [GroupStory(row, facts.get(row["group"], [])) for row in seen.groups]


def held_up(story: GroupStory) -> dict[str, int]:
    """Return members that did not join a rebalance in time though they lived, with their heartbeats
    meanwhile.

    Their heartbeats were answered REBALANCE_IN_PROGRESS: they were not silent.
    """
    found: dict[str, int] = {}
    for row in rows_of(story, "failures"):
        if row["api"] != "Heartbeat" or row["error"] != "REBALANCE_IN_PROGRESS" or row["count"] < _TOLD:
            continue
        name, first_ns, last_ns = row["client_id"] or "", ns_of(row["first"]), ns_of(row["last"])
        for one in story.brought_about("member_lost", name=name):
            if one.time_ns <= first_ns and last_ns <= one.time_ns + one.took_ns:
                found[name] = row["count"]
    return found


def _rebalance(row: dict[str, Any]) -> Rebalance:
    causes = tuple((str(one["cause"]), str(one["member"] or "")) for one in row["causes"])
    return Rebalance(ns_of(row["time"]), row["took_ns"] or 0, row["members"] or 0, causes)


def who(story: GroupStory) -> str:
    """Return the parties with the cost of a rebalance."""
    return f"all members of group '{story.name}'"


def rows_of(story: GroupStory, part: str) -> list[Row]:
    """Return the rows in a part of the group."""
    found: list[Row] = story.row[part]
    return found
