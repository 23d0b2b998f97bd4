"""Members of classic groups that the compiled part goes on with (native/src/transfers/lent_members.rs)."""

from __future__ import annotations

from kdissect.history.fact import GroupKey, answer_of
from kdissect.history.groups.classic_groups import ClassicGroups
from kdissect.history.lent_connections import LentConnections
from kdissect.history.machine import nothing_lent
from kdissect.model.native import native
from kdissect.session.info import ConnectionInfo

MemberKey = tuple[GroupKey, str]
"""A member by its group and id."""


class LentMembers:
    """Group members whose state the native engine owns. The machine reclaims it before it reads it. Compiled
    only.

    `rows` takes Heartbeats without an error and answered OffsetCommits of which the machine has no fact to
    report, and leaves other rows as they are.
    """

    def __init__(self, machine: ClassicGroups) -> None:
        self._machine = machine
        self._connections = LentConnections()
        self._groups: dict[GroupKey, int] = {}
        self._members: dict[MemberKey, int] = {}
        self.rows = native.LentMembers(self._number_of, self._member_of)

    def _number_of(self, info: ConnectionInfo) -> int:
        self._machine.have_back = self.take
        return self._connections.of(info)

    def _member_of(
        self, connection: int, group_id: str, member_id: str
    ) -> tuple[int | None, native.MemberRow | None]:
        key: GroupKey = self._connections.infos[connection].scope, group_id
        group = self._machine.groups.peek(key)
        if group is None:
            return None, None
        number = self._groups.setdefault(key, len(self._groups))
        member = group.members.peek(member_id)
        if member is None:
            return number, None
        return number, (
            self._members.setdefault((key, member_id), len(self._members)),
            member.generation, None if member.joined_by is None else answer_of(member.joined_by),
            member.notified_ns is not None, member.session_timeout_ms, member.last_ns,
        )  # fmt: skip

    def take(self) -> None:
        """Hand the machine all that passed, and forget the numbers."""
        self._machine.have_back = nothing_lent
        answered, groups, members = self.rows.take()
        group_keys, member_keys = [*self._groups], [*self._members]
        self._machine.take_back(
            [self._connections.infos[number] for number in answered],
            [group_keys[number] for number in groups],
            [(*member_keys[number], last_ns) for number, last_ns in members],
        )
        self._connections.clear()
        self._groups.clear()
        self._members.clear()
