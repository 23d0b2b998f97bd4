"""The ends of partitions of groups, as far as a client received them, and the progress of members."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.causes.cause import SECOND_NS
from kdissect.causes.evidence.evidence import Evidence, Row
from kdissect.causes.evidence.topic_readers import readers_of, topic_row
from kdissect.engine.times import ns_of
from kdissect.session.identities import one_of_several, plain_name, topic_now
from kdissect.stats.by_producer.written_offsets import Written

# org.apache.kafka.clients.consumer.ConsumerConfig#AUTO_COMMIT_INTERVAL_MS_CONFIG
COMMITS_NS = 5 * SECOND_NS
_OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"  # org.apache.kafka.common.protocol.Errors


class Reading(NamedTuple):
    """A member and a partition that it holds. Offsets are None where they were not seen.

    `worked_ns`: when it asked for records last, or its group committed other offsets; 0 for never.
    `fetched_ns`: when it asked for records last. `named_ns` and `moved_ns`: when its last request named this
    partition, and when the last commit moved the partition's offset; 0 for never. `watermark`: the high
    watermark that it received last. `written`: how far producers wrote. `until_ns`: its last heartbeat, or
    the time at which it left.
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
    fetched_ns: int
    named_ns: int
    moved_ns: int
    watermark: int | None
    written: Written | None
    until_ns: int

    @property
    def unworked(self) -> int:
        """Records that it fetched and has not committed."""
        if self.position is None or self.committed is None:
            return 0
        return max(self.position - self.committed, 0)

    @property
    def waiting(self) -> int:
        """Records beyond all that responses to the member showed."""
        known = [offset for offset in (self.position, self.watermark) if offset is not None]
        return max(self.written.end - max(known), 0) if self.written is not None and known else 0

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


def readings(seen: Evidence, *, has_left: bool = False) -> list[Reading]:
    """Return all that members hold, or what members held that have left."""
    gone = "left" if has_left else None
    found = []
    for row in seen.groups:
        there = [member for member in row["members"] if member["gone"] == gone]
        found += [_reading(seen, row, one, there) for one in row["partitions"]]
    return [one for one in found if one is not None]


def _reading(seen: Evidence, row: Row, one: Row, there: list[Row]) -> Reading | None:
    name = f"{one['topic']}-{one['partition']}"
    holder = next((member for member in reversed(there) if name in (member["assigned"] or ())), None)
    if holder is None or _are_fetches_hidden(seen, holder["client_id"] or "", holder["address"]):
        return None
    fetched_ns = _fetched_ns(seen, holder["client_id"] or "", holder["address"])
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
    end, scope, topic = None, "", one["topic"]
    if log is not None:
        scope, topic = log.info.scope, topic_now(log.info, one["topic"])
        end = seen.high_watermarks.get((scope, topic, one["partition"]))
    member = None if log is None else log.members.peek(holder["member_id"])
    position = None
    if member is not None and member.link is not None:
        connection = member.connection
        heartbeat_ns = member.last_heartbeat_ns
        position = seen.positions.get((member.link, (topic, one["partition"])))
    return Reading(
        row["group"],
        holder["client_id"] or "",
        holder["address"],
        one["topic"],
        one["partition"],
        one["fetch_offset"],
        one["committed"],
        end,
        max(fetched_ns, seen.last_moves.get(row["group"], 0)),
        0 if holder["joined"] is None else ns_of(holder["joined"]),
        connection,
        heartbeat_ns,
        fetched_ns,
        0 if position is None else position.time_ns,
        seen.gathering.rewinds.moved.peek((scope, row["group"], topic, one["partition"])) or 0,
        None if position is None else position.high_watermark,
        seen.written_ends.get((scope, plain_name(topic), one["partition"])),
        heartbeat_ns if holder["gone_at"] is None else ns_of(holder["gone_at"]),
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
    group read. 0 if a member asked for offsets that were not there: it skipped records.
    """
    row = topic_row(seen.topics, topic)
    if row is None:
        return 0
    written: int | None = row["written"]["records"]
    readers = readers_of(row, group)
    read = [reader["records"] for reader in readers]
    if written is None or None in read or any(_OUT_OF_RANGE in reader["errors"] for reader in readers):
        return 0
    waiting: int = written - sum(read)
    return max(waiting, 0)
