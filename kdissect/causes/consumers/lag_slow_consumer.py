"""`lag-slow-consumer`: a consumer reads, and more comes than it gets done."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import SECOND_NS, Cause, client_text, joined
from kdissect.causes.consumers.partition_ends import COMMITS_NS, Reading, readings, unread
from kdissect.causes.consumers.stuck_consumer import by_member, seen_at
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.model.cause import Cost, FoundCause, Party
from kdissect.model.wording import plural
from kdissect.report.quantities import duration
from kdissect.stats.client import Client

_LEAST = 50  # records
_SHARE = 0.4  # of what came while it was there: less is a moment's lead of the writers
_TIME_NS = 8 * SECOND_NS
_SILENT_NS = 6 * SECOND_NS
_GONE_NS = (
    10 * SECOND_NS
)  # without a heartbeat: by default members send one every 3 s, or every 5 s (KIP-848)


class LagSlowConsumer(Cause):
    """Members whose lag is a large part of what came since they joined."""

    id = "lag-slow-consumer"
    title = "A consumer falls behind"
    help = (
        "Have more members read (up to the number of partitions), do less for each record, or do it in"
        " parallel. See"
        " whether it waits for something else: a database, a service."
    )
    cites = ("KIP-62 Motivation", "org.apache.kafka.clients.consumer.ConsumerConfig#MAX_POLL_RECORDS_CONFIG")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each member."""
        found = by_member(readings(seen))
        group_members: dict[str, list[str]] = {}
        for group, client_id, host in found:
            group_members.setdefault(group, []).append(f"{client_id}@{host}")
        for members in found.values():
            topics = list(dict.fromkeys(each.topic for each in members))
            behind = sum(one.undone for one in members)
            if len(group_members[members[0].group]) == 1:
                behind = max(behind, sum(unread(seen, members[0].group, name) for name in topics))
            ends = sum(one.end or 0 for one in members)
            last_ns = max(one.worked_ns for one in members)
            joined_ns = max(one.joined_ns for one in members) or seen.first_ns
            lasted_ns = seen.last_ns - joined_ns
            beat_ns = max(one.heartbeat_ns for one in members)
            is_gone = beat_ns and seen.last_ns - beat_ns > _GONE_NS
            is_there = not is_gone and last_ns and seen.last_ns - last_ns < max(_SILENT_NS, lasted_ns // 2)
            if behind < max(_LEAST, _SHARE * ends) or lasted_ns < _TIME_NS or not is_there:
                continue
            one = members[0]
            if all(each.is_read for each in members) and _has_just_connected(seen, one):
                continue
            client = Client(None, one.client_id, None, one.address)
            yield self.found(
                f"{client_text(client)} of group '{one.group}' is {plural(behind, 'record', spec=',')} of"
                f" {joined(topics)} behind after"
                f" {duration(lasted_ns)}: more comes than it gets done.",
                f"readers of group '{one.group}'",
                parties_of([client])
                | {Party("group", one.group), *(Party("topic", name) for name in topics)},
                seen_at(one.connection, f"group {one.group}", joined_ns, seen.last_ns),
                Cost(records=behind),
                f"groups {{files}} --group '{one.group}'",
                "a burst that it works off later looks the same",
            )


def _has_just_connected(seen: Evidence, one: Reading) -> bool:
    """Return whether a client had no time to commit what it read before it connected again."""
    starts = seen.gathering.links.starts_of(one.client_id, one.address)
    return bool(starts) and seen.last_ns - max(starts) < COMMITS_NS
