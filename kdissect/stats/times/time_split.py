"""The parts of exchanges' time: network path, broker, quota, retransmissions, client.

- The time of an exchange, from the first byte of its request to the last byte of its answer, is split into
  parts that add up to it. The time since the answer before on its connection precedes it.
- The network has the shortest path to the broker and back that the connection had shown by then, and the
  passing time of both frames. If no acknowledgment showed the path, network and broker cannot be
  distinguished: `unknown`.
- A response comes after the responses to earlier requests of its connection: until the last of these had
  come,
  an exchange waited `in_line`, with any progress at the broker.
- The broker has the remaining time of `stats.response_time`. If it is unknown how long a Fetch waited for
  data, the remaining time is `unclear`.
- Between an answer and the next request of its connection are the path to the client and back, a throttle
  time that the client must wait (KIP-219), and the client's own time.
- Retransmissions have only the time that the capture shows (`net.streams.round_trips`).
- A request log has no network. The broker's time, and the wait of a Fetch, have the phases that the broker
  logged (`PHASES`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kdissect.history.connections.throttling import client_must_wait
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.limits import in_force
from kdissect.model.packets.logged import Phases
from kdissect.net.streams.round_trips import captured_near
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.dimensions import Key
from kdissect.stats.times.one_way import OneWay
from kdissect.stats.times.response_time import ResponseTime
from kdissect.stats.times.waited import in_line_ns

Facts = dict[str, Any]

PARTS = ("network", "retransmission", "in_line", "broker", "throttle", "wait", "unclear", "unknown")
"""The parts of the exchanges' time. `client` comes next to them."""
PHASES = tuple(f"broker_{name}" for name in Phases._fields)
"""The parts of `broker` and `wait` that request logs have."""


class Split:
    """Sums in nanoseconds by the names of `PARTS` and `client`, of some `exchanges`.

    `pauses` are those before which the client's time is known, `logged` those with `PHASES`.
    """

    __slots__ = ("exchanges", "logged", "pauses", "sums")

    def __init__(self) -> None:
        self.exchanges = self.pauses = self.logged = 0
        self.sums = dict.fromkeys((*PARTS, *PHASES, "client"), 0)

    def add(self, parts: dict[str, int]) -> None:
        """Count an exchange."""
        self.exchanges += 1
        self.pauses += "client" in parts
        self.logged += PHASES[0] in parts
        for name, took_ns in parts.items():
            self.sums[name] += took_ns

    def merge(self, other: Split) -> None:
        """Count everything of another one."""
        self.exchanges += other.exchanges
        self.pauses += other.pauses
        self.logged += other.logged
        for name, took_ns in other.sums.items():
            self.sums[name] += took_ns

    def facts(self) -> Facts:
        """Return plain values."""
        parts = {f"{name}_ns": self.sums[name] for name in PARTS}
        return {
            "exchanges": self.exchanges,
            "time_ns": sum(parts.values()),
            **parts,
            "logged": self.logged,
            **{f"{name}_ns": self.sums[name] if self.logged else None for name in PHASES},
            "pauses": self.pauses,
            "client_ns": self.sums["client"],
        }


class TimeSplit:
    """Splits by key, and of all together. Pass it the exchanges in their order, and `close` finished
    connections.

    `one_way`, if there are several capture sets, receives the exchanges that count here, with their keys. The
    caller passes the other ones to it.
    """

    def __init__(
        self, keys_of: Callable[[ExchangeView], Sequence[Key]], one_way: OneWay | None = None
    ) -> None:
        self._keys_of = keys_of
        self.one_way = one_way
        self._most = in_force().statistic_rows
        self._rows: dict[Key, Split] = {}
        self._other = Split()
        self._total = Split()
        self._before: dict[str, tuple[int, int]] = {}
        """Of each connection when its last answer ended, and the throttle time its client is to wait then."""
        self._near: Counter[str] = Counter()
        self._known: Counter[str] = Counter()

    def add(self, view: ExchangeView, times: ResponseTime | None, is_wanted: bool) -> None:
        """Count an exchange with its times. From one that is not wanted learn when its answer came."""
        connection, exchange = view.info.id, view.exchange
        keys = self._keys_of(view) if is_wanted else ()
        if self.one_way is not None and is_wanted:
            self.one_way.add(exchange, keys)
        before = self._before.pop(connection, None)
        if exchange.response is None or exchange.request is None or times is None:
            return  # the client's later activity is unknown
        owed_ns = times.throttle if client_must_wait(view.key, view.version) else 0
        self._before[connection] = exchange.response.end_time_ns, owed_ns
        if is_wanted:
            parts = _parts(view, times, before)
            for split in (*map(self._row, keys), self._total):
                split.add(parts)

    def close(self, info: ConnectionInfo) -> None:
        """End a connection."""
        self._before.pop(info.id, None)
        if info.tcp is None or info.tcp.times is None or not info.complete:
            return
        trips = info.tcp.times.trips
        near = captured_near(trips, is_one_host=info.client.host == info.broker.host)
        self._near[near or "not_known"] += 1
        measured = [part.least_ns is not None for part in trips]
        is_sure = [part.by_handshake for part in trips]
        self._known["handshake" if all(is_sure) else "at_most" if all(measured) else "not_known"] += 1

    def facts(
        self, keys: Sequence[Key], by: Sequence[str], named: Callable[[Key], Key] | None = None
    ) -> Facts:
        """Return plain values. Rows are the given keys, and `other` sums all other keys.

        `named` returns a key as rows have it. Rows of one key are merged.
        """
        counted = self._rows
        if named is not None:
            counted = {}
            for key, split in self._rows.items():
                counted.setdefault(named(key), Split()).merge(split)
        other = Split()
        other.merge(self._other)
        for key in counted.keys() - set(keys):
            other.merge(counted[key])
        rows = [(key, counted[key]) for key in keys if key in counted]
        one_way = self.one_way
        return {
            "rows": [dict(zip(by, key, strict=True)) | split.facts() for key, split in rows],
            "other": other.facts() if other.exchanges else None,
            "total": self._total.facts(),
            "captured_near": dict(self._near),
            "round_trips": dict(self._known),
            "one_way": None if one_way is None else one_way.facts(keys, by, named),
        }

    def _row(self, key: Key) -> Split:
        found = self._rows.get(key)
        if found is None:
            if len(self._rows) >= self._most:
                return self._other
            found = self._rows[key] = Split()
        return found


def _parts(view: ExchangeView, times: ResponseTime, before: tuple[int, int] | None) -> dict[str, int]:
    exchange = view.exchange
    if (phases := exchange.phases) is not None:
        parts = {"wait": times.wait, "broker": times.latency - times.wait}
        return parts | dict(zip(PHASES, phases, strict=True)) | _throttled(exchange, before)
    request, response = exchange.request, exchange.response
    assert request is not None and response is not None
    delayed_ns = min(exchange.delay_within(request.end_time_ns, response.time_ns), times.latency)
    left = times.latency - delayed_ns
    throttle = 0 if client_must_wait(view.key, view.version) else min(times.throttle, left)
    wait = min(times.wait, left - throttle)
    in_line = min(in_line_ns(exchange), left - throttle - wait)  # delays count above
    left -= throttle + wait + in_line
    passing = max(0, request.end_time_ns - request.time_ns) + max(0, response.end_time_ns - response.time_ns)
    resent = min(passing, max(0, (exchange.delay_ns or 0) - delayed_ns))
    found = {
        "network": passing - resent,
        "retransmission": delayed_ns + resent,
        "in_line": in_line,
        "throttle": throttle,
        "wait": wait,
    }
    trip = exchange.broker_trip_ns
    if trip is None:
        found["unknown"] = left
    else:
        # The network path is part of the time in line: the request was in line at the broker after it
        # arrived.
        way = min(trip, left + in_line)
        found["network"] += way
        found["in_line"] = max(in_line - way, 0)
        found["unclear" if times.broker is None else "broker"] = left - max(way - in_line, 0)
    for name, took_ns in _of_pause(view, before):
        found[name] = found.get(name, 0) + took_ns
    line = exchange.log_line
    if line is not None and line.phases is not None:
        found |= dict(zip(PHASES, line.phases, strict=True))
    return found


def _throttled(exchange: Exchange, before: tuple[int, int] | None) -> dict[str, int]:
    """Return the throttle time before a request of a log. The remaining time has an unknown network."""
    if before is None or exchange.request is None:
        return {}
    ended_ns, owed_ns = before
    return {"throttle": max(min(owed_ns, exchange.request.time_ns - ended_ns), 0)}


def _of_pause(view: ExchangeView, before: tuple[int, int] | None) -> Iterator[tuple[str, int]]:
    """Yield the parts of the time between the answer before and the request, if no other exchange was
    open.
    """
    exchange = view.exchange
    if before is None or exchange.request is None:
        return
    ended_ns, owed_ns = before
    began_ns = exchange.request.time_ns
    if began_ns < ended_ns:
        return
    left = began_ns - ended_ns
    for name, most in (
        ("retransmission", exchange.delay_within(ended_ns, began_ns)),
        ("network", exchange.client_trip_ns or 0),
        ("throttle", owed_ns),
    ):
        took_ns = min(most, left)
        left -= took_ns
        yield name, took_ns
    yield "client", left
