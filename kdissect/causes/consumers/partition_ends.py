"""The ends of partitions of groups, as far as a client received them, and the progress of members."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.causes.evidence.evidence import Evidence, Row
from kdissect.engine.times import ns_of
from kdissect.session.identities import one_of_several, topic_now


class Reading(NamedTuple):
    """A member and a partition that it holds. Offsets are None where they were not seen.

    `worked_ns`: when it asked for records last, or its group committed other offsets; 0 for never.
    """

    group: str
    client_id: str
    address: str
    topic: str
    partition: int
    position: int | None
    committed: int | None
    end: int | None
    worked_ns: int
    joined_ns: int
    connection: str
    heartbeat_ns: int

    @property
    def lag(self) -> int:
        """Records that it has not read yet, 0 if unknown."""
        if self.end is None or self.position is None:
            return 0
        return max(self.end - self.position, 0)

    @property
    def is_read(self) -> bool:
        """Whether it has read the partition to its end."""
        return self.end is not None and self.position is not None and self.position >= self.end

    @property
    def undone(self) -> int:
        """Records that it has not committed yet, or has not read yet if it does not commit."""
        if self.end is None or self.committed is None:
            return self.lag
        return max(self.end - self.committed, 0)


_Ends = dict[tuple[str, str, int], int]
"""High watermarks by scope, topic and partition."""


def readings(seen: Evidence) -> list[Reading]:
    """Return all that members hold, or held."""
    positions = seen.gathering.groups.positions
    ends: _Ends = {}
    for ((scope, _, _), partition), position in positions.all():
        if position.high_watermark is not None:
            key = scope, *partition
            ends[key] = max(ends.get(key, 0), position.high_watermark)
    found = []
    for row in seen.groups:
        members = {member["member_id"]: member for member in row["members"]}
        found += [_reading(seen, row, one, members, ends) for one in row["partitions"]]
    return [one for one in found if one is not None]


def _reading(seen: Evidence, row: Row, one: Row, members: dict[str, Row], ends: _Ends) -> Reading | None:
    name = f"{one['topic']}-{one['partition']}"
    holders = [member for member in members.values() if name in (member["assigned"] or ())]
    holder = next((member for member in reversed(holders) if member["gone"] is None), None)
    if holder is None or _are_fetches_hidden(seen, holder["client_id"] or "", holder["address"]):
        return None
    moved_ns = seen.gathering.rewinds.moved.peek(row["group"]) or 0
    fetched_ns = max(_fetched_ns(seen, holder["client_id"] or "", holder["address"]), moved_ns)
    connection, heartbeat_ns = "", 0
    logs = seen.gathering.groups.logs.items()
    log = next(
        (
            log
            for (_, group), log in logs
            if group == row["group"] and one_of_several(log.info) == row.get("cluster")
        ),
        None,
    )
    end = None
    if log is not None:
        end = ends.get((log.info.scope, topic_now(log.info, one["topic"]), one["partition"]))
    member = None if log is None else log.members.peek(holder["member_id"])
    if member is not None and member.link is not None:
        connection = member.connection
        heartbeat_ns = member.last_heartbeat_ns
    return Reading(
        row["group"],
        holder["client_id"] or "",
        holder["address"],
        one["topic"],
        one["partition"],
        one["fetch_offset"],
        one["committed"],
        end,
        fetched_ns,
        0 if holder["joined"] is None else ns_of(holder["joined"]),
        connection,
        heartbeat_ns,
    )


def _are_fetches_hidden(seen: Evidence, client_id: str, host: str) -> bool:
    """Return True if a filter does not accept some Fetches of a client: what it read is not known then."""
    shown, sent = (
        sum(tally.exchanges for key, tally in tallies if key[:3] == ("Fetch", client_id, host))
        for tallies in (seen.tallies, seen.background)
    )
    return shown < sent


def _fetched_ns(seen: Evidence, client_id: str, host: str) -> int:
    """Return when a client asked for records last."""
    return max(
        (tally.last_ns or 0 for key, tally in seen.background if key[:3] == ("Fetch", client_id, host)),
        default=0,
    )


def unread(seen: Evidence, group: str, topic: str) -> int:
    """Return the number of records that were written to a topic in the capture, less those that members of a
    group read.
    """
    row = next((row for row in seen.topics if (row["topic"] or row["topic_id"]) == topic), None)
    if row is None:
        return 0
    written: int | None = row["written"]["records"]
    read = [reader["records"] for reader in row["readers"] if group in reader["groups"]]
    return 0 if written is None or None in read else max(written - sum(read), 0)
