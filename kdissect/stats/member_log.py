"""What is told of one member of a group, also after it is gone."""

from __future__ import annotations

from typing import Any

from kdissect.model.packets.packet import NEVER_NS
from kdissect.sketches.distribution import Distribution
from kdissect.stats.client import Client
from kdissect.stats.group_links import ClientKey


class MemberLog:
    """One member.

    `how` it went: `left`, `lost` (never said so), `fenced`, `replaced` (the same client came back with
    another member id), `refused` (it asked, and was never let in); None while it is there. `held` is what it
    was assigned last, in words (`TOPIC-PARTITION`); None before that was seen. `gaps` are times between
    heartbeats. `connection` is the one it spoke on last. `is_accepted`: whether it ever was a member.
    """

    __slots__ = (
        "client", "connection", "gaps", "heartbeats", "held", "how", "instance_id", "is_accepted",
        "joined_ns", "last_heartbeat_ns", "left_ns", "link", "member_id", "reason",
    )  # fmt: skip

    def __init__(self, member_id: str) -> None:
        self.member_id = member_id
        self.client: Client | None = None
        self.link: ClientKey | None = None
        self.connection = ""
        self.instance_id: str | None = None
        self.joined_ns: int | None = None
        self.left_ns: int | None = None
        self.how: str | None = None
        self.is_accepted = False
        self.reason = ""
        self.held: list[str] | None = None
        self.heartbeats = 0
        self.last_heartbeat_ns = NEVER_NS
        self.gaps = Distribution()

    def beat(self, time_ns: int) -> None:
        """The member sent a heartbeat."""
        if self.last_heartbeat_ns > NEVER_NS:
            self.gaps.add(time_ns - self.last_heartbeat_ns)
        self.last_heartbeat_ns = max(time_ns, self.last_heartbeat_ns)
        self.heartbeats += 1

    def gone(self, how: str, time_ns: int, reason: str = "") -> None:
        """The member is not there any more."""
        self.how, self.left_ns, self.reason = how, time_ns, reason

    def back(self, time_ns: int) -> None:
        """The member joined, for the first time or again."""
        self.how = self.left_ns = None
        self.is_accepted = True
        if self.joined_ns is None:
            self.joined_ns = time_ns

    @property
    def name(self) -> str:
        """What people call it: its instance id, its client id, else its member id."""
        client_id = None if self.client is None else self.client.client_id
        return self.instance_id or client_id or self.member_id

    def who(self) -> dict[str, Any]:
        """The client, by name, for JSON."""
        return (self.client or Client(None, None, None, "")).facts()
