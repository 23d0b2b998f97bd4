"""Drives the rules over what the analyzer reports.

Rules of the game:
- Exchanges of a connection are judged in the order of their requests (`stream_order`).
- Capture quality first: frames that are cut are not judged as bodies; a rule that needs the start of the
  connection, or all of it, is inconclusive where the capture lacks that.
- One cause, one finding: a header that does not fit silences the body, a body that does not fit silences
  its values, and a rule silences those it shadows, for the same exchange. The order is that of the registry.
- What the schema does not know (API, version) is not judged.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from kdissect.history.fact import Fact
from kdissect.history.history import History
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.finding import Who
from kdissect.rules import pieces
from kdissect.rules.body import Body, body_of
from kdissect.rules.connection_view import API_VERSIONS, ConnectionView
from kdissect.rules.coverage import Coverage
from kdissect.rules.evidence import finding_of, has_no_error
from kdissect.rules.findings import FindingLog
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import (
    REQUEST,
    RESPONSE,
    BodyRule,
    ConnectionRule,
    ExchangeRule,
    FactRule,
    Fault,
    MisfitRule,
    NodeRule,
    Once,
    Rule,
)
from kdissect.rules.stream_order import StreamOrder
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionKind


class Judge:
    """Feed it every event with `add`; `findings`, `inconclusive` and `coverage` hold what came of it.

    `rules` in the order of the registry; `judge` leaves out findings about the other end; `labels` name ends
    by address, host or role.
    """

    def __init__(
        self,
        rules: Sequence[Rule] = ALL_RULES,
        judge: Who | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.rules = rules
        self.findings = FindingLog()
        self.inconclusive: Counter[tuple[str, str]] = Counter()
        """Rule code and reason -> how often."""
        self.coverage = Coverage(labels)
        self.who = judge
        """Whose bytes are judged; None: those of both ends."""
        self._labels = labels or {}
        self._views: dict[str, tuple[ConnectionView, StreamOrder]] = {}
        self._muted: set[str] = set()  # codes shadowed for the exchange being judged
        self._connection_rules = [rule for rule in rules if isinstance(rule, ConnectionRule)]
        self._exchange_rules = [rule for rule in rules if isinstance(rule, ExchangeRule)]
        self._usual_rules = [rule for rule in self._exchange_rules if not rule.only_odd]
        self._misfit_rules = [rule for rule in rules if isinstance(rule, MisfitRule)]
        self._history = History()
        self._fact_rules: dict[tuple[type, StrEnum], list[FactRule]] = {}
        self._node_rules: dict[str, list[NodeRule]] = {sort: [] for sort in pieces.SORTS}
        self._body_rules: dict[tuple[str, str], list[BodyRule]] = {}
        self._sort_rules()

    def _sort_rules(self) -> None:
        for rule in self.rules:
            if isinstance(rule, NodeRule):
                for sort in rule.nodes:
                    self._node_rules[sort].append(rule)
            elif isinstance(rule, FactRule):
                for kind in rule.facts:
                    self._fact_rules.setdefault((type(kind), kind), []).append(rule)
            elif isinstance(rule, BodyRule):
                for subject in rule.on:
                    self._body_rules.setdefault(subject, []).append(rule)

    # events

    def add(self, event: Event) -> None:
        """Judge what an event completes."""
        facts = self._history.add(event)
        if isinstance(event, Exchange):
            view, order = self._view(event)
            for exchange in order.add(event):
                self._exchange(exchange, view)
            self._facts(facts, event)
        elif isinstance(event, ConnectionClosed):
            self._facts(facts, None)
            self._close(event)

    def finish(self) -> None:
        """The input is over: connections without an end are judged as they stand."""
        for view, order in list(self._views.values()):
            for exchange in order.flush():
                self._exchange(exchange, view)
        self._facts(self._history.finish(), None)
        self._views.clear()
        odd = [rule.code for rule in self._exchange_rules if rule.only_odd]
        self.coverage.exercises.finish(odd, [rule.code for rule in self._misfit_rules])

    def _view(self, exchange: Exchange) -> tuple[ConnectionView, StreamOrder]:
        info = exchange.connection
        found = self._views.get(info.id)
        if found is None:
            found = self._views[info.id] = ConnectionView(info), StreamOrder()
        return found

    def _close(self, event: ConnectionClosed) -> None:
        info = event.connection
        self.coverage.add_connection(info)
        view, order = self._views.pop(info.id, (ConnectionView(info), StreamOrder()))
        for exchange in order.flush():
            self._exchange(exchange, view)
        if info.kind is ConnectionKind.KAFKA:
            self.coverage.at(info)
            self._muted.clear()
            for rule in self._connection_rules:
                self._apply(rule, view, None, rule.check(view))
        self.coverage.exercises.close(info)

    # exchanges

    def _exchange(self, exchange: Exchange, view: ConnectionView) -> None:
        self.coverage.add_exchange(exchange)
        self._muted.clear()
        view.begin(exchange)
        is_odd = bool(exchange.anomalies) or exchange.state is not State.COMPLETE
        for rule in self._exchange_rules if is_odd else self._usual_rules:
            self._apply(rule, view, exchange, rule.check(exchange, view))
        if exchange.kind is ExchangeKind.KAFKA and not _has_bad_header(exchange):
            for side in (REQUEST, RESPONSE):
                body = body_of(exchange, side)
                if body is not None:
                    self._body(body, view)
        view.end(exchange, self._muted)

    def _body(self, body: Body, view: ConnectionView) -> None:
        exchange = body.exchange
        self.coverage.exercises.now.bodies += 1
        error = body.error
        if error is not None or not body.fits:
            self._misfit(body, error or _left_over(body), view)
            return
        for rule in self._body_rules.get((body.api.name, body.side), ()):
            if body.version in rule.versions and (not rule.refusable or has_no_error(body)):
                self._apply(rule, view, exchange, rule.check(body))
        self._pieces(body, view)
        if body.api.key == API_VERSIONS and body.side == RESPONSE:
            view.learn_versions(exchange, body.value)

    def _misfit(self, body: Body, error: DecodeError, view: ConnectionView) -> None:
        """The first rule that explains the bytes has the word."""
        for rule in self._misfit_rules:
            if error.kind not in rule.kinds:
                continue
            if self._apply(rule, view, body.exchange, rule.check(body, error)):
                return

    def _pieces(self, body: Body, view: ConnectionView) -> None:
        kind = body.message, body.version
        seen = self.coverage.exercises.now.seen
        if kind in seen and body.is_plain:  # the first of its kind counts for the coverage
            return
        seen.add(kind)
        by_sort = self._node_rules
        for sort, node, path in pieces.pieces(body.tree):
            for rule in by_sort[sort]:
                self.coverage.exercise(rule.code)
                for found in rule.check(node, body):
                    fault = found._replace(path=path, start=node.start, end=node.end, side=body.side)
                    self._speak(rule, fault, view, body.exchange)

    # histories

    def _facts(self, facts: Sequence[Fact], event: Exchange | None) -> None:
        """Judge what the histories found; `event` is the exchange that completed it, most of the time."""
        pairs = [(fact, rule) for fact in facts for rule in self._fact_rules.get(_kind(fact), ())]
        shadowed = {(_place(fact), code) for fact, rule in pairs if fact.sure for code in rule.shadows}
        for fact, rule in pairs:
            found = self._views.get(fact.evidence.connection)
            if found is None:  # the connection is over, and what is left of it unsure
                self.inconclusive[rule.code, "the connection was over"] += 1
            elif (_place(fact), rule.code) not in shadowed:
                self._fact(rule, fact, found[0], event)

    def _fact(self, rule: FactRule, fact: Fact, view: ConnectionView, event: Exchange | None) -> None:
        ordinal = fact.evidence.ordinal
        self.coverage.at(view.info)
        self._muted = set(view.shadowed.get(ordinal, ()))
        is_own = event is not None and (event.connection.id, event.ordinal) == _place(fact)
        self._apply(rule, view, event if is_own else view.recent(ordinal), rule.check(fact))

    # verdicts

    def _apply(
        self, rule: Rule, view: ConnectionView, exchange: Exchange | None, faults: Iterable[Fault]
    ) -> bool:
        """Run one check; whether it spoke."""
        if rule.code in self._muted:
            return False
        self.coverage.exercise(rule.code)
        spoke = False
        for fault in faults:
            spoke = True
            self._speak(rule, fault, view, exchange)
        return spoke

    def _speak(self, rule: Rule, fault: Fault, view: ConnectionView, exchange: Exchange | None) -> None:
        why = fault.inconclusive or _lacking(rule, view)
        if why:
            self.inconclusive[rule.code, why] += 1
            return
        if rule.code in self._muted or rule.code in view.spoken:
            return
        self._muted.update(rule.shadows)
        if rule.once == Once.CONNECTION:
            view.spoken.add(rule.code)
        finding = finding_of(rule, fault, view.info, exchange, self._labels)
        if self.who is None or finding.party.role is self.who:
            self.findings.add(rule, finding)


def _lacking(rule: Rule, view: ConnectionView) -> str:
    """What the capture lacks for a rule to be sure; empty: nothing."""
    if rule.needs_start and view.info.middle_start:
        return "the connection began before the capture"
    if rule.needs_whole and not view.is_whole:
        return "bytes of the connection are missing from the capture"
    return ""


def _kind(fact: Fact) -> tuple[type, StrEnum]:
    """Kinds of different machines may have one name, and are equal then."""
    return type(fact.kind), fact.kind


def _place(fact: Fact) -> tuple[str, int]:
    return fact.evidence.connection, fact.evidence.ordinal


def _has_bad_header(exchange: Exchange) -> bool:
    return any(anomaly.kind is AnomalyKind.MALFORMED_HEADER for anomaly in exchange.anomalies or ())


def _left_over(body: Body) -> DecodeError:
    left = len(body.data) - body.end
    return DecodeError(body.message.name, body.end, f"{left} bytes left over", FaultKind.LEFT_OVER)
