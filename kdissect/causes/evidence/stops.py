"""Brokers that stopped: all listeners of one host that went away together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from kdissect.causes.evidence.absences import TOGETHER_NS, Absence
from kdissect.causes.evidence.links import Ended, Link, LinkKey
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.stats.times.silences import Place

Nodes = Collection[tuple[str, int]]
"""Scopes and ids of the nodes that brokers name at an address."""


class Stop(NamedTuple):
    """A broker stopped. `listeners` are the absences of its listeners, in the order of time."""

    listeners: tuple[Absence, ...]

    @property
    def ended(self) -> list[tuple[Ended, str]]:
        """The connections that it ended, each with its listener, in the order of time."""
        return sorted((one, absence.place[1]) for absence in self.listeners for one in absence.ended)

    @property
    def refused(self) -> list[ConnectionProblem]:
        """The attempts that it refused."""
        return [one for absence in self.listeners for one in absence.refused]

    @property
    def links(self) -> list[tuple[LinkKey, Link]]:
        """All connections to it."""
        return [one for absence in self.listeners for one in absence.links]

    @property
    def from_ns(self) -> int:
        """When it ended the first connection."""
        return min(one.from_ns for one in self.listeners)

    @property
    def until_ns(self) -> int:
        """The last time that a client found a listener away, or the return of the last listener."""
        return max(one.until_ns for one in self.listeners)

    @property
    def back_ns(self) -> int:
        """When a listener accepted the first connection later; 0: none in the capture."""
        return min((one.back_ns for one in self.listeners if one.back_ns), default=0)


def stops_of(absences: Iterable[Absence], nodes_at: Callable[[Place], Nodes]) -> list[Stop]:
    """Return the absences, those together that belong to one broker.

    Listeners belong together if they have one host, the first ends of their connections are seconds apart,
    and brokers do not name them as listeners of different nodes. An absence that is not certain needs
    another listener that stopped then.
    """
    found: list[list[Absence]] = []
    for absence in sorted(absences, key=lambda one: (not one.is_certain, one.from_ns)):
        fitting = [
            (abs(of[0].from_ns - absence.from_ns), number)
            for number, of in enumerate(found)
            if all(_belong_together(one, absence, nodes_at) for one in of)
        ]
        if fitting:
            found[min(fitting)[1]].append(absence)
        elif absence.is_certain:
            found.append([absence])
    return [Stop(tuple(sorted(of, key=lambda one: one.from_ns))) for of in found]


def _belong_together(one: Absence, other: Absence, nodes_at: Callable[[Place], Nodes]) -> bool:
    if one.place == other.place or _host(one.place) != _host(other.place):
        return False
    if abs(one.from_ns - other.from_ns) > TOGETHER_NS:
        return False
    earlier, later = sorted((one, other), key=lambda absence: absence.from_ns)
    if earlier.back_ns and earlier.back_ns < later.from_ns:
        return False
    nodes, others = set(nodes_at(one.place)), set(nodes_at(other.place))
    return not nodes or not others or bool(nodes & others)


def _host(place: Place) -> tuple[str, str]:
    capture_set, broker = place
    return capture_set, broker.rpartition(":")[0]
