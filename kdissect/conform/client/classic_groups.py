"""Groups of the classic protocol: joins, assignments, generations. Used with the cluster's lock."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Condition
from typing import Any

ILLEGAL_GENERATION, INCONSISTENT_PROTOCOL, UNKNOWN_MEMBER, REBALANCE, MEMBER_ID_REQUIRED = 22, 23, 25, 27, 79
MEMBER_IDS_FROM = 4  # version of JoinGroup (KIP-394)
_MAX_WAIT_S = 5.0
_MAX_MEMBERS = 100
Body = dict[str, Any]


class _Member:
    def __init__(self, row: Any) -> None:
        self.instance = getattr(row, "group_instance_id", None)
        self.protocols = {one.name: bytes(one.metadata) for one in row.protocols}
        self.is_joined = True


class ClassicGroup:
    """One group. A generation begins when all members joined, or after some seconds."""

    def __init__(self, changed: Condition, is_over: Callable[[], bool]) -> None:
        self._changed = changed
        self._is_over = is_over
        self.generation = 0
        self.members: dict[str, _Member] = {}
        self.kind = ""
        self._promised: set[str] = set()
        self._protocol = ""
        self._leader = ""
        self._is_joining = False
        self._assignments: dict[str, bytes] | None = None
        self._made = 0

    @property
    def state(self) -> str:
        """The name of the state."""
        if not self.members:
            return "Empty"
        if self._is_joining:
            return "PreparingRebalance"
        return "CompletingRebalance" if self._assignments is None else "Stable"

    def join(self, row: Any, version: int, client_id: str | None) -> Body:
        """Return the body of a JoinGroup response, after all members joined."""
        member_id = row.member_id
        instance = getattr(row, "group_instance_id", None)
        if not member_id:
            member_id = self._new_member_id(client_id, instance)
            if version >= MEMBER_IDS_FROM and instance is None:
                self._promised.add(member_id)
                return self._refusal(MEMBER_ID_REQUIRED, member_id)
        elif member_id not in self.members and member_id not in self._promised:
            return self._refusal(UNKNOWN_MEMBER, member_id)
        if len(self.members) >= _MAX_MEMBERS:
            return self._refusal(UNKNOWN_MEMBER, member_id)
        self._promised.discard(member_id)
        self.kind = row.protocol_type
        self.members[member_id] = _Member(row)
        self.begin_rebalance(keep=member_id)
        return self._joined(member_id, row)

    def _new_member_id(self, client_id: str | None, instance: str | None) -> str:
        for known, member in list(self.members.items()):
            if instance is not None and member.instance == instance:  # it replaces the one before (KIP-345)
                del self.members[known]
        self._made += 1
        return f"{instance or client_id or 'member'}-{self._made}"

    def begin_rebalance(self, keep: str = "") -> None:
        """Let all members but one join again."""
        if not self._is_joining:
            self._is_joining = True
            self._assignments = None
            for known, member in self.members.items():
                member.is_joined = known == keep
        self._changed.notify_all()

    def _joined(self, member_id: str, row: Any) -> Body:
        before = self.generation
        wait = min(max(getattr(row, "rebalance_timeout_ms", 0), 0) / 1000 or _MAX_WAIT_S, _MAX_WAIT_S)
        deadline = time.monotonic() + wait
        while self.generation == before and member_id in self.members:
            left = deadline - time.monotonic()
            if left <= 0 or all(one.is_joined for one in self.members.values()):
                self._begin_generation()
            elif self._is_over():
                break
            else:
                self._changed.wait(left)
        if member_id not in self.members:
            return self._refusal(UNKNOWN_MEMBER, member_id)
        if not self._protocol:
            return self._refusal(INCONSISTENT_PROTOCOL, member_id)
        return self._of_generation(member_id)

    def _begin_generation(self) -> None:
        self.members = {known: one for known, one in self.members.items() if one.is_joined}
        offered = [one.protocols for one in self.members.values()]
        common = [name for name in offered[0] if all(name in each for each in offered)] if offered else []
        self._protocol = common[0] if common else ""
        self._leader = next(iter(self.members), "")
        self.generation += 1
        self._is_joining = False
        self._assignments = None
        self._changed.notify_all()

    def _of_generation(self, member_id: str) -> Body:
        is_leader = member_id == self._leader
        rows = [
            {
                "member_id": known, "group_instance_id": one.instance,
                "metadata": one.protocols.get(self._protocol, b""),
            }
            for known, one in self.members.items()
        ]  # fmt: skip
        return {
            "generation_id": self.generation, "protocol_type": self.kind, "protocol_name": self._protocol,
            "leader": self._leader, "member_id": member_id, "members": rows if is_leader else [],
        }  # fmt: skip

    def _refusal(self, code: int, member_id: str) -> Body:
        return {
            "error_code": code, "generation_id": -1, "protocol_name": "", "leader": "",
            "member_id": member_id, "members": [],
        }  # fmt: skip

    def sync(self, row: Any) -> Body:
        """Return the body of a SyncGroup response, after the leader sent the assignments."""
        code = self.heartbeat(row.member_id, row.generation_id)
        if code:
            return {"error_code": code}
        if row.member_id == self._leader:
            self._assignments = {one.member_id: bytes(one.assignment) for one in row.assignments}
            self._changed.notify_all()
        deadline = time.monotonic() + _MAX_WAIT_S
        while self._assignments is None and not self._is_joining and not self._is_over():
            left = deadline - time.monotonic()
            if left <= 0:
                self.begin_rebalance()
            else:
                self._changed.wait(left)
        if self._assignments is None:
            return {"error_code": REBALANCE}
        return {
            "protocol_type": self.kind, "protocol_name": self._protocol,
            "assignment": self._assignments.get(row.member_id, b""),
        }  # fmt: skip

    def heartbeat(self, member_id: str, generation: int) -> int:
        """Return the error code for a member in a generation."""
        if member_id not in self.members:
            return UNKNOWN_MEMBER
        if generation != self.generation:
            return ILLEGAL_GENERATION
        return REBALANCE if self._is_joining else 0

    def leave(self, member_id: str) -> int:
        """Remove a member. Returns the error code."""
        if self.members.pop(member_id, None) is None:
            return UNKNOWN_MEMBER
        if self.members:
            self.begin_rebalance()
        else:
            self._is_joining, self._assignments = False, None
        self._changed.notify_all()
        return 0

    def commit_error(self, member_id: str, generation: int) -> int:
        """Return the error code for a commit, which members may send while others join.

        Consumers without a group protocol commit with generation -1.
        """
        if generation < 0 and not self.members:
            return 0
        code = self.heartbeat(member_id, generation)
        return 0 if code == REBALANCE else code
