"""Times when listeners were away: they ended their connections, and refused new ones until they came back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import merge
from typing import NamedTuple

from kdissect.causes.evidence.links import Ended, Link, LinkKey
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.stats.times.silences import Place

_SECOND_NS = 1_000_000_000
TOGETHER_NS = 8 * _SECOND_NS
"""A broker that shuts down ends its connections within seconds."""
_LEAST = 2  # connections
# A listener closes before the connections that it accepted: clients that come back at once are refused.
_FIRST_NS = _SECOND_NS
# For a broker without a failed attempt: connections, how far apart they end, and how long no client came
# back.
_LEAST_UNSEEN = 3
_MOMENT_NS = _SECOND_NS // 10
_AWAY_NS = 3 * _SECOND_NS


class Absence(NamedTuple):
    """A broker went. `ended` are its connections and `refused` the attempts, in the order of time.

    `back_ns` is the time of the first connection that it accepted later; 0: none in the capture.
    """

    place: Place
    ended: tuple[Ended, ...]
    refused: tuple[ConnectionProblem, ...]
    back_ns: int
    links: tuple[tuple[LinkKey, Link], ...]
    """All connections to the broker."""

    @property
    def is_certain(self) -> bool:
        """Whether it shows by itself. One connection may end for a reason of its own."""
        return len(self.ended) >= _LEAST

    @property
    def from_ns(self) -> int:
        """When the broker ended the first connection."""
        return self.ended[0].time_ns

    @property
    def until_ns(self) -> int:
        """When it came back, or else the last time that a client found it away."""
        last_refused_ns = max((one.connection.start_ns for one in self.refused), default=0)
        return self.back_ns or max(self.ended[-1].time_ns, last_refused_ns)


def absences_of(
    place: Place, links: Sequence[tuple[LinkKey, Link]], refused: Iterable[ConnectionProblem]
) -> list[Absence]:
    """Return all absences of a broker, in the order of time, also ones that are not certain.

    A broker that accepts a connection is there: between two accepted connections lies one absence at most.
    """
    ended = sorted(one for _, link in links for one in link.ended)
    attempts = sorted(refused, key=lambda one: one.connection.start_ns)
    found = []
    accepted = sorted(start for _, link in links for start in link.starts)
    for back_ns, ends, tries in _between(accepted, ended, attempts):
        went = _together(ends)
        if not went:
            continue
        away = tuple(one for one in tries if one.connection.start_ns >= went[0].time_ns - _FIRST_NS)
        if away or _all_at_once(links, went, back_ns):
            found.append(Absence(place, tuple(went), away, back_ns, tuple(links)))
    return found


def _between(
    accepted: Iterable[tuple[int, str]], ended: Sequence[Ended], refused: Iterable[ConnectionProblem]
) -> Iterable[tuple[int, list[Ended], list[ConnectionProblem]]]:
    """Yield the connections that a broker ended and refused between two accepted connections, with the time
    of the second.

    A client that comes back while a broker stops is accepted, and its connection ends together with other
    ones.
    """
    over_ns = {one.connection: one.time_ns for one in ended}
    parts: tuple[Iterable[tuple[int, int, str | Ended | ConnectionProblem]], ...] = (
        ((time_ns, 0, name) for time_ns, name in accepted),
        ((one.time_ns, 1, one) for one in ended),
        ((one.connection.start_ns, 2, one) for one in refused),
    )
    ends: list[Ended] = []
    tries: list[ConnectionProblem] = []
    for time_ns, _, one in merge(*parts, key=lambda event: event[:2]):
        if isinstance(one, Ended):
            ends.append(one)
        elif isinstance(one, ConnectionProblem):
            tries.append(one)
        elif not (ends and _is_within_moment(ends[0], over_ns.get(one))):
            yield time_ns, ends, tries
            ends, tries = [], []
    yield 0, ends, tries


def _is_within_moment(first: Ended, over_ns: int | None) -> bool:
    return over_ns is not None and 0 <= over_ns - first.time_ns <= _MOMENT_NS


def _together(ended: list[Ended]) -> list[Ended]:
    """Return the largest number of connections that the broker ended within a moment."""
    first = best_first = best_last = 0
    for last, one in enumerate(ended, start=1):
        while one.time_ns - ended[first].time_ns > TOGETHER_NS:
            first += 1
        if last - first > best_last - best_first:
            best_first, best_last = first, last
    return ended[best_first:best_last]


def _all_at_once(links: Iterable[tuple[LinkKey, Link]], went: list[Ended], back_ns: int) -> bool:
    """Return whether a broker without a failed attempt ended all its connections at one moment, for a while.

    Connections that are idle, or whose session is over, end one by one, and clients come back at once.
    """
    first_ns, last_ns = went[0].time_ns, went[-1].time_ns
    return (
        len(went) >= _LEAST_UNSEEN
        and last_ns - first_ns <= _MOMENT_NS
        and back_ns - last_ns >= _AWAY_NS
        and not any(link.open_at(last_ns) for _, link in links)
    )
