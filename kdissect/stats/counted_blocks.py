"""Traffic of blocks of exchanges: what fits is counted by the compiled part, the rest one by one.

Compiled only. What comes for the first time (a row, a state or an error in it) is met here in its order, so
that rows, and what is left out as `other`, are those of `Traffic.add`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from kdissect.decoders import quirks
from kdissect.decoders.body_schemas import body_message, known_body
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.history import api_keys as apis
from kdissect.history.connections.throttling import client_must_wait
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.native import native
from kdissect.schema.error_codes import error_name
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import ConnectionInfo
from kdissect.sketches.distribution import bin_multiplier
from kdissect.stats.series import MAX_POINTS, WIDTHS_NS, LatencySeries, Series
from kdissect.stats.traffic import Tally, Traffic
from kdissect.stats.watermarks import PARTITIONS_KEPT

# What dimensions are told from.
_OF_KIND = frozenset(("api", "api_version"))
_OF_CONNECTION = frozenset(
    (
        "software", "client", "connection", "broker", "principal", "process", "pid", "pod", "namespace",
        "container",
    )
)  # fmt: skip
_COUNTED = _OF_KIND | _OF_CONNECTION | {"client_id", "state", "error"}


class BlockCounter:
    """Counts blocks for a `Traffic`, which has everything after `catch_up`; so have `latencies`.

    `by` are the dimensions that the keys of the traffic are made of, and `day`.

    Only exchanges that `takes` takes count, which answers the same for those of one connection, API, version
    and client id. `close` every connection that is over.
    """

    def __init__(
        self,
        traffic: Traffic,
        by: Collection[str],
        takes: Callable[[Exchange], bool] | None = None,
        latencies: LatencySeries | None = None,
    ) -> None:
        self._latencies = latencies
        self._traffic = traffic
        self._tallies: list[Tally] = [traffic.total]
        self._numbers = {id(traffic.total): 0}
        traffic.watermarks = watermarks = native.Watermarks(PARTITIONS_KEPT)
        of_kind, of_connection = not _OF_KIND.isdisjoint(by), not _OF_CONNECTION.isdisjoint(by)
        of = of_kind, "client_id" in by, "state" in by, of_connection, "error" in by, "day" in by
        self._counter = native.TrafficCounter(
            of, _kind_of, _capture_set_of, self._tallies_of, self._meet, watermarks, bin_multiplier(),
            list(WIDTHS_NS), MAX_POINTS, latencies is not None, takes,
        )  # fmt: skip

    @staticmethod
    def counts(by: Collection[str]) -> bool:
        """Whether it can tell exchanges apart by these dimensions."""
        return _COUNTED.issuperset(by)

    def count(self, block: native.ExchangeBlock, start: int) -> int:
        """Count a block from `start` on; gives the first that needs a closer look, or how many there are."""
        return self._counter.count(block, start)

    def close(self, info: ConnectionInfo) -> None:
        """A connection is over."""
        self._counter.close(info)

    def catch_up(self) -> None:
        """Hand over what was counted since the last time."""
        tallies, width_ns, intervals, latencies = self._counter.take()
        for number, counted in tallies:
            self._tallies[number].add_counted(counted)
        series = Series(width_ns)
        for index, counts in intervals:
            series.count(index * width_ns, counts)
        self._traffic.series.merge(series)
        if self._latencies is not None:
            times = LatencySeries(width_ns)
            for index, times_counted in latencies:
                times.at(index * width_ns).add_bins(*times_counted)
            self._latencies.merge(times)

    def _tallies_of(self, exchange: Exchange) -> list[int]:
        numbers = [0]
        for tally in self._traffic.tallies_of(ExchangeView(exchange)):
            number = self._numbers.setdefault(id(tally), len(self._tallies))
            if number == len(self._tallies):
                self._tallies.append(tally)
            numbers.append(number)
        return numbers

    def _meet(self, number: int, is_answered: bool, errors: list[int]) -> None:
        tally = self._tallies[number]
        tally.states[str(State.COMPLETE if is_answered else State.NO_RESPONSE_EXPECTED)] += 0
        for code in errors:
            tally.errors[error_name(code)] += 0


def _kind_of(api_key: int, version: int) -> Any:
    """How responses, and of Fetch requests, are read; None for what Python reads."""
    other = api_key == apis.SHARE_FETCH or quirks.may_answer_in_other_version(api_key)
    if other or known_body(api_key, version, True) is None:
        return None
    asked = _layout(api_key, version, False) if api_key == apis.FETCH else None
    return client_must_wait(api_key, version), _layout(api_key, version, True), asked


def _layout(api_key: int, version: int, is_response: bool) -> native.Layout:
    return native_layout(body_message(api_key, version, is_response), version)[0]


def _capture_set_of(connection: ConnectionInfo) -> str | None:
    return connection.capture_set if connection.same_as is None else None
