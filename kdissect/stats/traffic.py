"""Exchanges counted by whatever they are told apart by: numbers, times, bytes, errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from kdissect.history.turn import Turn
from kdissect.model.frame import Frame
from kdissect.model.limits import in_force
from kdissect.schema.error_codes import error_name
from kdissect.session.exchange import Exchange, State
from kdissect.sketches.distribution import Distribution
from kdissect.stats.dimensions import Key
from kdissect.stats.response_time import ResponseTime, response_time
from kdissect.stats.series import Series
from kdissect.stats.watermarks import Watermarks

PREFIX_BYTES = 4  # the size in front of a frame counts as part of it (docs/output.md)


class Tally:
    """What is counted of some exchanges. Times are nanoseconds. Merges; picklable.

    `broker` leaves out what is `unclear` (`response_time`). `wait` counts Fetches that waited for all of
    their max wait, `empty_early` those answered empty long before, `throttle` answers with a throttle time.
    `errors` counts exchanges by each code in them.
    """

    __slots__ = (
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
        "wait",
    )  # fmt: skip

    def __init__(self) -> None:
        self.exchanges = self.failed = self.unclear = self.empty_early = 0
        self.request_bytes = self.response_bytes = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.states: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.latency = Distribution()
        self.broker = Distribution()
        self.throttle = Distribution()
        self.wait = Distribution()

    def add(self, exchange: Exchange, errors: Sequence[int], times: ResponseTime | None) -> None:
        """Count one exchange with the error codes of its response."""
        self.exchanges += 1
        self.states[str(exchange.state)] += 1
        self.request_bytes += bytes_of(exchange.request)
        self.response_bytes += bytes_of(exchange.response)
        self._seen(time_of(exchange))
        if errors or exchange.state is State.UNANSWERED:
            self.failed += 1
        for code in errors:
            self.errors[error_name(code)] += 1
        if times is not None:
            self._times(times)

    def merge(self, other: Tally) -> None:
        """Count everything of another tally, which stays as it is."""
        for name in ("exchanges", "failed", "unclear", "empty_early", "request_bytes", "response_bytes"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for time_ns in (other.first_ns, other.last_ns):
            if time_ns is not None:
                self._seen(time_ns)
        self.states.update(other.states)
        self.errors.update(other.errors)
        for name in ("latency", "broker", "throttle", "wait"):
            getattr(self, name).merge(getattr(other, name))

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


class Traffic:
    """Tallies by key, of all together, and over time.

    `keys_of` gives the keys of an exchange. `other` holds what came after `Limits.statistic_rows`
    keys: a row takes 2 KB, and up to 20 KB where its times spread over many decades.
    """

    def __init__(self, keys_of: Callable[[Turn], Sequence[Key]]) -> None:
        self._keys_of = keys_of
        self.most = in_force().statistic_rows
        self._watermarks = Watermarks()
        self.rows: dict[Key, Tally] = {}
        self.other = Tally()
        self.total = Tally()
        self.series = Series()

    def add(self, turn: Turn) -> None:
        """Count the next exchange, in the order in which the analyzer reports them."""
        exchange = turn.exchange
        errors = exchange.response_summary().errors
        times = response_time(turn, self._watermarks)
        for key in self._keys_of(turn):
            self._row(key).add(exchange, errors, times)
        self.total.add(exchange, errors, times)
        self.series.add(
            time_of(exchange), bytes_of(exchange.request), bytes_of(exchange.response), 1 if errors else 0
        )

    def merge(self, other: Traffic) -> None:
        """Count everything that was counted elsewhere, by the same dimensions."""
        for key, tally in other.rows.items():
            self._row(key).merge(tally)
        self.other.merge(other.other)
        self.total.merge(other.total)
        self.series.merge(other.series)

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
    """Bytes of a frame on the wire, its size prefix included; 0 for none."""
    return 0 if frame is None else frame.size + PREFIX_BYTES


def time_of(exchange: Exchange) -> int:
    """Time of the first byte of the request, of the response without one."""
    frame = exchange.request or exchange.response
    return 0 if frame is None else frame.time_ns
