"""The counts of `Traffic` as plain values, for JSON and tables. docs/output.md describes them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.sketches.distribution import RELATIVE_ERROR, Distribution
from kdissect.stats.dimensions import Key
from kdissect.stats.times.series import LatencySeries, Series
from kdissect.stats.traffic import Tally, Traffic

Facts = dict[str, Any]
SECOND_NS = 1_000_000_000

# The orders of rows, the most first.
ORDERS: dict[str, Callable[[Tally], int]] = {
    "exchanges": lambda tally: tally.exchanges,
    "failed": lambda tally: tally.failed,
    "bytes": lambda tally: tally.bytes or 0,
    "p50": lambda tally: tally.latency.quantile(0.5) or 0,
    "p99": lambda tally: tally.latency.quantile(0.99) or 0,
    "max": lambda tally: tally.latency.max,
    "broker": lambda tally: tally.broker.quantile(0.99) or 0,
    "throttle": lambda tally: tally.throttle.sum,
}


def traffic_facts(
    traffic: Traffic, by: Sequence[str], top: int | None, width: int, sort: str = "exchanges"
) -> Facts:
    """Return all counts. Rows are in an order of `ORDERS`. Rows after the first `top` are in `other`.

    `width` bounds the points over time. Rows of the same racks are one.
    """
    rank = ORDERS[sort]
    racks = traffic.racks
    rows = traffic.rows if racks is None else _rows_named(traffic.rows, racks.namer(by))
    ranked = sorted(rows.items(), key=lambda item: (-rank(item[1]), _order(item[0])))
    shown = ranked if top is None else ranked[:top]
    other = Tally()
    other.merge(traffic.other)
    for _, tally in ranked[len(shown) :]:
        other.merge(tally)
    return {
        "by": list(by),
        "relative_error": RELATIVE_ERROR,
        "max_rows": traffic.most,
        "rows": [dict(zip(by, key, strict=True)) | _tally(tally) for key, tally in shown],
        "other": _tally(other) if other.exchanges else None,
        "total": _tally(traffic.total),
        "over_time": _over_time(traffic, width),
    } | ({} if racks is None else {"racks": racks.facts(traffic.rows, by)})


def add_latencies(over_time: Facts, latencies: LatencySeries, series: Series) -> None:
    """Add `latency_ns` to points over time, which are those of `series`: `count`, `p50`, `p99`, None if no
    request was answered.
    """
    found = dict(latencies.like(series).points())
    for point in over_time["points"]:
        times = found.get(point["time_ns"])
        point["latency_ns"] = None if times is None else _percentiles(times)


def _percentiles(times: Distribution) -> dict[str, int]:
    return {"count": times.count, "p50": times.quantile(0.5) or 0, "p99": times.quantile(0.99) or 0}


def _rows_named(rows: Mapping[Key, Tally], named: Callable[[Key], Key]) -> dict[Key, Tally]:
    found: dict[Key, Tally] = {}
    for key, tally in rows.items():
        found.setdefault(named(key), Tally()).merge(tally)
    return found


def _order(key: tuple[str | None, ...]) -> tuple[str, ...]:
    return tuple(value or "" for value in key)


def _tally(tally: Tally) -> Facts:
    return {
        "exchanges": tally.exchanges,
        "failed": tally.failed,
        "states": dict(tally.states),
        "errors": dict(tally.errors.most_common()),
        "request_bytes": None if tally.unsized else tally.request_bytes,
        "response_bytes": None if tally.unsized else tally.response_bytes,
        "first_time": None if tally.first_ns is None else rfc3339(tally.first_ns),
        "last_time": None if tally.last_ns is None else rfc3339(tally.last_ns),
        "latency_ns": tally.latency.facts(),
        "broker_ns": tally.broker.facts(),
        "unclear": tally.unclear,
        "empty_early": tally.empty_early,
        "throttle_ns": tally.throttle.facts(),
        "wait_ns": tally.wait.facts(),
    }


def _over_time(traffic: Traffic, width: int) -> Facts:
    series, is_sized = traffic.series.narrowed(width), not traffic.total.unsized
    return {
        "interval_ns": series.width_ns,
        "points": [
            {
                "time": rfc3339(point.time_ns),
                "time_ns": point.time_ns,
                "exchanges": point.exchanges,
                "request_bytes": point.request_bytes if is_sized else None,
                "response_bytes": point.response_bytes if is_sized else None,
                "errors": point.errors,
            }
            for point in series.points()
        ],
    }
