"""The machines that watch exchanges of one kind."""

from collections.abc import Callable
from typing import Any

from kdissect.history.connections.throttling import has_throttle
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Fact
from kdissect.history.machine import Choosy, Machine, Passing
from kdissect.session.exchange import Exchange

Feed = Callable[[ExchangeView], list[Fact]]
Passes = Callable[[Exchange, Any, Any], bool]


class Watchers:
    """`machines` watch an API; `feeds` are those of the ones that can learn anything from the version.

    `own` leaves out those that watch every exchange; beside each feed stands what tells that an exchange
    passes the machine by, None where nothing does.
    """

    __slots__ = ("feeds", "machines", "own")

    def __init__(self, machines: tuple[Machine, ...], key: int, version: int) -> None:
        self.machines = tuple(m for m in machines if m.api_keys is None or key in m.api_keys)
        learning = [m for m in self.machines if not isinstance(m, Choosy) or m.concerns(key, version)]
        self.feeds: tuple[Feed, ...] = tuple(m.feed for m in learning)
        self.own: tuple[tuple[Passes | None, Feed], ...] = tuple(
            (m.passes if isinstance(m, Passing) else None, m.feed) for m in learning if m.api_keys is not None
        )


class KindWatchers:
    """Those of one API and version by their order, and whether its answers have a throttle time."""

    __slots__ = ("as_completed", "has_throttle", "in_stream_order", "own")

    def __init__(
        self, as_completed: tuple[Machine, ...], in_stream_order: tuple[Machine, ...], key: int, version: int
    ) -> None:
        self.as_completed = Watchers(as_completed, key, version)
        self.in_stream_order = Watchers(in_stream_order, key, version)
        self.own = self.as_completed.own + self.in_stream_order.own
        self.has_throttle = has_throttle(key, version)
