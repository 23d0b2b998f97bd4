"""Drives the rules over what the analyzer reports.

Rules of the game:
- Exchanges of a connection are judged in the order of their requests (`history.stream_order`).
- Capture quality first: frames that are cut are not judged as bodies; a rule that needs the start of the
  connection, or all of it, is inconclusive where the capture lacks that.
- One cause, one finding: a header that does not fit silences the body, a body that does not fit silences
  its values, and a rule silences those it shadows, for the same exchange. The order is that of the registry.
- What the schema does not know (API, version) is not judged.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from kdissect.decoders.decoded import Decoded
from kdissect.history.connection_problems import ConnectionProblem
from kdissect.history.fact import Fact
from kdissect.history.history import History
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.finding import Who
from kdissect.model.frame import Frame
from kdissect.model.wording import plural
from kdissect.rules import pieces
from kdissect.rules.batches import BatchJudge
from kdissect.rules.body import Body
from kdissect.rules.body_kind import BodyKind
from kdissect.rules.connection_view import API_VERSIONS, ConnectionView
from kdissect.rules.coverage import Coverage
from kdissect.rules.evidence import Told, finding_of, has_no_error, told
from kdissect.rules.exercise import Exercise
from kdissect.rules.findings import FindingLog
from kdissect.rules.judged_connection import JudgedConnection
from kdissect.rules.kinds import FactRule, MisfitRule
from kdissect.rules.large_exchanges import LargeExchanges
from kdissect.rules.recent_exchanges import RecentExchanges
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.repeated import LOOKS_EVERY, Before, Outcome, Repeated, outcome_of
from kdissect.rules.rule import REQUEST, RESPONSE, Fault, Once, Rule
from kdissect.rules.subjects import ODD, UNUSUAL, USUAL, NodeRules, Subjects
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo, ConnectionKind

_UNDECIDED: Any = object()


class Judge:
    """Feed it every event with `add`; `findings`, `inconclusive` and `coverage` hold what came of it.

    `rules` in the order of the registry; `judge` leaves out findings about the other end; `labels` name ends
    by address, host or role. `machines` are the histories that are asked; None: all.
    """

    def __init__(
        self,
        rules: Sequence[Rule] = ALL_RULES,
        judge: Who | None = None,
        labels: Mapping[str, str] | None = None,
        machines: Collection[str] | None = None,
    ) -> None:
        self.rules = rules
        self.findings = FindingLog()
        self.inconclusive: Counter[tuple[str, str]] = Counter()
        """Rule code and reason -> how often."""
        self.coverage = Coverage(labels)
        self.who = judge
        """Whose bytes are judged; None: those of both ends."""
        self._labels = labels or {}
        self._views: dict[str, JudgedConnection] = {}
        self._large = LargeExchanges()
        self._recent = RecentExchanges(self._rest)
        self._muted: set[str] = set()  # codes shadowed for the exchange being judged
        self._at_ns = 0  # its time
        self._counted: list[Told] | None = None  # of an exchange that came again, if no finding was made
        self._subjects = Subjects(rules)
        self._history = History(machines, increments=False)  # no rule speaks of them
        self._batches = BatchJudge(rules, self.coverage)
        self.coverage.batch_codes = self._batches.usual_codes()

    # events

    def add(self, event: Event) -> None:
        """Judge what an event completes, of traffic that two capture sets have in one of them only."""
        info = event.connection
        if info.same_as is not None:
            return
        if isinstance(event, Exchange):
            event.bodies()  # decoded for the histories too
            view = self._views.get(info.id) or self._view(event)
            repeated = view.repeated
            if repeated is not None and not view.is_again(event):
                repeated = None
            before = None if repeated is None else view.previous
            due, facts = self._history.take_exchange(event, before if isinstance(before, Exchange) else None)
            if len(due) != 1 or due[0] is not event:
                repeated = None
            for exchange in due:
                self._exchange(exchange, view, repeated)
                if exchange is not event:
                    exchange.forget_bodies()
            if facts:
                self._facts(facts, event)
            event.bodies_cache = event.batches_cache = None  # `forget_bodies`, also if it is held back
        elif isinstance(event, ConnectionClosed):
            # Of another kind nothing was judged.
            due, facts = self._history.take(event) if info.kind is ConnectionKind.KAFKA else ([], [])
            self._facts(facts, None)
            self._close(event, due)
            self._problems(self._history.close(event))

    def finish(self) -> None:
        """The input is over: connections without an end are judged as they stand."""
        due, facts = self._history.take_rest()
        for exchange in due:
            self._exchange(exchange, self._view(exchange))
            exchange.forget_bodies()
        self._facts(facts, None)
        self._problems(self._history.take_problems())
        self._views.clear()
        self.coverage.finish(self._subjects.exchange_rules, self._subjects.misfit_rules)

    def _view(self, exchange: Exchange) -> JudgedConnection:
        info = exchange.connection
        found = self._views.get(info.id)
        if found is None:
            found = self._views[info.id] = JudgedConnection(info, self._large, self._recent)
        return found

    def _rest(self, view: ConnectionView) -> None:
        """Others spoke for long: a connection holds little until it speaks again."""
        view.rest()
        self.coverage.exercises.close(view.info)

    def _close(self, event: ConnectionClosed, due: list[Exchange]) -> None:
        info = event.connection
        self.coverage.add_connection(info)
        if info.kind is not ConnectionKind.KAFKA:
            return  # nothing of it was judged
        view = self._views.pop(info.id, None) or JudgedConnection(info, self._large, self._recent)
        for exchange in due:
            self._exchange(exchange, view)
            exchange.forget_bodies()
        self.coverage.at(info)
        self._muted.clear()
        for rule in self._subjects.connection_rules:
            self._apply(rule, view, None, rule.check(view))
        self.coverage.exercises.close(info)
        self._large.forget(info.id)
        self._recent.forget(info.id)

    # exchanges

    def _exchange(self, exchange: Exchange, view: JudgedConnection, repeated: Repeated | None = None) -> None:
        """Judge the next exchange; `repeated` where it is the one before once more."""
        view.begin(exchange)
        view.repeated = repeated
        if repeated is not None and repeated.outcome is not None and repeated.outcome.holds(exchange, view):
            self._count_again(exchange, view, repeated.outcome)
            return
        is_odd = bool(exchange.anomalies) or not _is_as_due(exchange)
        is_usual = not is_odd and view.is_usual(exchange)
        if not (is_usual and self._passes(exchange, view)):
            sort = ODD if is_odd else USUAL if is_usual else UNUSUAL
            if repeated is None:
                self._closely(exchange, view, sort)
                view.repeated = Repeated()
            else:
                self._again(exchange, view, sort, repeated)

    def _again(self, exchange: Exchange, view: JudgedConnection, sort: str, repeated: Repeated) -> None:
        """Judge an exchange that came again; once in a while note what comes of it."""
        repeated.times += 1
        if repeated.times % LOOKS_EVERY:
            self._closely(exchange, view, sort)
            return
        before = Before(self.coverage.exercises.at(view.info), self.inconclusive, view)
        noted: list[Told] = []
        self._counted = noted
        self._closely(exchange, view, sort)
        if self._counted is noted:
            repeated.outcome = outcome_of(exchange, view, before, self.inconclusive, noted, self._muted)
        self._counted = None

    def _count_again(self, exchange: Exchange, view: ConnectionView, outcome: Outcome) -> None:
        """What came of the exchange before comes of this one too."""
        outcome.count(exchange, self.coverage, self.findings)
        self._muted = set(outcome.muted)
        if outcome.has_ranges and exchange.response is not None:
            view.learn_again(exchange.response)
        self._judged(exchange, view)

    def _passes(self, exchange: Exchange, view: JudgedConnection) -> bool:
        """Whether no rule has anything to say of a usual exchange; counts it."""
        # Hot, once an exchange.
        asked, answered = exchange.bodies_cache or exchange.bodies()
        request, response = exchange.request, exchange.response
        if asked is None or request is None or (answered is None and response is not None):
            return False
        info, exercise = view.info, view.exercise
        name, version = view.software
        if exercise is None or info.software_name is not name or info.software_version is not version:
            exercise = self._meet(info, view)
        key = exchange.api_key, exchange.api_version, answered is not None
        pair = exercise.pairs.get(key, _UNDECIDED)
        if pair is _UNDECIDED:
            pair = self._subjects.body_pair(key, exercise, self.coverage)
        if pair is None or not pair.takes(asked, answered, request.time_ns, exchange):
            return False
        if pair.is_watched:
            batches = self._batches.usual(exchange, asked.value)
            if batches is None:
                return False
            pair.batches += batches
        pair.count(request, response)
        self._passed(exchange, view, request, response)
        return True

    def _meet(self, info: ConnectionInfo, view: JudgedConnection) -> Exercise:
        """What counts for the software of a connection, as far as that is known."""
        view.exercise = self.coverage.exercises.at(info)
        view.software = info.software_name, info.software_version
        return view.exercise

    def _passed(
        self, exchange: Exchange, view: ConnectionView, request: Frame, response: Frame | None
    ) -> None:
        """`_judged` of an exchange of which no rule spoke."""
        view.pass_by(exchange, request, response)

    def _closely(self, exchange: Exchange, view: ConnectionView, sort: str) -> None:
        """Show an exchange to the rules for its sort."""
        self.coverage.add_exchange(exchange)
        frame = exchange.request or exchange.response
        self._at_ns = 0 if frame is None else frame.time_ns
        self._muted.clear()
        if sort != USUAL or self._subjects.look_at_usual:
            self._headers(exchange, view, sort)
        if exchange.kind is ExchangeKind.KAFKA and not (sort == ODD and _has_bad_header(exchange)):
            self._bodies(exchange, view)
        self._judged(exchange, view)

    def _judged(self, exchange: Exchange, view: ConnectionView) -> None:
        """An exchange was judged; `_muted` are the codes that must not speak of it any more."""
        view.end(exchange, self._muted)

    def _headers(self, exchange: Exchange, view: ConnectionView, sort: str) -> None:
        muted = self._muted
        settled = True
        for rule, is_suspect in self._subjects.exchange_checks(exchange, sort):
            if muted and rule.code in muted:
                self.coverage.pass_over(rule.code)
            elif is_suspect(exchange, view):
                settled = False
                self._speak_all(rule, rule.check(exchange, view), view, exchange)
        if settled and sort == UNUSUAL:
            view.settle(exchange)

    def _bodies(self, exchange: Exchange, view: ConnectionView) -> None:
        request, response = exchange.bodies_cache or exchange.bodies()
        asked = None
        if request is not None:
            asked = Body(exchange, REQUEST, request)
            self._body(asked, view)
        if response is not None and not self._is_free(exchange, response):
            self._body(Body(exchange, RESPONSE, response, asked), view)

    def _is_free(self, exchange: Exchange, response: Decoded) -> bool:
        """Whether no rule looks at a response, as it is plain and others like it were seen; counts it."""
        looked_at = self.coverage.exercises.now
        kind = looked_at.kinds.get((exchange.api_key, RESPONSE, response.version))
        if kind is None or not kind.is_free or self._subjects.open_node_rules:
            return False
        if exchange.api_key == API_VERSIONS:
            return False
        if not (response.is_plain and response.fits):
            return False
        if self._at_ns <= kind.first_ns and kind.is_first(exchange):
            return False
        kind.bodies += 1
        looked_at.bodies += 1
        return True

    def _body(self, body: Body, view: ConnectionView) -> None:
        # Hot, twice an exchange.
        exchange, side, is_plain = body.exchange, body.side, body.is_plain
        looked_at = self.coverage.exercises.now
        looked_at.bodies += 1
        if not body.fits:
            self._misfit(body, body.error or _left_over(body), view)
            return
        kind = looked_at.kinds.get((exchange.api_key, side, body.version)) or self._subjects.body_kind(
            exchange, side, body.version, looked_at
        )
        kind.bodies += 1
        muted = self._muted
        for rule, is_suspect in kind.plain_checks if is_plain else kind.checks:
            if (muted and rule.code in muted) or (rule.refusable and not has_no_error(body)):
                self.coverage.pass_over(rule.code)
            elif is_suspect(body):
                self._speak_all(rule, rule.check(body), view, exchange)
        if not is_plain or self._subjects.open_node_rules or self._at_ns <= kind.first_ns:
            self._all_pieces(body, kind, view)
        if kind.is_watched:
            for batch_rule, fault in self._batches.faults(body):
                self._speak(batch_rule, fault, view, exchange)
        if exchange.api_key == API_VERSIONS and side == RESPONSE:
            view.learn_versions(exchange, body.value)

    def _all_pieces(self, body: Body, kind: BodyKind, view: ConnectionView) -> None:
        """Show a body's pieces: of plain bodies of a kind the first stands for all, but to open rules."""
        if self._subjects.open_node_rules:
            self._pieces(body, self._subjects.open_node_rules, view)
        if not body.is_plain:
            self._pieces(body, self._subjects.node_rules, view)
        elif self._at_ns <= kind.first_ns and kind.is_first(body.exchange):
            kind.lead(body.exchange)
            with self.coverage.aside(kind.pieces):
                self._pieces(body, self._subjects.node_rules, view)

    def _misfit(self, body: Body, error: DecodeError, view: ConnectionView) -> None:
        """The first rule that explains the bytes has the word."""
        for rule in self._subjects.misfit_rules:
            if error.kind not in rule.kinds:
                continue
            if self._apply(rule, view, body.exchange, rule.check(body, error)):
                return

    def _pieces(self, body: Body, by_sort: NodeRules, view: ConnectionView) -> None:
        for sort, node, path in pieces.pieces(body.tree):
            for rule in by_sort.get(sort, ()):
                self.coverage.exercise(rule.code)
                for found in rule.check(node, body):
                    fault = found._replace(path=path, start=node.start, end=node.end, side=body.side)
                    self._speak(rule, fault, view, body.exchange)

    # histories

    def _facts(self, facts: Sequence[Fact], event: Exchange | None) -> None:
        """Judge what the histories found; `event` is the exchange that completed it, most of the time."""
        by_kind = self._subjects.fact_rules
        pairs = [(fact, rule) for fact in facts for rule in by_kind.get(_kind(fact), ())]
        shadowed = {(_place(fact), code) for fact, rule in pairs if fact.sure for code in rule.shadows}
        for fact, rule in pairs:
            found = self._views.get(fact.evidence.connection)
            if found is None:  # the connection is over, and what is left of it unsure
                self.inconclusive[rule.code, "the connection was over"] += 1
            elif (_place(fact), rule.code) not in shadowed:
                self._fact(rule, fact, found, event)

    def _fact(self, rule: FactRule, fact: Fact, view: ConnectionView, event: Exchange | None) -> None:
        ordinal = fact.evidence.ordinal
        self.coverage.at(view.info)
        self._muted = set(view.shadowed.get(ordinal, ()))
        is_own = event is not None and (event.connection.id, event.ordinal) == _place(fact)
        self._apply(rule, view, event if is_own else view.recent(ordinal), rule.check(fact))

    def _problems(self, found: Iterable[ConnectionProblem]) -> None:
        """Judge connections that came to nothing."""
        for one in found:
            for rule in self._subjects.problem_rules.get(one.problem.reason, ()) if one.is_kafka else ():
                self.coverage.at(one.connection)
                self._muted.clear()
                view = ConnectionView(one.connection, self._large, self._recent)
                self._apply(rule, view, None, rule.check(one))

    # verdicts

    def _apply(
        self, rule: Rule, view: ConnectionView, exchange: Exchange | None, faults: Iterable[Fault]
    ) -> bool:
        """Run one check; whether it spoke."""
        if rule.code in self._muted:
            return False
        self.coverage.exercise(rule.code)
        return self._speak_all(rule, faults, view, exchange)

    def _speak_all(
        self, rule: Rule, faults: Iterable[Fault], view: ConnectionView, exchange: Exchange | None
    ) -> bool:
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
            view.spoken |= {rule.code}
        found = told(rule, fault, view.info, exchange, self._labels)
        if self.who is not None and found.party.role is not self.who:
            return
        if self.findings.repeats(found.key, found.time_ns):
            if self._counted is not None:
                self._counted.append(found)
        else:
            self._counted = None
            self.findings.add(rule, finding_of(rule, fault, view.info, exchange, found))


def _lacking(rule: Rule, view: ConnectionView) -> str:
    """What the capture lacks for a rule to be sure; empty: nothing."""
    if rule.needs_start and view.info.middle_start:
        return "the connection began before the capture"
    if rule.needs_whole and not view.is_whole:
        return "bytes of the connection are missing from the capture"
    if isinstance(rule, MisfitRule) and view.is_half:
        return "who is the client is a guess: one direction of a connection that began before"
    return ""


def _kind(fact: Fact) -> tuple[type, StrEnum]:
    """Kinds of different machines may have one name, and are equal then."""
    return type(fact.kind), fact.kind


def _is_as_due(exchange: Exchange) -> bool:
    """Whether the answer came, or none was due and its connection went on."""
    if exchange.state is State.COMPLETE:
        return True
    return exchange.state is State.NO_RESPONSE_EXPECTED and exchange.close is None


def _place(fact: Fact) -> tuple[str, int]:
    return fact.evidence.connection, fact.evidence.ordinal


def _has_bad_header(exchange: Exchange) -> bool:
    return any(anomaly.kind is AnomalyKind.MALFORMED_HEADER for anomaly in exchange.anomalies or ())


def _left_over(body: Body) -> DecodeError:
    left = len(body.data) - body.end
    return DecodeError(body.message.name, body.end, f"{plural(left, 'byte')} left over", FaultKind.LEFT_OVER)
