"""The log of one group: its members, and the address of its coordinator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from kdissect.history.state_table import Table
from kdissect.model.packets.packet import NEVER_NS
from kdissect.session.info import ConnectionInfo
from kdissect.sketches.distribution import Distribution
from kdissect.stats.by_group.group_links import ClientKey
from kdissect.stats.by_group.streams_log import StreamsLog
from kdissect.stats.client import Client

Assigned = tuple[str, int] | str
"""A topic's partition, or a task in words."""


class MemberLog:
    """One member.

    `how` is the way in which it left: `left`, `lost` (without a request), `fenced`, `replaced` (the same
    client came back with another member id), `refused` (it asked, and was never admitted), None while it is
    there. `held` is its last assignment, None before that was seen. `gaps` are times between heartbeats.
    `connection` is its last one. `is_accepted`: whether it ever was a member. `epoch` is the one that the
    coordinator named last, None in classic groups. `streams` has what only members of streams groups send.
    """

    __slots__ = (
        "client", "connection", "epoch", "gaps", "heartbeats", "held", "how", "instance_id", "is_accepted",
        "joined_ns", "last_heartbeat_ns", "left_ns", "link", "member_id", "reason", "streams",
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
        self.held: list[Assigned] | None = None
        self.heartbeats = 0
        self.last_heartbeat_ns = NEVER_NS
        self.gaps = Distribution()
        self.epoch: int | None = None
        self.streams: StreamsLog | None = None

    def beat(self, time_ns: int) -> None:
        """Count a heartbeat of the member."""
        if self.last_heartbeat_ns > NEVER_NS:
            self.gaps.add(time_ns - self.last_heartbeat_ns)
        self.last_heartbeat_ns = max(time_ns, self.last_heartbeat_ns)
        self.heartbeats += 1

    def beats(self, count: int, gaps: list[int], last_ns: int) -> None:
        """Count many heartbeats, with the gaps between them. `last_ns` is the time of the last one."""
        self.gaps.add_all(gaps)
        self.last_heartbeat_ns = last_ns
        self.heartbeats += count

    def accept(self) -> None:
        """Note a heartbeat of the member that was answered without an error."""
        self.is_accepted = True
        if self.how == "replaced":  # it shares its connection with another one
            self.how = self.left_ns = None

    def gone(self, how: str, time_ns: int, reason: str = "") -> None:
        """Note that the member is not there any more."""
        self.how, self.left_ns, self.reason = how, time_ns, reason

    def back(self, time_ns: int) -> None:
        """Note that the member joined, for the first time or again."""
        self.how = self.left_ns = None
        self.is_accepted = True
        if self.joined_ns is None:
            self.joined_ns = time_ns

    @property
    def name(self) -> str:
        """Its name for people: its instance id, its client id, else its member id."""
        client_id = None if self.client is None else self.client.client_id
        return self.instance_id or client_id or self.member_id

    def who(self) -> dict[str, Any]:
        """Return the client, by name, for JSON."""
        return (self.client or Client(None, None, None, "")).facts()


MEMBERS_KEPT = 1_000  # present and former members of one group, 1 KB each
_NAMED_BY_KEPT = 100
_FAILURES_KEPT = 1_000  # kinds of failure, by API, error and client


class Failures:
    """Equal requests of one client: their number, and the times of the first and the last."""

    __slots__ = ("count", "first_ns", "last_ns")

    def __init__(self, time_ns: int) -> None:
        self.count = 0
        self.first_ns = self.last_ns = time_ns

    def add(self, time_ns: int) -> None:
        """Another one, sent then."""
        self.count += 1
        self.first_ns, self.last_ns = min(self.first_ns, time_ns), max(self.last_ns, time_ns)

    @property
    def every_ns(self) -> int | None:
        """The mean time from one to the next; None for a single one."""
        return (self.last_ns - self.first_ns) // (self.count - 1) if self.count > 1 else None


class GroupLog:
    """One group.

    `named_by` are the clients and APIs that named it, `info` a connection on which it was named,
    `coordinator` the address in FindCoordinator's answer. `denied` counts requests by client and API that
    were refused for lack of permission, `errors` the reasons for refusals of members, `failures` the failed
    requests of members, by API, error code's name and client. `rejoins` counts members who joined again, by
    the way in which they left, their reason and the client. `is_wanted`: a wanted exchange is about the
    group.
    """

    __slots__ = (
        "coordinator",
        "denied",
        "errors",
        "failures",
        "info",
        "is_wanted",
        "members",
        "named_by",
        "rejoins",
    )

    def __init__(self, info: ConnectionInfo) -> None:
        self.info = info
        self.is_wanted = False
        self.members: Table[str, MemberLog] = Table(MEMBERS_KEPT)
        self.coordinator: str | None = None
        self.named_by: dict[tuple[str | None, str], int] = {}
        self.denied: Counter[tuple[Client, str]] = Counter()
        self.errors: Counter[str] = Counter()
        self.failures: dict[tuple[str, str, Client], Failures] = {}
        self.rejoins: dict[tuple[str, str, Client], Failures] = {}

    def member(self, member_id: str) -> MemberLog:
        """Return a member, made if it was not known."""
        return self.members.get_or(member_id, lambda: MemberLog(member_id))

    def replace(self, member: MemberLog, connection: str, time_ns: int) -> MemberLog | None:
        """Note that a member joined on a connection: another id there, or of its instance, was the same
        client.

        Returns its last former self. For a member that left and is back under its id, that is itself.
        """
        former = member if member.how is not None else None
        for other in self.members:
            is_same = member.instance_id is not None and other.instance_id == member.instance_id
            if other is member or not (is_same or other.connection == connection):
                continue
            if other.how is None:
                other.gone("replaced", time_ns)
            if former is None or (other.left_ns or 0) > (former.left_ns or 0):
                former = other
        member.connection = connection
        return former

    def rejoin(self, former: MemberLog, client: Client, time_ns: int) -> None:
        """Count a client that was a member and joined again."""
        key = former.how or "", former.reason, client
        _count(self.rejoins, key, time_ns)

    def named(self, client_id: str | None, api: str, count: int = 1) -> None:
        """Count requests of a client that name the group."""
        key = client_id, api
        if key in self.named_by or len(self.named_by) < _NAMED_BY_KEPT:
            self.named_by[key] = self.named_by.get(key, 0) + count

    def deny(self, client: Client, api: str) -> None:
        """Count a refused request of a client."""
        key = client, api
        if key in self.denied or len(self.denied) < _NAMED_BY_KEPT:
            self.denied[key] += 1

    def fail(self, api: str, error: str, client: Client, time_ns: int) -> None:
        """Count a member's request that was refused, or not answered."""
        _count(self.failures, (api, error, client), time_ns)


def _count(kept: dict[tuple[str, str, Client], Failures], key: tuple[str, str, Client], time_ns: int) -> None:
    if key not in kept:
        if len(kept) >= _FAILURES_KEPT:
            return
        kept[key] = Failures(time_ns)
    kept[key].add(time_ns)


def in_words(held: Iterable[Assigned]) -> list[str]:
    """Return an assignment as texts: `TOPIC-PARTITION`, and tasks."""
    return [one if isinstance(one, str) else f"{one[0]}-{one[1]}" for one in held]
