"""The tables `latencies` and `rates`, and back: what `stats` prints, from tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kdissect.engine.exchange_rows import Row
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.native import is_compiled, native
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange
from kdissect.sketches.distribution import Distribution
from kdissect.stages.rows.table_rows import DAY_NS, counts, when
from kdissect.stats.client import host_of
from kdissect.stats.counted_blocks import BlockCounter
from kdissect.stats.times.series import Series
from kdissect.stats.traffic import DISTRIBUTIONS, Tally, Traffic, time_of

# Rows of one capture set. Later rows count in one row without names. 2 to 20 KB each.
MAX_ROWS = 20_000
KEYS = ("day", "broker", "client", "client_id", "software", "principal", "api", "api_version")
# Dimensions that `stats --by` can distinguish in tables.
DIMENSIONS = KEYS[1:]
_NUMBERS = ("exchanges", "failed", "request_bytes", "response_bytes", "unclear", "empty_early")
_BYTES = ("request_bytes", "response_bytes")  # null if the exchanges include some from a request log
_NOBODY = (None,) * len(KEYS)
_TOLD_APART_BY = (
    "day", "broker", "client", "client_id", "software", "principal", "api", "api_version",
)  # fmt: skip
Key = tuple[Any, ...]


class LatencyRows:
    """Counts the exchanges of one capture set, in the order in which one process reports them.

    One that `counts_blocks` cannot be pickled.
    """

    def __init__(self, capture_set: str, counts_blocks: bool) -> None:
        self._capture_set = capture_set
        self._traffic = Traffic(_keys)
        self._traffic.most = MAX_ROWS
        self._blocks: BlockCounter | None = None
        if counts_blocks and is_compiled:
            self._blocks = BlockCounter(self._traffic, _TOLD_APART_BY)

    def add(self, view: ExchangeView) -> None:
        """Count the next exchange."""
        self._traffic.add(view)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Count a block from `start` on, and return the number of the first exchange for `add`, or the
        block's length.
        """
        return start if self._blocks is None else self._blocks.count(block, start)

    def finish(self) -> None:
        """Finish counting, so that the rows can be read."""
        if self._blocks is not None:
            self._blocks.catch_up()

    def latencies(self) -> Iterator[Row]:
        """Yield rows of `latencies`."""
        tallies = dict(self._traffic.rows)
        if self._traffic.other.exchanges:
            tallies[_NOBODY] = self._traffic.other
        for key, tally in sorted(tallies.items(), key=lambda item: [str(part) for part in item[0]]):
            row = {"capture_set": self._capture_set, **dict(zip(KEYS, key, strict=True))}
            yield row | _tally_row(tally)

    def rates(self) -> Iterator[Row]:
        """Yield rows of `rates`."""
        series = self._traffic.series
        for point in series.points():
            row = {"capture_set": self._capture_set, "interval_ns": series.width_ns, **point._asdict()}
            if self._traffic.total.unsized:
                row |= dict.fromkeys(_BYTES)
            yield when(row, point.time_ns)


def _keys(view: ExchangeView) -> list[Key]:
    return [_key(view.exchange)]


def _key(exchange: Exchange) -> Key:
    info = exchange.connection
    key = exchange.api_key
    return (
        time_of(exchange) // DAY_NS, info.broker_text, host_of(info),
        exchange.client_id, info.software, info.principal,
        str(exchange.kind) if key is None else api_name(key) or f"key {key}", exchange.api_version,
    )  # fmt: skip


def _tally_row(tally: Tally) -> Row:
    row: Row = {name: getattr(tally, name) for name in _NUMBERS}
    if tally.unsized:
        row |= dict.fromkeys(_BYTES)
    row["states"], row["errors"] = counts(tally.states), counts(tally.errors)
    row["first_time_ns"], row["last_time_ns"] = tally.first_ns, tally.last_ns
    for name in DISTRIBUTIONS:
        row[f"{name}_ns"] = _sketch(getattr(tally, name))
    return row


def _sketch(held: Distribution) -> Row | None:
    facts = held.facts()
    if facts is None:
        return None
    zeros, bins = held.bins()
    return {**facts, "zeros": zeros, "bins": [{"index": index, "count": count} for index, count in bins]}


def traffic_of(latencies: Iterable[Mapping[str, Any]], rates: Iterable[Row], by: Sequence[str]) -> Traffic:
    """Return the counts of `stats`, by some of `DIMENSIONS`, from rows of the two tables.

    Raises ValueError for a dimension that the tables do not have.
    """
    missing = [name for name in by if name not in DIMENSIONS]
    if missing:
        raise ValueError(f"tables do not contain {missing[0]!r}. They have {', '.join(DIMENSIONS)}")
    traffic = Traffic(lambda view: ())
    for row in latencies:
        tally = _tally(row)
        key = tuple(None if row[name] is None else str(row[name]) for name in by)
        traffic.add_tally(key, tally)
    for point in rates:
        held = Series(point["interval_ns"])
        held.count(point["time_ns"], [point[name] or 0 for name in _POINT])
        traffic.series.merge(held)
    return traffic


_POINT = ("exchanges", "request_bytes", "response_bytes", "errors")


def _tally(row: Mapping[str, Any]) -> Tally:
    tally = Tally()
    for name in _NUMBERS:
        setattr(tally, name, row[name] or 0)  # null in tables of a release that did not count it
    if row["request_bytes"] is None:
        tally.unsized = row["exchanges"]
    tally.states.update(dict(row["states"]))
    tally.errors.update(dict(row["errors"]))
    tally.first_ns, tally.last_ns = row["first_time_ns"], row["last_time_ns"]
    for name in DISTRIBUTIONS:
        held = row[f"{name}_ns"]
        if held is not None:
            bins = [(found["index"], found["count"]) for found in held["bins"]]
            getattr(tally, name).add_bins(held["zeros"], bins, held["sum"], held["min"], held["max"])
    return tally
