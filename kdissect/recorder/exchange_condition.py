"""Conditions about exchanges: a filter with a count in a time, or a percentile over a time.

The time is that of the packets. Memory is bounded: a count remembers as many times as it asks for, and a
percentile counts by parts of its time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kdissect.model.wording import plural
from kdissect.query import Context
from kdissect.query.predicate import Predicate
from kdissect.recorder.symptom import FILTER, Symptom
from kdissect.session.exchange import Exchange

_PARTS = 20  # of the time of a percentile
_Test = Callable[[Exchange], bool]


class ExchangeCondition:
    """A condition that sees exchanges in the order of their completion.

    `bind` belongs to an analysis. A later analysis reads some exchanges again, which do not count twice.
    """

    def __init__(self, text: str, filters: tuple[Predicate, ...]) -> None:
        self.text = text
        self.filters = filters
        self._tests: list[_Test] = []
        self._latest_ns = 0
        self._read_until_ns = 0
        self._held: Symptom | None = None

    def bind(self, context: Context) -> None:
        """Begin with an analysis, of which the context knows the facts."""
        self._tests = [one.bind(context) for one in self.filters]
        self._read_until_ns = self._latest_ns

    def see(self, exchange: Exchange) -> None:
        """Take the next exchange."""
        frame = exchange.response or exchange.request
        if frame is None:
            return
        results = [test(exchange) for test in self._tests]
        if frame.time_ns > self._read_until_ns:
            self._latest_ns = max(self._latest_ns, frame.time_ns)
            self._count(results, frame.time_ns)

    def take_symptom(self) -> Symptom | None:
        """Return the symptom if the condition held since the last call."""
        held, self._held = self._held, None
        return held

    def _count(self, results: list[bool], time_ns: int) -> None:
        raise NotImplementedError

    def _holds(self, since_ns: int, until_ns: int, times: int, sentence: str) -> None:
        if self._held is not None:
            since_ns, times = min(since_ns, self._held.since_ns), max(times, self._held.times)
        self._held = Symptom(
            FILTER, self.text, "", self.text, sentence, (), since_ns, until_ns, times, condition=self.text
        )


class CountCondition(ExchangeCondition):
    """Exchanges that a filter takes, at least `least` within `span_ns`."""

    def __init__(self, text: str, wanted: Predicate, least: int, span_ns: int) -> None:
        super().__init__(text, (wanted,))
        self._span_ns = span_ns
        self._times: deque[int] = deque(maxlen=least)

    def _count(self, results: list[bool], time_ns: int) -> None:
        if not results[0]:
            return
        times = self._times
        times.append(time_ns)
        if len(times) == times.maxlen and max(times) - min(times) <= self._span_ns:
            span = f" in {self._span_ns / 1e9:g} s" if self._span_ns else ""
            sentence = f"{plural(len(times), 'exchange')}{span}: {self.text}"
            self._holds(min(times), max(times), len(times), sentence)


class PercentileCondition(ExchangeCondition):
    """A percentile of a field that is above a value, over all exchanges of a time that have the field.

    The percentile is above the value if more exchanges are above the value than the percentile leaves out:
    for p99, one in 100. So p99 needs at least 100 exchanges.
    """

    def __init__(self, text: str, above: Predicate, below: Predicate, share: float, span_ns: int) -> None:
        super().__init__(text, (above, below))
        self._beyond = 1 - share
        self._span_ns = span_ns
        self._part_ns = max(span_ns // _PARTS, 1)
        self._parts: deque[tuple[int, int, int]] = deque()  # number of the part, exchanges above, and all
        self._began_ns = 0

    def _count(self, results: list[bool], time_ns: int) -> None:
        is_above, is_below = results
        if not is_above and not is_below:
            return
        self._began_ns = self._began_ns or time_ns
        number = time_ns // self._part_ns
        parts = self._parts
        if parts and parts[-1][0] >= number:
            last, above, exchanges = parts.pop()
            parts.append((last, above + is_above, exchanges + 1))
        else:
            parts.append((number, int(is_above), 1))
        while parts[0][0] <= number - _PARTS:
            parts.popleft()
        if time_ns - self._began_ns < self._span_ns:
            return
        above, exchanges = sum(part[1] for part in parts), sum(part[2] for part in parts)
        if above > self._beyond * exchanges and self._beyond * exchanges >= 1:
            of = f"{above} of {plural(exchanges, 'exchange')}"
            sentence = f"{of} in {self._span_ns / 1e9:g} s: {self.text}"
            self._holds(time_ns - self._span_ns, time_ns, above, sentence)
