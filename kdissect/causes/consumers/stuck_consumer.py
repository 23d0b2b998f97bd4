"""`stuck-consumer`: a member keeps its partitions and takes nothing from them any more."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import SECOND_NS, Cause, client_text, joined
from kdissect.causes.consumers.partition_ends import Reading, readings, unread
from kdissect.causes.consumers.standing_still import Still, left_out, unworked
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import duration, grouped
from kdissect.stats.client import Client

_SILENT_NS = 6 * SECOND_NS  # without a Fetch, while there is something to read


class StuckConsumer(Cause):
    """Members that heartbeat and do not fetch, though there are records for them."""

    id = "stuck-consumer"
    title = "A consumer stands still"
    severity = Severity.STOPS
    help = (
        "See where the program hangs (a thread dump): a call without a time limit, a lock, a paused"
        " partition. Its"
        " heartbeats go on in the background, so that its group keeps it until max.poll.interval.ms is over."
    )
    cites = (
        "KIP-62 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#MAX_POLL_INTERVAL_MS_CONFIG",
    )
    explains = ("lag-slow-consumer",)

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each member that reads nothing, and each that leaves out some of its partitions."""
        yield from self._silent(seen)
        found = [*readings(seen), *readings(seen, has_left=True)]
        for members in by_member(found).values():
            skipped = left_out(seen, members)
            if skipped:
                yield self._still(
                    skipped,
                    "it neither fetched nor committed there, and {} came. Its heartbeats, and its Fetches of"
                    " other partitions, went on.",
                )
            others = unworked(members, skipped)
            if others:
                yield self._still(
                    others,
                    "it committed nothing there, and it fetched {} beyond the committed offset. Its commits"
                    " of other partitions went on.",
                )

    def _still(self, found: list[Still], what: str) -> FoundCause:
        one, places = found[0].reading, [each.reading for each in found]
        client = Client(None, one.client_id, None, one.address)
        since_ns, lasted_ns = min(each.since_ns for each in found), max(each.lasted_ns for each in found)
        records = sum(each.records for each in found)
        return self.found(
            f"{client_text(client)} of group '{one.group}' stands still on"
            f" {joined([f'{each.topic}-{each.partition}' for each in places])}: for {duration(lasted_ns)}"
            f" {what.format(plural(records, 'record', spec=','))}",
            f"readers of group '{one.group}'",
            parties_of([client])
            | {Party("group", one.group), *(Party("topic", each.topic) for each in places)},
            seen_at(one.connection, f"group {one.group}", since_ns, since_ns + lasted_ns),
            Cost(time_ns=lasted_ns, records=records),
            f"groups {{files}} --group '{one.group}'",
            "whether its program hangs at a record, or paused the partition on purpose, does not show",
        )

    def _silent(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield members that requested no records at all."""
        for members in by_member(readings(seen)).values():
            last_ns = max(one.worked_ns for one in members)
            silent_ns = max(one.heartbeat_ns for one in members) - last_ns
            if not last_ns or silent_ns < _SILENT_NS:
                continue
            stuck = [one for one in members if one.undone > 0 or unread(seen, one.group, one.topic)]
            if not stuck:
                continue
            one = stuck[0]
            topics = list(dict.fromkeys(each.topic for each in stuck))
            undone = max(
                sum(each.undone for each in stuck), sum(unread(seen, one.group, name) for name in topics)
            )
            at = seen_at(one.connection, f"group {one.group}", last_ns, seen.last_ns)
            client = Client(None, one.client_id, None, one.address)
            yield self.found(
                f"{client_text(client)} of group '{one.group}' requested no records of"
                f" {joined(topics)} for the last"
                f" {duration(silent_ns)} of the capture, though it is a member and {grouped(undone)} or"
                " more wait for it.",
                f"readers of group '{one.group}'",
                parties_of([client])
                | {Party("group", one.group), *(Party("topic", name) for name in topics)},
                at,
                Cost(time_ns=silent_ns, records=undone),
                f"groups {{files}} --group '{one.group}'",
                "what the program does instead does not show",
            )


def by_member(found: list[Reading]) -> dict[tuple[str, str, str], list[Reading]]:
    """Return readings by group and member."""
    members: dict[tuple[str, str, str], list[Reading]] = {}
    for one in found:
        members.setdefault((one.group, one.client_id, one.address), []).append(one)
    return members


def seen_at(connection: str, what: str, from_ns: int, until_ns: int) -> Seen:
    """Return something that lasted, seen on a connection."""
    at = Seen()
    at.add(Packets(connection, -1, what, from_ns))
    at.last_ns = max(until_ns, from_ns)
    return at
