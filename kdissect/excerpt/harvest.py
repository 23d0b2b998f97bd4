"""Finds the frames of all exchanges that a test takes, for `extract`."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from kdissect.excerpt.frames import Frames
from kdissect.excerpt.plan import MAX_NEGOTIATION, ConnectionPlan, frame_plan, is_negotiation
from kdissect.excerpt.redaction import NOTHING, Redaction
from kdissect.model.errors import KdissectError
from kdissect.schema.protocol_messages import api_name
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange, ExchangeKind
from kdissect.session.info import ConnectionInfo, ConnectionKind

# Memory of the plans of all frames: a million of them. They must all be known before the second reading
# begins, for a filter may decide about a connection's negotiation at its last exchange.
MAX_PLAN_BYTES = 256 << 20
_FRAME_BYTES = 120  # of what holds a packed plan


class PlanTooLargeError(KdissectError):
    """The frames are too many."""


class Redactor(Protocol):
    """Says what to put over a frame."""

    def __call__(self, exchange: Exchange, side: str) -> Redaction:
        """For `request` or `response`. Raises nothing."""


class Harvested(NamedTuple):
    """What was found. `encrypted` exchanges, of so many connections, were left out; so were the `foreign`
    connections, which carry no Kafka. `connections` have the frames; each says whether it is TLS.
    """

    frames: Frames
    connections: dict[str, bool]
    exchanges: int
    encrypted: int
    encrypted_connections: int
    foreign: int
    capture_sets: int

    def plan(self, connection: str) -> ConnectionPlan:
        """What is kept of one of the connections."""
        return ConnectionPlan(connection, self.frames, is_tls=self.connections[connection])


class _Open:
    """A connection that is not over yet."""

    __slots__ = ("bytes", "frames", "negotiation", "taken")

    def __init__(self) -> None:
        self.frames = bytearray()  # packed: there may be very many open connections
        self.bytes = 0
        self.taken = 0
        self.negotiation = 0


class Harvest:
    """`add` every event, then ask for `result`.

    Exchanges of TLS connections are taken if `decrypted`. Raises PlanTooLargeError from `add`.
    """

    def __init__(
        self, takes: Callable[[Exchange], bool], decrypted: bool = False, redactor: Redactor | None = None
    ) -> None:
        self._takes = takes
        self._decrypted = decrypted
        self._redactor = redactor
        self._open: dict[str, _Open] = {}
        self._frames = Frames()
        self._connections: dict[str, bool] = {}
        self._bytes = 0
        self._exchanges = 0
        self._encrypted: dict[str, int] = {}
        self._foreign = 0
        self._sets: set[str] = set()

    def add(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, Exchange):
            self._exchange(event)
        elif isinstance(event, ConnectionClosed):
            self._close(event.connection)

    def result(self) -> Harvested:
        """What was found, once all events were added."""
        encrypted = self._encrypted.values()
        return Harvested(
            self._frames, self._connections, self._exchanges, sum(encrypted), len(encrypted), self._foreign,
            len(self._sets),
        )  # fmt: skip

    def _exchange(self, exchange: Exchange) -> None:
        is_taken = self._takes(exchange)
        if not is_taken and not is_negotiation(exchange):
            return
        info = exchange.connection
        if info.tls is not None and not self._decrypted:
            if is_taken:
                self._encrypted[info.id] = self._encrypted.get(info.id, 0) + 1
            return
        mine = self._open.get(info.id)
        if mine is None:
            mine = self._open[info.id] = _Open()
        if is_taken:
            mine.taken += 1
        elif mine.negotiation < MAX_NEGOTIATION:
            mine.negotiation += 1
        else:
            return
        self._keep(mine, exchange)

    def _keep(self, mine: _Open, exchange: Exchange) -> None:
        for side, frame in (("request", exchange.request), ("response", exchange.response)):
            if frame is None:
                continue
            put = NOTHING if self._redactor is None else self._redactor(exchange, side)
            plan = frame_plan(exchange, side, frame, put.patches)
            label = _label(exchange, side) + (f"; {put.note}" if put.note else "")
            plan = plan._replace(blanks=tuple(put.blanks), edits=tuple(put.edits), label=label)
            packed = plan.packed()
            mine.frames += packed
            cost = len(packed) + _FRAME_BYTES
            mine.bytes += cost
            self._bytes += cost
        if self._bytes > MAX_PLAN_BYTES:
            raise PlanTooLargeError

    def _close(self, info: ConnectionInfo) -> None:
        if info.kind is ConnectionKind.NO_DATA:  # its id, which nobody asked for yet, would be worked out
            return
        if info.kind is not ConnectionKind.KAFKA:
            self._foreign += 1
        mine = self._open.pop(info.id, None)
        if mine is None:
            return
        if not mine.taken:
            self._bytes -= mine.bytes
            return
        self._exchanges += mine.taken
        self._sets.add(info.capture_set)
        self._frames.add(mine.frames)
        self._connections[info.id] = info.tls is not None


def _label(exchange: Exchange, side: str) -> str:
    place = f"{exchange.connection.id}/{exchange.ordinal}"
    if exchange.kind is ExchangeKind.SASL_TOKEN:
        return f"{place} SASL token, {side}"
    key = exchange.api_key
    name = "of an unknown API" if key is None else f"{api_name(key) or f'API {key}'} v{exchange.api_version}"
    return f"{place} {name} {side}, correlation id {exchange.correlation_id}"
