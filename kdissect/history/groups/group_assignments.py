"""Assignments by the leader of a classic group's generation, and what members receive of them.

A coordinator hands on the bytes that the leader sent, and nothing where it sent none for a member
(org.apache.kafka.coordinator.group.GroupMetadataManager). Answers to the members come in any order.
"""

from enum import StrEnum
from typing import Any

from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact, GroupKey
from kdissect.history.groups.group_payloads import CONSUMER, assigned_partitions
from kdissect.model.wording import plural

ASSIGNMENTS_KEPT = 5_000  # of a generation, one for each member of a group
_NAMED = 3  # partitions in a text
# The assignors that come with clients, all of which assign a partition to one member. Other assignors may
# differ.
EXCLUSIVE = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})


class AssignmentFact(StrEnum):
    """Facts about assignments."""

    UNREADABLE = "assignment_unreadable"  # a leader of consumers sent it (seen: why)
    # one partition for two members (expected: the first, seen: partition, second)
    SHARED = "partition_shared"
    NOT_SUBSCRIBED = "not_subscribed"  # expected: the member's topics, seen: another topic
    DIFFERS = "assignment_differs"  # a member received other bytes than the leader sent


class Assignments:
    """Those of one generation.

    `sent` are the leader's, None before they were seen, `by` where. `given` are the assignments of members
    that received a response earlier. `is_settled` is False once it is not known which the coordinator took.
    """

    __slots__ = ("by", "given", "is_settled", "sent")

    def __init__(self) -> None:
        self.sent: dict[str, bytes] | None = None
        self.by: Evidence | None = None
        self.given: dict[str, tuple[bytes, Evidence]] = {}
        self.is_settled = True

    def send(self, view: ExchangeView, key: GroupKey) -> list[Fact]:
        """Return a leader's SyncGroup that was answered without an error, or not at all."""
        rows = view.request.assignments[:ASSIGNMENTS_KEPT]
        sent = {str(row.member_id): bytes(row.assignment) for row in rows}
        if self.sent is not None:
            self.is_settled &= sent == self.sent  # the coordinator uses the assignments that came first
            return []
        self.is_settled &= view.response is not None
        self.sent, self.by = sent, view.evidence
        facts = [
            fact
            for member_id, (given, evidence) in self.given.items()
            for fact in self._compare(view, key, member_id, given, evidence)
        ]
        self.given.clear()
        return facts

    def give(self, view: ExchangeView, key: GroupKey, member_id: str, given: bytes) -> list[Fact]:
        """Take the answer to a member."""
        if self.sent is not None:
            return self._compare(view, key, member_id, given, view.evidence)
        if len(self.given) < ASSIGNMENTS_KEPT:
            self.given[member_id] = given, view.evidence
        return []

    def _compare(
        self, view: ExchangeView, key: GroupKey, member_id: str, given: bytes, evidence: Evidence
    ) -> list[Fact]:
        sent = (self.sent or {}).get(member_id)
        if not self.is_settled or sent is None or sent == given:
            return []  # a static member that came back has another id than the leader knew (KIP-345)
        fact = Fact(
            AssignmentFact.DIFFERS, key, evidence, "response", "assignment", *_texts(sent, given), self.by,
            view.all_whole,
        )  # fmt: skip
        return [fact]


def of_leader(view: ExchangeView, key: GroupKey, protocol: tuple[str | None, str | None]) -> list[Fact]:
    """Return the faults of the assignments in a leader's SyncGroup; `protocol` are type and name, None if
    unknown.
    """
    kind, name = protocol
    holders: dict[tuple[str, int], str] = {}
    for index, row in enumerate(view.request.assignments if kind == CONSUMER else ()):
        member_id, path = str(row.member_id), f"assignments[{index}].assignment"
        found = assigned_partitions(bytes(row.assignment))
        if found is None:
            seen = plural(len(row.assignment), "byte")
            return [view.fact(AssignmentFact.UNREADABLE, key, path, seen=seen, sure=True)]
        for partition in sorted(found) if name in EXCLUSIVE else ():
            holder = holders.setdefault(partition, member_id)
            if holder != member_id:
                seen = f"{_name(partition)} for {member_id}"
                return [view.fact(AssignmentFact.SHARED, key, path, expected=holder, seen=seen, sure=True)]
    return []


def _texts(sent: bytes, given: bytes) -> tuple[str, str]:
    """Return both in words that differ."""
    found = _text(sent, assigned_partitions(sent)), _text(given, assigned_partitions(given))
    return found if found[0] != found[1] else (plural(len(sent), "byte"), f"{len(given)} other ones")


def _text(sent: bytes, found: Any) -> str:
    if found is None or not sent:
        return plural(len(sent), "byte")
    names = [_name(partition) for partition in sorted(found)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (", ".join(names[:_NAMED]) + more) or "no partition"


def _name(partition: tuple[str, int]) -> str:
    return f"{partition[0]}-{partition[1]}"
