"""Members that join their group again and again, and each time begin at the same offset."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from kdissect.causes.evidence.deleted_offsets import Committed
from kdissect.causes.evidence.gathering import Gathering
from kdissect.causes.evidence.same_starts import Starts
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.evidence.topic_readers import readers_of, topic_row
from kdissect.causes.ledger.symptom import Symptom, SymptomKind
from kdissect.engine.times import ns_of
from kdissect.history.api_keys import OFFSET_FETCH
from kdissect.session.identities import plain_name

Row = dict[str, Any]
_OFTEN = 2  # after the first one: a rebalance may follow another one before a member has worked
# Two intervals of commits: a member that is sent away earlier had no time to commit.
# org.apache.kafka.clients.consumer.ConsumerConfig#AUTO_COMMIT_INTERVAL_MS_CONFIG
_LASTS_NS = 10_000_000_000
_JOINS_NS = 60_000_000_000  # that a rebalance may take before the member asks for its offsets


def read_again(seen: Gathering, groups: Collection[Row], topics: Collection[Row]) -> Iterator[Symptom]:
    """Yield partitions that members of a group begin to read at one offset, if they received more records
    than there are.
    """
    by_group: dict[str, dict[Committed, Starts]] = {}
    for key, of in seen.starts.found.items():
        by_group.setdefault(key[1], {})[key] = of
    for row in groups:
        starts = by_group.get(row["group"], {})
        if all(of.again < _OFTEN for of in starts.values()):
            continue
        began = [ns_of(each["time"]) for each in row["rebalances"]]
        members = {(each["client_id"] or "", each["address"]) for each in row["members"]}
        more: dict[tuple[str, str, str], int] = {}
        for key, of in starts.items():
            client = of.start.client.client_id or "", of.start.client.address
            again = min(of.again, sum(of.first_ns - _JOINS_NS <= at <= of.last_ns for at in began))
            if of.last_ns - of.first_ns < _LASTS_NS or again < _OFTEN or client not in members:
                continue
            of_topic = key[:3]
            if of_topic not in more:
                more[of_topic] = _read_more(seen, topics, of_topic, starts)
            if more[of_topic] >= again:
                yield _symptom(seen, row, key, of, again)


def _symptom(seen: Gathering, row: Row, key: Committed, of: Starts, again: int) -> Symptom:
    scope, group, topic, partition = key
    offset, at = of.start.offset, Seen()
    for packets in of.packets:
        at.add(packets)
    at.times, at.last_ns = again, of.last_ns
    at.time_ns = at.span_ns
    is_committed = offset >= 0
    return Symptom(
        SymptomKind.REFETCHED, scope, of.start.client, row["coordinator"] or "", at, OFFSET_FETCH,
        detail=f"partition {partition}" + (f" from offset {offset:,}" if is_committed else ""),
        message="whose committed offset was the same" if is_committed else "which had committed no offset",
        topic=plain_name(topic), group=group,
        goes_on=seen.rewinds.committed.peek(key) not in (None, offset),
    )  # fmt: skip


def _read_more(
    seen: Gathering, topics: Collection[Row], of_topic: tuple[str, str, str], starts: dict[Committed, Starts]
) -> int:
    """Return how many records more a group received of a topic than lie between where its members began and
    where they are.
    """
    scope, group, topic = of_topic
    row = topic_row(topics, plain_name(topic))
    if row is None:
        return 0
    readers = readers_of(row, group)
    if any(reader["groups"] != [group] or reader["records"] is None for reader in readers):
        return 0
    clients = {(reader["address"], reader["client_id"] or "") for reader in readers}
    ends: dict[int, int] = {}
    for ((of_scope, host, client_id), (name, number)), position in seen.groups.positions.all():
        if (of_scope, name) == (scope, topic) and (host, client_id or "") in clients:
            ends[number] = max(ends.get(number, 0), position.fetch_offset or 0)
    there = 0
    for number, end in ends.items():
        place = scope, group, topic, number
        began = starts.get(place)
        lowest = 0 if began is None else max(began.lowest, 0)
        there += max(max(end, seen.rewinds.committed.peek(place) or 0) - lowest, 0)
    received: int = sum(reader["records"] for reader in readers)
    return received - there
