"""Connections that the broker's end closed after the same silence each time."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.causes.evidence.evidence import Evidence
from kdissect.stats.client import Client
from kdissect.stats.times.silences import SILENT_NS, Place

_LEAST = 3
_LEAST_NS = 2 * SILENT_NS
_SPREAD = 0.1  # of the shortest silence: timers are checked from time to time


class IdleClose(NamedTuple):
    """A connection that ended so, in nanoseconds, and whose client came back."""

    connection: str
    client: Client
    time_ns: int
    silent_ns: int
    """From its last response to the close."""
    how: str


def idle_closes(seen: Evidence) -> dict[Place, list[IdleClose]]:
    """Return the connections of each broker with an idle timeout, in the order of time.

    New connections end so, too. No request on another connection of these clients was answered after a
    longer silence, and no connection was closed after one.
    """
    stopped = {one.connection for absence in seen.absences for one in absence.ended}
    found: dict[Place, list[IdleClose]] = {}
    served: dict[Place, int] = {}
    begun: dict[Place, list[int]] = {}
    for key, link in seen.gathering.links.items():
        place, client = (key.capture_set, key.broker), Client(None, key.client_id, None, key.host)
        for one in link.ended:
            is_back = any(start_ns > one.time_ns for start_ns, _ in link.starts)
            if one.silent_ns < _LEAST_NS or not is_back or one.connection in stopped:
                continue
            of = IdleClose(one.connection, client, one.time_ns, one.silent_ns, one.how)
            found.setdefault(place, []).append(of)
            begun.setdefault(place, []).extend(start for start, name in link.starts if name == one.connection)
        served_ns = seen.gathering.stalls.silences.served_after((key.capture_set, key.host, key.broker))
        served[place] = max(served.get(place, 0), served_ns)
    return {
        place: sorted(of, key=lambda one: one.time_ns)
        for place, of in found.items()
        if _is_timeout(of, served[place], begun[place])
    }


def _is_timeout(of: list[IdleClose], served_ns: int, begun: list[int]) -> bool:
    shortest_ns, longest_ns = min(one.silent_ns for one in of), max(one.silent_ns for one in of)
    is_same = longest_ns - shortest_ns <= _SPREAD * shortest_ns
    return (
        len(of) >= _LEAST
        and is_same
        and served_ns < shortest_ns
        and max(begun, default=0) > min(one.time_ns for one in of)
    )
