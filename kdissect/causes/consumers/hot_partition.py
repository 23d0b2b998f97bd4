"""`hot-partition`: nearly all records of a topic go to one of its partitions."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text
from kdissect.causes.consumers.alone_behind import alone_behind, held_partitions
from kdissect.causes.consumers.partition_ends import Reading
from kdissect.causes.evidence.evidence import Evidence, Row, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import grouped
from kdissect.session.identities import later_topic
from kdissect.stats.client import Client

_PARTITIONS = 3
_RECORDS = 200
_SHARE = 0.7


class HotPartition(Cause):
    """Ends of a topic's partitions that are far apart."""

    id = "hot-partition"
    title = "One partition gets nearly all records"
    severity = Severity.WASTES
    help = (
        "Records with one key go to one partition: use a key with more values, or add something to it for"
        " the keys that"
        " are frequent. Only one member of a group can read a partition."
    )
    cites = ("spec/000 Partitioning Strategies",)
    explains = ("lag-slow-consumer",)
    explains_by = frozenset({"group"})

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each topic whose partitions somebody reads."""
        ends: dict[tuple[str, str], dict[int, int]] = {}
        for (scope, topic, number), end in seen.high_watermarks.items():
            of_topic = ends.setdefault((seen.gathering.topics.apart(scope), topic), {})
            of_topic[number] = max(of_topic.get(number, 0), end)
        held = held_partitions(seen)
        for row in seen.topics:
            name = row["topic"] or row["topic_id"] or ""
            found = next((ends[key] for key in _keys(row, name) if key in ends), {})
            total = sum(found.values())
            written = row["written"]["records"]
            if (written or 0) < _RECORDS:
                continue
            if len(found) < _PARTITIONS or total < _RECORDS or name.startswith("__"):
                continue
            hot = max(found, key=lambda number: found[number])
            if found[hot] < _SHARE * total:
                continue
            clients = [
                Client(one["principal"], one["client_id"], one["software"], one["address"])
                for one in row["writers"]
            ]
            at = Seen()
            at.add(
                Packets(
                    seen.connection_of_client(clients[0]) if clients else "",
                    -1,
                    f"{name}-{hot}",
                    seen.first_ns,
                )
            )
            at.times, at.last_ns = found[hot], seen.last_ns
            readers = alone_behind(held, name, hot)
            cause = self.found(
                f"Partition {hot} of topic '{name}' has {grouped(found[hot])} of the"
                f" {plural(total, 'record', spec=',')} in {plural(len(found), 'partition')};"
                f" its reader and its leader do the work of all.{''.join(map(_falls_behind, readers))}",
                f"readers of topic '{name}'",
                parties_of(clients) | {Party("topic", name), *(Party("group", one.group) for one in readers)},
                at,
                Cost(records=found[hot]),
                "stats {files} --by partition",
                "offsets count all records ever written, not only the records of the capture",
            )
            yield cause._replace(severity=Severity.DELAYS) if readers else cause


def _falls_behind(one: Reading) -> str:
    client = client_text(Client(None, one.client_id, None, one.address))
    return (
        f" In group '{one.group}' {client} reads it, and {plural(one.undone, 'record', spec=',')} wait there."
        " The other members have nothing left to read: more members do not help."
    )


def _keys(row: Row, name: str) -> Iterator[tuple[str, str]]:
    """Yield the possible keys of a topic's positions, a later topic of the name first."""
    raw, cluster = _raw_id(row["topic_id"]), row.get("cluster", "")
    if raw is not None:
        yield cluster, later_topic(name, raw)
    yield cluster, name


def _raw_id(text: str | None) -> bytes | None:
    return None if text is None else urlsafe_b64decode(text + "==")
