"""Deliveries of share groups as plain values: a row for each member and topic (docs/statistics.md)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kdissect.history.fact import GroupKey
from kdissect.model.packets.packet import NEVER_NS
from kdissect.stats.by_group.group_traffic import GroupTraffic
from kdissect.stats.by_group.positions import name_of
from kdissect.stats.client import client_named

Facts = dict[str, Any]
_ENDS = ("accepted", "released", "rejected", "gaps", "expired", "returned", "held", "unclear")
_NEVER = ("expired", "returned", "held")


def delivery_rows(traffic: GroupTraffic) -> dict[GroupKey, list[Facts]]:
    """Return the deliveries of each share group, by member and topic."""
    shares = traffic.shares
    if not len(shares.tallies):
        return {}
    beats = [member.last_heartbeat_ns for log in traffic.logs for member in log.members]
    unfinished = shares.unfinished(max(shares.last_ns, *beats, NEVER_NS))
    found: dict[GroupKey, list[Facts]] = {}
    for (scope, group, member_id, topic_id), tally in shares.tallies.items():
        ends = tally.ends + unfinished.get(tally, Counter())
        counts = sorted(tally.counts.items())
        found.setdefault((scope, group), []).append(
            {
                "member_id": member_id,
                **client_named(tally.info, tally.client_id).facts(),
                "topic": name_of(traffic.names, tally.info, topic_id),
                "acquired": sum(tally.counts.values()),
                "redelivered": sum(offsets for count, offsets in counts if count > 1),
                "delivery_counts": {str(count): offsets for count, offsets in counts},
                **{name: ends[name] for name in _ENDS},
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
