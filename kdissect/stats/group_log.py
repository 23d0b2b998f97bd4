"""What is told of one group: its members, and where its coordinator is."""

from __future__ import annotations

from collections import Counter

from kdissect.history.table import Table
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import Client
from kdissect.stats.member_log import MemberLog

MEMBERS_KEPT = 1_000  # of one group, those that are gone too; 1 KB each
NAMED_BY_KEPT = 100


class GroupLog:
    """One group.

    `named_by` are the clients and APIs that named it, `info` a connection on which it was named,
    `coordinator` the address that FindCoordinator told. `denied` counts requests by client and API that were
    refused for want of permission, `errors` what members were refused for. `is_wanted`: an exchange that
    was asked for is about the group.
    """

    __slots__ = ("coordinator", "denied", "errors", "info", "is_wanted", "members", "named_by")

    def __init__(self, info: ConnectionInfo) -> None:
        self.info = info
        self.is_wanted = False
        self.members: Table[str, MemberLog] = Table(MEMBERS_KEPT)
        self.coordinator: str | None = None
        self.named_by: dict[tuple[str | None, str], int] = {}
        self.denied: Counter[tuple[Client, str]] = Counter()
        self.errors: Counter[str] = Counter()

    def member(self, member_id: str) -> MemberLog:
        """A member, made if it was not known."""
        return self.members.get_or(member_id, lambda: MemberLog(member_id))

    def named(self, client_id: str | None, api: str) -> None:
        """A client named the group."""
        key = client_id, api
        if key in self.named_by or len(self.named_by) < NAMED_BY_KEPT:
            self.named_by[key] = self.named_by.get(key, 0) + 1

    def deny(self, client: Client, api: str) -> None:
        """A client was refused."""
        key = client, api
        if key in self.denied or len(self.denied) < NAMED_BY_KEPT:
            self.denied[key] += 1
