"""The judge in two stages: rules about connections, then rules about what histories of several show.

Rules:
- The per-flow judge checks everything except the facts of machines whose keys span connections. The
  per-capture-set judge checks those facts, with events that have no records any more.
- A finding that a rule silenced about an exchange in the per-flow stage is silent in the other stage.
- Judgements merge: findings fold as they do in one judge, counts add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from kdissect.history.connections.connection_problems import PlainEnd
from kdissect.history.fact import Fact
from kdissect.model.finding import Who
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.rules.findings import FindingLog
from kdissect.rules.judge import Judge
from kdissect.rules.judging.judged_connection import JudgedConnection
from kdissect.rules.judging.repeated import Repeated
from kdissect.rules.judging.schema_judge import ValuesOf
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Rule
from kdissect.rules.run_coverage.coverage import Coverage
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.rules.views.kept_exchanges import Away
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.stages.forwarding import NO_CODES, Codes, Silenced

# Machines whose keys begin with the connection and ask no others (docs/architecture/history.md).
OF_CONNECTIONS = frozenset(
    {"versions", "sasl", "throttling", "quorum_epochs", "own_counters", "snapshot_fetches"}
)
ACROSS = frozenset(
    {
        "fetch_sessions", "share_sessions", "producers", "transactions", "classic_groups", "modern_groups",
        "leader_epochs", "broker_epochs", "telemetry", "connection_problems", "refused_requests",
        "stored_batches", "quorum_choices", "topic_ids",
    }
)  # fmt: skip
Labels = Mapping[str, str]


class Judgement:
    """Result of judges, with the attributes of a `Judge` that reports read. Picklable."""

    def __init__(self, rules: Sequence[Rule] = ALL_RULES, who: Who | None = None) -> None:
        self.rules = rules
        self.who = who
        self.findings = FindingLog()
        self.inconclusive: Counter[tuple[str, str]] = Counter()
        self.coverage = Coverage()

    def merge(self, other: Judge | Judgement) -> None:
        """Take what a judge that is finished, or another judgement, came to."""
        self.findings.merge(other.findings)
        self.inconclusive.update(other.inconclusive)
        self.coverage.merge(other.coverage)

    def __getstate__(self) -> tuple[FindingLog, Counter[tuple[str, str]], Coverage]:
        return self.findings, self.inconclusive, self.coverage

    def __setstate__(self, state: tuple[FindingLog, Counter[tuple[str, str]], Coverage]) -> None:
        self.rules, self.who = ALL_RULES, None
        self.findings, self.inconclusive, self.coverage = state


class FlowJudge(Judge):
    """Judges connections, flow after flow. `told` hears of each exchange that was judged, with what is
    silent about it.
    """

    def __init__(
        self,
        told: Callable[[Exchange, Codes], None],
        rules: Sequence[Rule] = ALL_RULES,
        judge: Who | None = None,
        labels: Labels | None = None,
    ) -> None:
        super().__init__(rules, judge, labels, OF_CONNECTIONS)
        self._told = told

    def begin_flow(self) -> None:
        """Begin the events of another flow, whose names of topics are unknown."""
        self._batches.forget_names()

    def take_block(self, _block: native.ExchangeBlock, start: int) -> int:
        """Return `start`: no exchange is taken from a block."""
        return start

    def _judged(self, exchange: Exchange, view: ConnectionView) -> None:
        super()._judged(exchange, view)
        self._told(exchange, view.suppressed.get(exchange.ordinal, NO_CODES))

    def _passed(
        self, exchange: Exchange, view: ConnectionView, request: Frame, response: Frame | None
    ) -> None:
        super()._passed(exchange, view, request, response)
        self._told(exchange, NO_CODES)


class JudgedAside(NamedTuple):
    """State of a judge for one connection: its view, its last exchanges (None: no longer), and the
    ordinal that is due next.
    """

    view: JudgedConnection | None
    recent: list[Exchange] | None
    due: int


class CaptureSetJudge(Judge):
    """Judges the facts of machines that cross connections, and keys and values if there is `values_of`.

    `wake` is called with the connection of each fact before it is judged: it may `take_up` that.
    """

    def __init__(
        self,
        rules: Sequence[Rule] = ALL_RULES,
        judge: Who | None = None,
        labels: Labels | None = None,
        values_of: ValuesOf | None = None,
    ) -> None:
        super().__init__(rules, judge, labels, ACROSS, values_of=values_of)
        self._silenced: dict[tuple[str, int], Codes] = {}
        self._rested: set[str] = set()
        """Connections whose turn it was to rest while they were set aside."""
        self.wake: Callable[[str], object] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"wake": None}

    def set_aside(self, connection: str) -> JudgedAside | None:
        """Remove and return the state of a connection; None while exchanges wait."""
        if self._history.has_track(connection):
            return None
        view = self._views.pop(connection, None)
        if view is not None:
            view.let_go()
            self.coverage.exercises.close(view.info)
        return JudgedAside(view, self._recent.set_aside(connection), self._history.set_aside(connection))

    def take_up(self, connection: str, aside: JudgedAside) -> None:
        """Go on with a connection as if it had been here all the time."""
        view, recent, due = aside
        if due:
            self._history.go_on(connection, due)
        has_rested = connection in self._rested
        self._rested.discard(connection)
        if view is None:
            return
        view.hold(self._large, self._recent)
        self._views[connection] = view
        if has_rested:
            view.rest()
        elif recent is not None:
            self._recent.take_up(view, recent)

    def close_plain(self, end: PlainEnd, connections: Collection[str]) -> list[str]:
        """Take the ends of connections that are set aside, and return the connections that must be taken one
        by one.
        """
        problems = self._history.connection_problems
        often = [one for one in connections if problems.asked_often(one)] if end.only_asks else []
        plain = set(connections).difference(often) if often else connections
        if plain:
            self._problems(problems.close_plain(end, plain))
        return often

    def _rest(self, view: ConnectionView | Away) -> None:
        if isinstance(view, Away):
            self._rested.add(view.connection)
        else:
            super()._rest(view)

    def _facts(self, facts: Sequence[Fact], event: Exchange | None) -> None:
        if self.wake is not None:
            for fact in facts:
                self.wake(fact.evidence.connection)
        super()._facts(facts, event)

    def take_block(self, _block: native.ExchangeBlock, start: int) -> int:
        """Each exchange comes with what is silent about it."""
        return start

    def add_replayed(self, event: Event, silenced: Silenced) -> None:
        """Judge what a forwarded event completes."""
        for connection, ordinal, codes in silenced:
            self._silenced[connection, ordinal] = frozenset(codes)
        self.add(event)

    def _exchange(self, exchange: Exchange, view: JudgedConnection, repeated: Repeated | None = None) -> None:
        view.begin(exchange)
        self._suppressed = set(self._silenced.pop((exchange.connection.id, exchange.ordinal), ()))
        self._judged(exchange, view)

    def _close(self, event: ConnectionClosed, due: list[Exchange]) -> None:
        view = self._views.pop(event.connection.id, None) or JudgedConnection(event.connection)
        for exchange in due:
            self._exchange(exchange, view)
            exchange.forget_bodies()
        self.coverage.exercises.close(event.connection)
        self._large.forget(event.connection.id)
        self._recent.forget(event.connection.id)
