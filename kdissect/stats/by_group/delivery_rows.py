"""Deliveries of share groups as plain values: a row for each member and topic (docs/statistics.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from kdissect.history.exchange_view import losses_of
from kdissect.history.fact import GroupKey
from kdissect.history.sessions.share_deliveries import TallyKey
from kdissect.history.sessions.share_locks import Tally
from kdissect.model.packets.packet import NEVER_NS
from kdissect.stats.by_group.group_traffic import GroupTraffic
from kdissect.stats.by_group.positions import name_of
from kdissect.stats.client import client_named
from kdissect.stats.transfers import topic_key

Facts = dict[str, Any]
_NAMES = ("accepted", "released", "rejected", "gaps", "expired", "returned", "held", "unclear")
_NEVER = ("expired", "returned", "held")
_INFERRED = (*_NEVER, "given_up", "late")


def delivery_ends(traffic: GroupTraffic, key: GroupKey, topic: str) -> Counter[str]:
    """Return how deliveries to a share group ended, by name, of a topic as `topic_key` has it."""
    found: Counter[str] = Counter()
    for (scope, group, _, topic_id), tally, ends in _ends(traffic):
        if (scope, group) == key and topic_key(traffic.names, tally.info, topic_id) == topic:
            found += ends
    return found


def _ends(traffic: GroupTraffic) -> Iterator[tuple[TallyKey, Tally, Counter[str]]]:
    shares = traffic.shares
    if not len(shares.tallies):
        return
    beats = [member.last_heartbeat_ns for log in traffic.logs for member in log.members]
    unfinished = shares.unfinished(max(shares.last_ns, *beats, NEVER_NS))
    lossy = {key[:2] for key, tally in shares.tallies.items() if losses_of(tally.info)}
    for key, tally in shares.tallies.items():
        ends = tally.ends + unfinished.get(tally, Counter())
        yield key, tally, _unclear(ends) if key[:2] in lossy else ends


def _unclear(ends: Counter[str]) -> Counter[str]:
    """Return ends of deliveries without those that a lost request or response would explain."""
    found = Counter({name: count for name, count in ends.items() if name not in _INFERRED})
    found["unclear"] += sum(ends[name] for name in _NEVER)
    return found


def delivery_rows(traffic: GroupTraffic) -> dict[GroupKey, list[Facts]]:
    """Return the deliveries of each share group, by member and topic."""
    found: dict[GroupKey, list[Facts]] = {}
    for (scope, group, member_id, topic_id), tally, ends in _ends(traffic):
        counts = sorted(tally.counts.items())
        found.setdefault((scope, group), []).append(
            {
                "member_id": member_id,
                **client_named(tally.info, tally.client_id).facts(),
                "topic": name_of(traffic.names, tally.info, topic_id),
                "acquired": sum(tally.counts.values()),
                "redelivered": sum(offsets for count, offsets in counts if count > 1),
                "delivery_counts": {str(count): offsets for count, offsets in counts},
                **{name: ends[name] for name in _NAMES},
                "never_acknowledged": sum(ends[name] for name in _NEVER),
                "given_up": ends["given_up"],
                "renewed": ends["renewed"],
                "late": ends["late"],
                "refused": ends["refused"],
            }
        )
    for rows in found.values():
        rows.sort(key=lambda row: (row["member_id"], row["topic"]))
    return found
