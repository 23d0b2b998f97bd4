"""Exchanges counted by any dimensions: numbers, times, bytes, errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kdissect.history.exchange_view import ExchangeView
from kdissect.model.frame import Frame
from kdissect.model.limits import in_force
from kdissect.schema.error_codes import error_name
from kdissect.session.exchange import Exchange, State
from kdissect.session.info import ConnectionInfo
from kdissect.sketches.distribution import Distribution, DistributionRow
from kdissect.stats.client import CLIENTS_KEPT, Client, client_named
from kdissect.stats.dimensions import Key
from kdissect.stats.racks import Racks
from kdissect.stats.times.response_time import ResponseTime, response_time
from kdissect.stats.times.series import Series
from kdissect.stats.watermarks import HighWatermarks, Watermarks

_WITHOUT_ANSWER = (State.UNANSWERED, State.INCOMPLETE)
PREFIX_BYTES = 4  # the size in front of a frame counts as part of it (docs/output.md)


TallyRow = tuple[
    tuple[int, int],
    list[int],
    tuple[int, int] | None,
    list[tuple[int, int]],
    list[DistributionRow | None],
]
"""The native engine's counts of some exchanges: complete, silent, failed, unclear and early empty
exchanges, request and response bytes, first and last time, error codes with their counts, and latency,
broker, throttle and wait.
"""


DISTRIBUTIONS = ("latency", "broker", "throttle", "wait")
"""Of times, in a tally."""


class Tally:
    """Counts of some exchanges. Times are nanoseconds. Merges. Picklable.

    `broker` leaves out `unclear` exchanges (`response_time`). `wait` counts Fetches that waited for all of
    their max wait, `empty_early` counts Fetches that were answered without records long before, `throttle`
    counts answers with a throttle time. `errors` counts exchanges by each code in them. `unsized` counts
    exchanges of a request log: their bytes are unknown, and not in `request_bytes` and `response_bytes`.
    """

    __slots__ = (
        "_begins_complete",
        "broker",
        "empty_early",
        "errors",
        "exchanges",
        "failed",
        "first_ns",
        "last_ns",
        "latency",
        "request_bytes",
        "response_bytes",
        "states",
        "throttle",
        "unclear",
        "unsized",
        "wait",
    )  # fmt: skip

    states: Counter[str]
    errors: Counter[str]
    latency: Distribution
    broker: Distribution
    throttle: Distribution
    wait: Distribution

    def __init__(self) -> None:
        self.exchanges = self.failed = self.unclear = self.empty_early = 0
        self.request_bytes = self.response_bytes = self.unsized = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self._begins_complete = False
        """Whether the first of `states` counts complete exchanges, which comes with the first count."""

    if not TYPE_CHECKING:  # else every misspelt attribute of a tally would pass the type check

        def __getattr__(self, name: str) -> Any:
            """Make a count at its first use: of 20,000 rows most have few counts."""
            made_of = _MADE_OF.get(name)
            if made_of is None:
                raise AttributeError(name)
            made = made_of()
            if name == "states" and self._begins_complete:
                made[str(State.COMPLETE)] = 0
            setattr(self, name, made)
            return made

    def meet_complete(self) -> None:
        """Note that a complete exchange is counted later. Its state comes after the states so far."""
        try:
            object.__getattribute__(self, "states")
        except AttributeError:  # missing yet, as in most rows to the end
            self._begins_complete = True
        else:
            self.states[str(State.COMPLETE)] += 0

    def add(self, exchange: Exchange, errors: Sequence[int], times: ResponseTime | None) -> None:
        """Count one exchange with the error codes of its response."""
        self.exchanges += 1
        self.states[str(exchange.state)] += 1
        self.request_bytes += bytes_of(exchange.request)
        self.response_bytes += bytes_of(exchange.response)
        self.unsized += exchange.connection.logged is not None
        self._seen(time_of(exchange))
        if errors or exchange.state in _WITHOUT_ANSWER:
            self.failed += 1
        for code in errors:
            self.errors[error_name(code)] += 1
        if times is not None:
            self._times(times)

    def add_counted(self, counted: TallyRow) -> None:
        """Add the native engine's counts."""
        (complete, silent), sums, times_ns, errors, times = counted
        self.exchanges += complete + silent
        for state, count in ((State.COMPLETE, complete), (State.NO_RESPONSE_EXPECTED, silent)):
            if count:
                self.states[str(state)] += count
        names = "failed", "unclear", "empty_early", "request_bytes", "response_bytes", "unsized"
        for name, count in zip(names, sums, strict=True):
            setattr(self, name, getattr(self, name) + count)
        for time_ns in times_ns or ():
            self._seen(time_ns)
        for code, count in errors:
            self.errors[error_name(code)] += count
        for name, values in zip(DISTRIBUTIONS, times, strict=True):
            if values is not None:
                getattr(self, name).add_bins(*values)

    def merge(self, other: Tally) -> None:
        """Count everything of another tally, which stays as it is."""
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for time_ns in (other.first_ns, other.last_ns):
            if time_ns is not None:
                self._seen(time_ns)
        self.states.update(other.states)
        self.errors.update(other.errors)
        for name in DISTRIBUTIONS:
            getattr(self, name).merge(getattr(other, name))

    @property
    def bytes(self) -> int | None:
        """Bytes of requests and responses; None if not all are known."""
        return None if self.unsized else self.request_bytes + self.response_bytes

    def _times(self, times: ResponseTime) -> None:
        self.latency.add(times.latency)
        if times.broker is None:
            self.unclear += 1
        else:
            self.broker.add(times.broker)
        self.empty_early += times.empty_early
        if times.throttle:
            self.throttle.add(times.throttle)
        if times.wait:
            self.wait.add(times.wait)

    def _seen(self, time_ns: int) -> None:
        self.first_ns = time_ns if self.first_ns is None else min(self.first_ns, time_ns)
        self.last_ns = time_ns if self.last_ns is None else max(self.last_ns, time_ns)


_NUMBERS = ("exchanges", "failed", "unclear", "empty_early", "request_bytes", "response_bytes", "unsized")
_MADE_OF = {"states": Counter, "errors": Counter} | dict.fromkeys(DISTRIBUTIONS, Distribution)


class Traffic:
    """Tallies by key, of all together, and over time.

    `keys_of` returns the keys of an exchange. `other` holds the exchanges after `Limits.statistic_rows` keys:
    a row takes 2 KB, and up to 20 KB if its times spread over many decades. `racks` knows the racks for the
    tokens in keys.
    """

    def __init__(self, keys_of: Callable[[ExchangeView], Sequence[Key]], racks: Racks | None = None) -> None:
        self._keys_of = keys_of
        self.racks = racks
        self.most = in_force().statistic_rows
        self.watermarks: HighWatermarks = Watermarks()
        self.rows: dict[Key, Tally] = {}
        self.other = Tally()
        self.total = Tally()
        self.series = Series()
        self.throttled: dict[Client, None] = {}
        """Clients with a throttle time in a response, at most `CLIENTS_KEPT`."""

    def add(self, view: ExchangeView, others: Iterable[Traffic] = ()) -> ResponseTime | None:
        """Count the next exchange, in the order in which the analyzer reports them. Return its times.

        `others` have the total and the series of this one (`share`): it counts in their rows too.
        """
        exchange = view.exchange
        errors = exchange.response_summary().errors
        times = response_time(view, self.watermarks)
        if times is not None and times.throttle:
            self.note_throttle(view.info, exchange.client_id)
        for traffic in (self, *others):
            for tally in traffic.tallies_of(view):
                tally.add(exchange, errors, times)
        self.total.add(exchange, errors, times)
        self.series.add(
            time_of(exchange), bytes_of(exchange.request), bytes_of(exchange.response), 1 if errors else 0
        )
        return times

    def note_throttle(self, info: ConnectionInfo, client_id: str | None) -> None:
        """Note who sent a request whose response has a throttle time."""
        if len(self.throttled) < CLIENTS_KEPT:
            self.throttled[client_named(info, client_id)] = None

    def share(self, other: Traffic) -> None:
        """Take the total and the series of another one, which counts the same exchanges."""
        self.total, self.series, self.throttled = other.total, other.series, other.throttled

    def tallies_of(self, view: ExchangeView) -> list[Tally]:
        """Return the tallies of an exchange's rows."""
        return [self._row(key) for key in self._keys_of(view)]

    def merge(self, other: Traffic) -> None:
        """Count everything that was counted elsewhere, by the same dimensions."""
        for key, tally in other.rows.items():
            self._row(key).merge(tally)
        self.other.merge(other.other)
        self.total.merge(other.total)
        self.series.merge(other.series)
        self.throttled |= other.throttled

    def by_parts(self, places: Sequence[int]) -> Traffic:
        """Return the same counts by some parts of the keys, which `places` number. Rows beyond the limit stay
        in `other`.
        """
        found = Traffic(self._keys_of)
        for key, tally in self.rows.items():
            found._row(tuple(key[place] for place in places)).merge(tally)
        found.other.merge(self.other)
        found.share(self)
        return found

    def add_tally(self, key: Key, tally: Tally) -> None:
        """Count what was counted elsewhere of one key."""
        self._row(key).merge(tally)
        self.total.merge(tally)

    def _row(self, key: Key) -> Tally:
        found = self.rows.get(key)
        if found is None:
            if len(self.rows) >= self.most:
                return self.other
            found = self.rows[key] = Tally()
        return found


def bytes_of(frame: Frame | None) -> int:
    """Return bytes of a frame on the wire, its size prefix included; 0 without a frame, and if they are
    unknown.
    """
    return 0 if frame is None or frame.is_logged else frame.size + PREFIX_BYTES


def time_of(exchange: Exchange) -> int:
    """Return the time of the request's first byte, or of the response's without a request."""
    frame = exchange.request or exchange.response
    return 0 if frame is None else frame.time_ns
