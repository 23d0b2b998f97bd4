"""The exchanges in a list: all, or the exchanges that a filter takes, frozen or growing."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Sequence

from kdissect.decoders.generated.summary import Summary
from kdissect.engine.exchange_log.log import ExchangeLog, LoggedExchange
from kdissect.engine.records.record_values import RecordValues
from kdissect.query import Context, Predicate
from kdissect.query.exchange_colors import CompiledRules, color_of
from kdissect.session.exchange import Exchange

_ASK_CLOCK_EVERY = 64  # exchanges
_COLORS_KEPT = 4096  # some screens full


class Shown:
    """Rows of the log by their position in the list.

    `predicate` None means all rows. A filter on headers runs here, a slice of time at a time (`advance`). For
    one that `needs_worker` another process reads the inputs and `take` gets its rows. While the list is
    frozen, it shows no more than the first `frozen_at` rows of the log.
    """

    def __init__(
        self,
        log: ExchangeLog,
        predicate: Predicate | None = None,
        needs_worker: bool = False,
        file_names: Sequence[str] = (),
    ) -> None:
        self.log = log
        self.predicate = predicate
        self.needs_worker = needs_worker
        self.looked_at = 0
        """Exchanges of the log that the filter tested here."""
        self.is_searching = needs_worker
        self.frozen_at: int | None = None
        self._rows: array[int] | None = None if predicate is None else array("I")
        context = Context(
            lambda: log.start_ns, _topics_of, _codes_of, file_names, RecordValues(log.schemas),
            log.topic_of_records,
        )  # fmt: skip
        self._test = None if predicate is None or needs_worker else predicate.bind(context)

    def __len__(self) -> int:
        if self.frozen_at is not None:
            return self.frozen_at if self._rows is None else bisect_left(self._rows, self.frozen_at)
        return len(self.log) if self._rows is None else len(self._rows)

    def __getitem__(self, position: int) -> int:
        """Return the row at a position of the list."""
        return position if self._rows is None else self._rows[position]

    @property
    def rows(self) -> Sequence[int] | None:
        """The rows, ascending; None: all of the log."""
        return self._rows

    def position_of(self, row: int) -> int | None:
        """Return the position of a row in the list, or None if the list does not show it."""
        position = row if self._rows is None else bisect_left(self._rows, row)
        return position if position < len(self) and self[position] == row else None

    def near(self, row: int) -> int:
        """Return the position of a row, or of the first shown one after it, or else the last position."""
        position = row if self._rows is None else bisect_left(self._rows, row)
        return max(0, min(position, len(self) - 1))

    @property
    def is_busy(self) -> bool:
        """Whether the filter has not tested all of the log."""
        return self.is_searching or (self._test is not None and self.looked_at < len(self.log))

    def take(self, rows: array[int]) -> None:
        """Rows that a worker found."""
        if self._rows is not None:
            self._rows += rows

    def advance(self, budget_s: float) -> bool:
        """Test further exchanges for at most `budget_s` seconds. Return whether some are left."""
        if self._test is None or self._rows is None:
            return False
        until = time.perf_counter() + budget_s
        log, test, append = self.log, self._test, self._rows.append
        row, end = self.looked_at, len(log)
        while row < end:
            for row in range(row, min(row + _ASK_CLOCK_EVERY, end)):  # noqa: B020
                if test(LoggedExchange(log, row)):
                    append(row)
            row += 1
            if time.perf_counter() > until:
                break
        self.looked_at = row
        return row < end


class RowColors:
    """Colours of log rows by coloring rules. It computes a colour when the row is on screen and caches it."""

    def __init__(self, log: ExchangeLog, rules: CompiledRules, file_names: Sequence[str] = ()) -> None:
        self._log = log
        self._color_of = color_of(rules, Context(lambda: log.start_ns, _topics_of, None, file_names))
        self._known: dict[int, str] = {}

    def color(self, row: int) -> str:
        """Empty for none."""
        found = self._known.get(row)
        if found is None:
            if len(self._known) >= _COLORS_KEPT:
                self._known.clear()
            found = self._known[row] = self._color_of(LoggedExchange(self._log, row))
        return found


def _topics_of(exchange: Exchange, asked: Summary, answered: Summary) -> tuple[str, ...]:
    return exchange.topics() if isinstance(exchange, LoggedExchange) else asked.topics


def _codes_of(exchange: Exchange) -> Sequence[str]:
    return exchange.codes() if isinstance(exchange, LoggedExchange) else ()
