"""Finds the frames of all exchanges that a test takes, for `extract`."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, TypeAlias

from kdissect.excerpt.edit import Redaction
from kdissect.excerpt.frame_plans import MAX_NEGOTIATION, ConnectionPlan, frame_plan, is_negotiation
from kdissect.excerpt.plan_spool import PlanSpool, SpooledFrames
from kdissect.model.native import is_compiled, native
from kdissect.session.events import ConnectionClosed, Event, Events
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo, ConnectionKind

Part: TypeAlias = "Event | native.ExchangeBlock"
# Numbers of an exchange that is not wanted, and of one whose frames are already decided.
NOT_TAKEN, DONE = -1, -2


class Redactor(Protocol):
    """Function that returns the content to put over a frame."""

    def __call__(self, exchange: Exchange, side: str) -> Redaction:
        """Return the redaction of `request` or `response`. Raises no exception."""


class FoundFrames(NamedTuple):
    """Result of a search. `encrypted` exchanges, of `encrypted_connections` connections, were left out. The
    `foreign` connections, which carry no Kafka, were left out too. `connections` have the frames. Their
    values say whether each is TLS.
    """

    frames: SpooledFrames
    connections: dict[str, bool]
    exchanges: int
    encrypted: int
    encrypted_connections: int
    foreign: int
    capture_sets: int

    def plan(self, connection: str) -> ConnectionPlan:
        """Return the plan for one of the connections."""
        return ConnectionPlan(connection, self.frames, is_tls=self.connections[connection])


class _Open:
    """A connection that is not over yet. `number` is that of its plans."""

    __slots__ = ("negotiation", "number", "taken")

    def __init__(self, number: int) -> None:
        self.number = number
        self.taken = 0
        self.negotiation = 0


class FrameSearch:
    """Search for frames: `add` every event, then ask for `result`.

    Exchanges of TLS connections count if `decrypted`. If a filter takes the first exchange of a connection at
    its end, its negotiation belongs to it: so plans wait until all events were seen. `is_by_kind`: `takes`
    has the same answer for exchanges of one connection, API, version and client id. `note` returns further
    text for a frame's label.
    """

    def __init__(
        self,
        takes: Callable[[Exchange], bool],
        decrypted: bool = False,
        redactor: Redactor | None = None,
        is_by_kind: bool = False,
        note: Callable[[Exchange, str], str] | None = None,
    ) -> None:
        self._takes = takes
        self._decrypted = decrypted
        self._redactor = redactor
        self._note = note
        self._open: dict[str, _Open] = {}
        self._spool = PlanSpool()
        self._connections: dict[str, bool] = {}
        self._taken = bytearray()
        self._exchanges = 0
        self._encrypted: dict[str, int] = {}
        self._foreign = 0
        self._sets: set[str] = set()
        self._choice: native.FrameChoice | None = None
        if (
            is_compiled
            and redactor is None
            and note is None
            and isinstance(self._spool.runs, native.PlanRuns)
        ):
            self._choice = native.FrameChoice(self._spool.runs, self._choose, is_by_kind)

    def parts(self, events: Events) -> Iterable[Part]:
        """Return the parts that `add` takes: a block of exchanges as a whole if possible."""
        if is_compiled and isinstance(events, native.ExchangeBlock) and self._choice is not None:
            return (events,)
        return events

    def add(self, event: Part) -> None:
        """Take an event or a block."""
        if isinstance(event, Exchange):
            self._exchange(event)
        elif isinstance(event, ConnectionClosed):
            self._close(event.connection)
        elif is_compiled and isinstance(event, native.ExchangeBlock) and self._choice is not None:
            self._choice.take(event)

    def result(self) -> FoundFrames:
        """Return the result, once all events were added."""
        encrypted = self._encrypted.values()
        return FoundFrames(
            self._spool.frames(bytes(self._taken)), self._connections, self._exchanges, sum(encrypted),
            len(encrypted), self._foreign, len(self._sets),
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
        mine = self._known(info.id)
        if is_taken:
            mine.taken += 1
        elif mine.negotiation < MAX_NEGOTIATION:
            mine.negotiation += 1
        else:
            return
        self._keep(mine, exchange)

    def _known(self, connection: str) -> _Open:
        mine = self._open.get(connection)
        if mine is None:
            mine = self._open[connection] = _Open(len(self._taken))
            self._taken.append(0)
        return mine

    def _choose(self, exchange: Exchange) -> int:
        """Choose for an exchange that the native engine paired: return the number of its connection, or one
        of the numbers above.
        """
        if is_negotiation(exchange):
            self._exchange(exchange)
            return DONE
        return self._known(exchange.connection.id).number if self._takes(exchange) else NOT_TAKEN

    def _keep(self, mine: _Open, exchange: Exchange) -> None:
        for side, frame in (("request", exchange.request), ("response", exchange.response)):
            if frame is None:
                continue
            plan = frame_plan(exchange, side, frame)._replace(connection=mine.number)
            if self._redactor is not None:
                plan = plan.redacted(self._redactor(exchange, side))
            self._spool.add(plan if self._note is None else plan.noted(self._note(exchange, side)))

    def _close(self, info: ConnectionInfo) -> None:
        if info.kind is ConnectionKind.NO_DATA:  # its id, which is not needed yet, would be computed
            return
        if info.kind is not ConnectionKind.KAFKA:
            self._foreign += 1
        taken = 0 if self._choice is None else self._choice.close(info)
        mine = self._open.pop(info.id, None)
        if mine is None or not mine.taken + taken:
            return
        self._exchanges += mine.taken + taken
        self._sets.add(info.capture_set)
        self._taken[mine.number] = 1
        self._connections[info.id] = info.tls is not None
