"""Brokers that sent nothing while requests waited that they answer at once: for how long, and who waited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.exchange_log import Wait
from kdissect.causes.evidence.silences import SILENT_NS, Place, Silence
from kdissect.session.problem import Reason
from kdissect.stats.client import Client

# Produce, Fetch (after its wait for records), ListOffsets, Metadata, OffsetCommit, OffsetFetch, Heartbeat,
# ApiVersions, ConsumerGroupHeartbeat, ShareGroupHeartbeat, StreamsGroupHeartbeat: no broker waits on purpose
# before it answers them. To make topics, to log in, to end transactions takes long by nature.
_PROMPT = frozenset({0, 1, 2, 3, 8, 9, 12, 18, 68, 76, 88})
# On one connection alone, a request that takes long looks the same: then more is asked for.
_ALONE_NS = 2 * SILENT_NS
_ALONE_MOST = 3
# Clients give up by themselves before that (request.timeout.ms, 30 s): a time that nobody else fills is a
# step of the clock.
_GIVEN_UP_NS = 40 * SILENT_NS
# replica.lag.time.max.ms: as long a leader waits for a follower that is gone.
_NOTICED_NS = 30 * SILENT_NS
AWAY = (Reason.REFUSED, Reason.NO_ANSWER, Reason.ADVERTISED_UNREACHED)
"""Why connections to a broker that is away fail."""
_EDGE = 10  # parts of a stall: who sends within all but the first and the last of them is awake


class Stall(NamedTuple):
    """A silence with open requests. `is_seen`: somebody else sent something meanwhile."""

    place: Place
    from_ns: int
    until_ns: int
    waits: tuple[Wait, ...]
    """All open requests, the earliest first."""
    heads: tuple[Wait, ...]
    """Those that waited behind no other request of their connection."""
    is_seen: bool

    @property
    def took_ns(self) -> int:
        """How long."""
        return self.until_ns - self.from_ns

    @property
    def clients(self) -> list[Client]:
        """Who waited."""
        return list(dict.fromkeys(one.client for one in self.waits))

    @property
    def is_alone(self) -> bool:
        """Whether requests of one connection alone waited."""
        return _is_one_connection(self.heads)

    @property
    def may_wait_for_replicas(self) -> bool:
        """Whether all are Produces that other brokers may have held up (acks=all)."""
        return all(one.needs_replicas for one in self.heads)


def stalls(seen: Evidence) -> dict[Place, list[Stall]]:
    """All stalls by broker; not those of brokers that waited for the replicas of one that stood still."""
    waits: dict[Place, list[Wait]] = {}
    throttled = {known.client for known in seen.facts("ThrottleFact.throttled")}
    for one in seen.gathering.log.waits:
        if one.client not in throttled:  # a broker reads nothing of theirs meanwhile (KIP-219)
            waits.setdefault(one.place, []).append(one)
    found = {}
    for place, of in waits.items():
        one_by_one = [
            stall
            for silence in seen.gathering.silences.of(place)
            if (stall := _stall(seen, place, silence, of)) is not None
        ]
        if sum(one.is_alone for one in one_by_one) > _ALONE_MOST:
            one_by_one = [one for one in one_by_one if not one.is_alone]
        if one_by_one:
            found[place] = one_by_one
    away = _away(seen)
    return {place: own for place, of in found.items() if (own := list(_own(place, of, found, away)))}


def _is_one_connection(waits: Sequence[Wait]) -> bool:
    return len({one.packets.connection for one in waits}) == 1


def _stall(seen: Evidence, place: Place, silence: Silence, waits: list[Wait]) -> Stall | None:
    silences = seen.gathering.silences
    is_open = [
        one
        for one in waits
        if min(one.until_ns, silence.until_ns) - max(one.since_ns, silence.from_ns) >= SILENT_NS
    ]
    heads, since = [], []
    for one in is_open:
        before_ns = silences.before(one.packets.connection, one.until_ns)
        if before_ns is not None and one.api_key in _PROMPT and one.until_ns >= silence.until_ns:
            heads.append(one)
            since.append(max(one.since_ns, before_ns))
    if not heads:
        return None
    from_ns, until_ns = max(silence.from_ns, min(since)), silence.until_ns
    if until_ns - from_ns < (_ALONE_NS if _is_one_connection(heads) else SILENT_NS):
        return None
    edge_ns = (until_ns - from_ns) // _EDGE
    within = from_ns + edge_ns, until_ns - edge_ns
    is_seen = silences.responds_within(place[0], *within) or any(
        within[0] <= one.packets.time_ns <= within[1] for one in is_open
    )
    if until_ns - from_ns > _GIVEN_UP_NS and not is_seen:
        return None
    is_open.sort(key=lambda one: one.packets.time_ns)
    return Stall(place, from_ns, until_ns, tuple(is_open), tuple(heads), is_seen)


def _away(seen: Evidence) -> list[tuple[Place, int]]:
    """When brokers were not there: they ended connections, or connections to them failed."""
    ended = [
        ((key.capture_set, key.broker), one.time_ns)
        for key, link in seen.gathering.links.items()
        for one in link.ended
    ]
    failed = [
        ((one.connection.capture_set, one.connection.broker_text), one.connection.start_ns)
        for one in seen.problems(*AWAY)
    ]
    return ended + failed


def _own(
    place: Place, stalls_of: list[Stall], found: dict[Place, list[Stall]], away: list[tuple[Place, int]]
) -> Iterator[Stall]:
    """Those of a broker that did not wait for replicas: of one that stood still, or was away."""
    others = [one for other, of in found.items() if other != place and other[0] == place[0] for one in of]
    for stall in stalls_of:
        is_bystander = stall.may_wait_for_replicas and (
            any(are_together(stall, other) and not other.may_wait_for_replicas for other in others)
            or any(
                other[0] == place[0]
                and other != place
                and stall.from_ns - _NOTICED_NS <= at_ns <= stall.until_ns
                for other, at_ns in away
            )
        )
        if not is_bystander:
            yield stall


def are_together(one: Stall, other: Stall) -> bool:
    """Whether two stalls are at one time, for the most part."""
    common_ns = min(one.until_ns, other.until_ns) - max(one.from_ns, other.from_ns)
    return common_ns >= max(one.took_ns, other.took_ns) // 2
