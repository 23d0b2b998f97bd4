"""Traffic in blocks of exchanges: the native engine counts most of them, Python counts the other ones one by
one.

Native builds only. A new key (a row, a state or an error in it) appears here in its order, so that rows, and
the rows that become `other`, are equal to those from `Traffic.add`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import Any

from kdissect.decoders import quirks
from kdissect.decoders.bodies import request_summarizer, response_summarizer
from kdissect.decoders.body_schemas import body_message, known_body
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.history.connections.throttling import client_must_wait
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import tells_names
from kdissect.model.native import native
from kdissect.schema.error_codes import error_name
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import ConnectionInfo, KnownIdentities
from kdissect.sketches.distribution import bin_multiplier
from kdissect.stats.by_group.group_links import GroupLinks, names_groups
from kdissect.stats.dimensions import OF_CONNECTION, Context
from kdissect.stats.racks import CLIENT_RACK, RACKS, Racks
from kdissect.stats.times.series import MAX_POINTS, WIDTHS_NS, LatencySeries, Series
from kdissect.stats.times.waited import FETCHES
from kdissect.stats.traffic import Tally, Traffic
from kdissect.stats.watermarks import PARTITIONS_KEPT

_OF_KIND = frozenset(("api", "api_version"))
_COUNTED = _OF_KIND | OF_CONNECTION.keys() | {"client_id", "state", "error", "topic", "group", CLIENT_RACK}
# Connections whose numbers are stored.
_PLACES_KEPT = 10_000


class BlockCounter:
    """Counter of blocks for a `Traffic`, which has all counts after `catch_up`. `latencies` has them then,
    too.

    `by` are the dimensions in the keys of the traffic, and `day`. `context` has the facts for them. It learns
    from exchanges that are counted here. The caller lets it learn from exchanges that are left to Python.
    `others` are traffics that count the same exchanges by other dimensions, and share the total and the
    series of the first.

    Only exchanges that `takes` takes count. It has one answer for exchanges of one connection, API, version
    and client id. `close` every connection that is over.
    """

    def __init__(
        self,
        traffic: Traffic,
        by: Collection[str],
        context: Context | None = None,
        takes: Callable[[Exchange], bool] | None = None,
        latencies: LatencySeries | None = None,
        others: Sequence[tuple[Traffic, Collection[str]]] = (),
    ) -> None:
        self._by = frozenset(by).union(*(names for _, names in others))
        self._context = context
        self._takes_all = takes is None
        self._ways = [_Way(traffic, by), *(_Way(*other) for other in others)]
        self._latencies = latencies
        self._traffic = traffic
        self._identities: KnownIdentities | None = None
        self._tallies: list[Tally] = [traffic.total]
        self._numbers = {id(traffic.total): 0}
        watermarks = native.Watermarks(PARTITIONS_KEPT)
        for way in self._ways:
            way.traffic.watermarks = watermarks
        self._counter = native.TrafficCounter(
            [way.tells_apart for way in self._ways], self._kind_of, self._place_of, self._tallies_of,
            self._changes, self._meet, watermarks, bin_multiplier(), False, WIDTHS_NS, MAX_POINTS,
            latencies is not None, takes, traffic.note_throttle,
        )  # fmt: skip

    @staticmethod
    def counts(by: Collection[str]) -> bool:
        """Return whether it can distinguish exchanges by these dimensions."""
        return _COUNTED.issuperset(by)

    def count(self, block: native.ExchangeBlock, start: int) -> int:
        """Count a block from `start` on. Return the first exchange that Python must read, or the block's
        length.
        """
        return self._counter.count(block, start)

    def close(self, info: ConnectionInfo) -> None:
        """End a connection."""
        self._counter.close(info)

    def catch_up(self) -> None:
        """Hand over what was counted since the last time."""
        for number, tally in enumerate(self._tallies):
            counted, _ = self._counter.take_tally(number)
            if counted is not None:
                tally.add_counted(counted)
        width_ns, intervals, latencies = self._counter.take_series()
        series = Series(width_ns)
        for index, counts in intervals:
            series.count(index * width_ns, counts)
        self._traffic.series.merge(series)
        if self._latencies is not None:
            times = LatencySeries(width_ns)
            for index, times_counted in latencies:
                times.at(index * width_ns).add_bins(*times_counted)
            self._latencies.merge(times)

    def _tallies_of(self, exchange: Exchange, way: int) -> tuple[list[int], list[tuple[bool, bytes]]]:
        numbers = [] if way else [0]
        view = ExchangeView(exchange)
        if self._context is not None and "group" in self._by:
            self._context.groups.learn(view)  # what it says again, it says in a group that is known
        for tally in self._ways[way].traffic.tallies_of(view):
            number = self._numbers.setdefault(id(tally), len(self._tallies))
            if number == len(self._tallies):
                self._tallies.append(tally)
            numbers.append(number)
        return numbers, []

    def _kind_of(self, api_key: int, version: int) -> Any:
        """Return how exchanges are read, or None if Python reads them."""
        if self._is_learned_from(api_key):
            return None
        reads_groups = "group" in self._by and names_groups(api_key)
        reads_topics = "topic" in self._by or reads_groups
        row = kind_row(api_key, version, reads_topics=reads_topics, reads_groups=reads_groups)
        return None if row is None else (*row, None, reads_groups)

    def _is_learned_from(self, api_key: int) -> bool:
        """Return whether racks, names of topics, or groups of uncounted exchanges are learned from an API's
        exchanges, which Python then reads.
        """
        if not RACKS.isdisjoint(self._by) and api_key in Racks.api_keys:
            return True
        if "topic" in self._by and tells_names(api_key):
            return True
        return "group" in self._by and not self._takes_all and api_key in GroupLinks.api_keys

    def _place_of(self, info: ConnectionInfo) -> tuple[str, list[int]] | None:
        """Return the scope, and a number for the facts that each way needs.

        None if it does not count.
        """
        if info.same_as is not None:
            return None
        self._identities = info.identities
        return info.scope, [way.place_of(info) for way in self._ways]

    def _changes(self) -> int:
        """Return the number of changes in the facts that distinguish groups of exchanges, besides
        themselves.
        """
        changes = 0 if self._identities is None else self._identities.changes
        if self._context is not None:
            changes += self._context.topics.changes + self._context.groups.changes
        return changes

    def _meet(self, number: int, is_answered: bool, _is_timed: bool, errors: list[int]) -> None:
        tally = self._tallies[number]
        if is_answered:
            tally.meet_complete()
        else:
            tally.states[str(State.NO_RESPONSE_EXPECTED)] += 0
        for code in errors:
            tally.errors[error_name(code)] += 0


class _Way:
    """Keys by which a traffic distinguishes exchanges."""

    def __init__(self, traffic: Traffic, by: Collection[str]) -> None:
        self.traffic = traffic
        of_kind = not _OF_KIND.isdisjoint(by)
        # A client that names no group acts for its known group.
        of_client = not {"client_id", "group", CLIENT_RACK}.isdisjoint(by)
        self.tells_apart = (
            of_kind, of_client, "state" in by, "error" in by, "day" in by, "topic" in by, "group" in by,
        )  # fmt: skip
        self._places: dict[tuple[object, ...], int] = {}
        self._numbers = count()
        self._parts = [OF_CONNECTION[name] for name in by if name in OF_CONNECTION]
        if "group" in by or CLIENT_RACK in by:
            self._parts.append(lambda info: (info.scope, info.client.host))  # of `client_key_of`
        if "topic" in by:
            self._parts.append(lambda info: (info.scope, info.broker_address))  # `topic_names` asks

    def place_of(self, info: ConnectionInfo) -> int:
        """Return a number for the facts of a connection that distinguish exchanges."""
        if len(self._places) >= _PLACES_KEPT:
            self._places.clear()
        place = tuple(tuple(part_of(info)) for part_of in self._parts)
        number = self._places.get(place)
        if number is None:
            number = self._places[place] = next(self._numbers)
        return number


def kind_row(
    api_key: int, version: int, *, reads_topics: bool, reads_groups: bool = False
) -> tuple[Any, ...] | None:
    """Return how responses, and requests of `FETCHES`, are read for the times, topics, or topics and groups
    in them, or None if Python reads them.
    """
    if known_body(api_key, version, True) is None:
        return None
    asked = _layout(api_key, version, False) if api_key in FETCHES else None
    topics = None
    if reads_topics:
        topics = request_summarizer(api_key, version, reads_groups), response_summarizer(api_key, version)
    answered, foreign = _layout(api_key, version, True), quirks.foreign_start(api_key, is_response=True)
    return client_must_wait(api_key, version), answered, asked, topics, foreign


def _layout(api_key: int, version: int, is_response: bool) -> native.Layout:
    return native_layout(body_message(api_key, version, is_response), version)[0]
