"""The one-way delays to the broker and to the client, for connections that two capture sets have.

- An exchange in both sets is recognized by connection, correlation id and sizes. Its request passed the
  capture near the client first, its response the other capture: the sum of both ways is free of clocks, and
  shows which capture is which.
- One way alone includes the difference of both clocks. No packet arrives before it was sent: so the shortest
  ways bound that difference, for all connections of two sets together. The user who made both captures may
  know a closer bound (`clocks_within_ns`, 0: one clock made both).
- If that leaves a large part of the ways open, one way alone is not reported. Else it is the middle of the
  possible range, with its error.
- A frame has passed when its last byte has.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kdissect.model.limits import in_force
from kdissect.session.exchange import Exchange
from kdissect.stats.dimensions import Key

Facts = dict[str, Any]

# Exchanges that may still come in another set, some 600 bytes each.
MAX_ONE_SIDED = 100_000
# One way alone is reported if the clocks leave at most this part of both ways open.
_TELLING = 10
_RESOLUTION_NS = 2_000  # of pcap, at both ends

Sets = tuple[str, str]


class _Sight(NamedTuple):
    """An exchange as one capture set has it."""

    capture_set: str
    sizes: tuple[int, int]
    request_ns: int
    response_ns: int
    keys: Sequence[Key]


class _Ways:
    """Exchanges that passed two captures: their number, sums and shortest ways, by their clocks."""

    __slots__ = ("both_ns", "exchanges", "least_ns", "least_to_broker", "least_to_client", "to_broker_ns")

    def __init__(self) -> None:
        self.exchanges = self.both_ns = self.to_broker_ns = 0
        self.least_ns = self.least_to_broker = self.least_to_client = 1 << 63

    def add(self, to_broker_ns: int, to_client_ns: int) -> None:
        """Count an exchange."""
        both_ns = to_broker_ns + to_client_ns
        self.exchanges += 1
        self.both_ns += both_ns
        self.to_broker_ns += to_broker_ns
        self.least_ns = min(self.least_ns, both_ns)
        self.least_to_broker = min(self.least_to_broker, to_broker_ns)
        self.least_to_client = min(self.least_to_client, to_client_ns)

    def merge(self, other: _Ways) -> None:
        """Count everything of another one."""
        self.exchanges += other.exchanges
        self.both_ns += other.both_ns
        self.to_broker_ns += other.to_broker_ns
        self.least_ns = min(self.least_ns, other.least_ns)
        self.least_to_broker = min(self.least_to_broker, other.least_to_broker)
        self.least_to_client = min(self.least_to_client, other.least_to_client)


class Clocks(NamedTuple):
    """The range of the lead of the broker-side clock over the client-side clock, in nanoseconds.

    `is_contradicted`: the clocks differ by more than the user's bound.
    """

    least_ns: int
    most_ns: int
    is_contradicted: bool

    @property
    def has_drift(self) -> bool:
        """Whether no one difference fits all packets."""
        return self.least_ns > self.most_ns

    @property
    def ahead_ns(self) -> int:
        """The middle of what is possible."""
        return (self.least_ns + self.most_ns) // 2

    @property
    def error_ns(self) -> int:
        """How far the true difference may be from that."""
        return (self.most_ns - self.least_ns + 1) // 2

    @property
    def turned(self) -> Clocks:
        """With the two clocks exchanged."""
        return Clocks(-self.most_ns, -self.least_ns, self.is_contradicted)


class OneWay:
    """Collector of complete exchanges from all capture sets, in any order. Rows are by their keys."""

    def __init__(self, capture_sets: int, clocks_within_ns: int | None = None) -> None:
        self._sets = capture_sets
        self._within_ns = clocks_within_ns
        self._most = in_force().statistic_rows
        self._waiting: OrderedDict[tuple[str, int], list[_Sight]] = OrderedDict()
        self._rows: dict[Key, dict[Sets, _Ways]] = {}
        self._all: dict[Sets, _Ways] = {}

    def add(self, exchange: Exchange, keys: Sequence[Key] = ()) -> None:
        """Take an exchange. `keys` are the rows in which it counts, from the connection that counts."""
        request, response, info = exchange.request, exchange.response, exchange.connection
        if request is None or response is None or exchange.correlation_id is None:
            return
        key = info.same_as or info.id, exchange.correlation_id
        sizes = request.size, response.size
        sight = _Sight(info.capture_set, sizes, request.end_time_ns, response.end_time_ns, keys)
        seen = self._waiting.setdefault(key, [])
        if any(one.capture_set == sight.capture_set for one in seen):
            seen[:] = [sight] * 2  # an id that came again: the other set's exchange cannot be assigned
        elif len(seen) < 2 or seen[0] is not seen[1]:
            for one in seen:
                if one.sizes == sizes:
                    self._pair(one, sight)
            seen.append(sight)
            if len(seen) == self._sets:
                del self._waiting[key]
        if len(self._waiting) > MAX_ONE_SIDED:
            self._waiting.popitem(last=False)

    def _pair(self, one: _Sight, other: _Sight) -> None:
        to_broker_ns = other.request_ns - one.request_ns
        to_client_ns = one.response_ns - other.response_ns
        if to_broker_ns + to_client_ns < 0:
            one, other = other, one
            to_broker_ns, to_client_ns = -to_broker_ns, -to_client_ns
        sets = one.capture_set, other.capture_set
        for held in (self._all, *map(self._row, one.keys or other.keys)):
            ways = held.get(sets)
            if ways is None:
                ways = held[sets] = _Ways()
            ways.add(to_broker_ns, to_client_ns)

    def _row(self, key: Key) -> dict[Sets, _Ways]:
        """Return the row of a key, or an unstored one past the limit of statistics."""
        found = self._rows.get(key)
        if found is None:
            found = {}
            if len(self._rows) < self._most:
                self._rows[key] = found
        return found

    def clocks(self) -> dict[Sets, Clocks]:
        """Return the bounds of the clocks, by the sets near the client and near the broker."""
        bounds: dict[Sets, tuple[int, int]] = {}
        for (near, far), ways in self._all.items():
            least, most = -ways.least_to_client, ways.least_to_broker
            sets = (near, far) if near <= far else (far, near)
            if sets != (near, far):
                least, most = -most, -least
            known = bounds.get(sets, (least, most))
            bounds[sets] = max(known[0], least), min(known[1], most)
        found: dict[Sets, Clocks] = {}
        for sets, (least, most) in bounds.items():
            clocks = self._clocks(least, most)
            found[sets], found[sets[::-1]] = clocks, clocks.turned
        return {sets: found[sets] for sets in self._all}

    def _clocks(self, least_ns: int, most_ns: int) -> Clocks:
        if most_ns < least_ns <= most_ns + _RESOLUTION_NS:
            least_ns = most_ns = (least_ns + most_ns) // 2
        within_ns = self._within_ns
        if within_ns is None:
            return Clocks(least_ns, most_ns, False)
        least, most = max(least_ns, -within_ns), min(most_ns, within_ns)
        if most < least <= most + _RESOLUTION_NS:
            least = most = (least + most) // 2
        return Clocks(least_ns, most_ns, True) if most < least else Clocks(least, most, False)

    def facts(
        self, keys: Iterable[Key], by: Sequence[str], named: Callable[[Key], Key] | None = None
    ) -> Facts | None:
        """Return plain values: rows of some keys that passed two captures, or None if no exchange did.

        `named` returns a key as rows have it. Rows of one key are merged.
        """
        if not self._all:
            return None
        clocks, held = self.clocks(), self._rows
        if named is not None:
            held = {}
            for key, by_sets in self._rows.items():
                into = held.setdefault(named(key), {})
                for sets, ways in by_sets.items():
                    into.setdefault(sets, _Ways()).merge(ways)
        return {
            "rows": [
                dict(zip(by, key, strict=True)) | _facts(held[key], clocks) for key in keys if key in held
            ],
            "total": _facts(self._all, clocks),
            "clocks": self.clock_facts(clocks),
        }

    def of_each(self) -> Iterator[tuple[Key, Sets, Facts]]:
        """Yield the facts for each key and two sets about exchanges that passed both."""
        clocks = self.clocks()
        for key, held in self._rows.items():
            for sets, ways in held.items():
                yield key, sets, _facts({sets: ways}, clocks)

    def clock_facts(self, clocks: dict[Sets, Clocks] | None = None) -> list[Facts]:
        """Return the bounds of the clocks, as plain values. `told`: enough for one way alone."""
        return [
            {
                "near_client": near,
                "near_broker": far,
                "ahead_least_ns": None if one.has_drift else one.least_ns,
                "ahead_most_ns": None if one.has_drift else one.most_ns,
                "drift": one.has_drift,
                "contradicted": one.is_contradicted,
                "told": _is_told([(self._all[near, far], one)]),
            }
            for (near, far), one in sorted((self.clocks() if clocks is None else clocks).items())
        ]


_Known = list[tuple[_Ways, Clocks]]


def _is_told(known: _Known) -> bool:
    """Return whether the clocks are known well enough for one way alone."""
    if any(one.has_drift for _, one in known):
        return False
    mean_ns = sum(ways.both_ns for ways, _ in known) // sum(ways.exchanges for ways, _ in known)
    return 2 * max(one.error_ns for _, one in known) * _TELLING <= mean_ns


def _facts(held: dict[Sets, _Ways], clocks: dict[Sets, Clocks]) -> Facts:
    exchanges = sum(ways.exchanges for ways in held.values())
    both_ns = sum(ways.both_ns for ways in held.values())
    found: Facts = {
        "exchanges": exchanges,
        "both_ways_ns": both_ns // exchanges,
        "to_broker_ns": None,
        "to_client_ns": None,
        "shortest_ns": min(ways.least_ns for ways in held.values()),
        "shortest_to_broker_ns": None,
        "shortest_to_client_ns": None,
        "error_ns": None,
    }
    known = [(ways, clocks[sets]) for sets, ways in held.items()]
    if not _is_told(known):
        return found
    to_broker_ns = sum(ways.to_broker_ns - ways.exchanges * one.ahead_ns for ways, one in known) // exchanges
    return found | {
        "to_broker_ns": to_broker_ns,
        "to_client_ns": both_ns // exchanges - to_broker_ns,
        "shortest_to_broker_ns": min(ways.least_to_broker - one.ahead_ns for ways, one in known),
        "shortest_to_client_ns": min(ways.least_to_client + one.ahead_ns for ways, one in known),
        "error_ns": max(one.error_ns for _, one in known),
    }
