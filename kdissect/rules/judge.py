"""Drives the rules over what the analyzer reports.

Rules of the game:
- Exchanges of a connection are judged in the order of their requests (`history.stream_order`).
- Capture quality first: cut frames are not judged as bodies. A rule that needs the start of the connection,
  or all of it, is inconclusive if the capture lacks that.
- One cause, one finding: a header that does not fit silences the body, a body that does not fit silences
  its values, and a rule silences those it overrides, for the same exchange. The registry has the order.
- An API or version that the schema does not know is not judged. Nor is the body of a response whose request
  was not captured: its API is inferred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.history.connections.negotiated_versions import VersionFact
from kdissect.history.fact import Fact
from kdissect.history.history import History
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.finding import Who
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.model.packets.packet import NEVER_NS
from kdissect.model.wording import plural
from kdissect.rules.finding_evidence import Occurrence, finding_of, has_no_error, occurrence_of, party_of
from kdissect.rules.findings import FindingLog, key_from
from kdissect.rules.framing.frame_size import SizeOffByOne
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.judging.batch_judge import BatchJudge
from kdissect.rules.judging.body_guards import EVERY
from kdissect.rules.judging.body_kind import BodyKind
from kdissect.rules.judging.judged_connection import JudgedConnection
from kdissect.rules.judging.repeated import LOOKS_EVERY, Before, Outcome, Repeated, outcome_of
from kdissect.rules.judging.rule_index import Subjects
from kdissect.rules.judging.shown_bodies import NodeRules, ShownBodies, ShownExchange
from kdissect.rules.kinds import BodyRule, ExchangeRule, FactRule, UndecodableRule
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import REQUEST, RESPONSE, Once, Rule, Violation
from kdissect.rules.run_coverage.coverage import Coverage
from kdissect.rules.run_coverage.rule_coverage import Exercise
from kdissect.rules.views import pieces
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.connection_view import API_VERSIONS, ConnectionView, Misfit
from kdissect.rules.views.doubt import Doubt
from kdissect.rules.views.kept_exchanges import LargeExchanges, RecentExchanges
from kdissect.schema.domains import is_inside
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange, ExchangeKind
from kdissect.session.info import ConnectionInfo, ConnectionKind

if TYPE_CHECKING:
    from kdissect.rules.judging.schema_judge import SchemaJudge, ValuesOf
    from kdissect.rules.judging.unmarked_rows import UnmarkedRows

HELD_FACTS = 1000  # that wait for the end of a connection, each with its exchange
_MISREAD = frozenset({AnomalyKind.MALFORMED_HEADER, AnomalyKind.INFERRED_API})
_IRREGULAR = int(ExchangeFact.ANOMALY | ExchangeFact.NOT_ANSWERED | ExchangeFact.ID_NOT_HIGHEST)
"""Exchanges of which more is stored than `ConnectionView.pass_by` stores, for every choice of rules."""


class Shown(NamedTuple):
    """Rules about exchanges that an exchange needs, and rules about its marked bodies."""

    rules: tuple[ExchangeRule, ...]
    bodies: ShownExchange | None
    marks: int


class _Held(NamedTuple):
    """A fact that is judged at the end of its exchange's connection."""

    rule: FactRule
    fact: Fact
    view: ConnectionView
    exchange: Exchange | None
    suppressed: set[str]


class Judge:
    """Feed it every event with `add`; `findings`, `inconclusive` and `coverage` hold what came of it.

    `rules` in the order of the registry; `judge` leaves out findings about the other end; `labels` name ends
    by address, host or role. `machines` are the histories in use; None: all. Without `guards` every rule
    receives every subject, which takes longer and has an equal result. `values_of` returns what reads keys
    and values for the rules about their schemas.
    """

    def __init__(
        self,
        rules: Sequence[Rule] = ALL_RULES,
        judge: Who | None = None,
        labels: Mapping[str, str] | None = None,
        machines: Collection[str] | None = None,
        *,
        guards: bool = True,
        values_of: ValuesOf | None = None,
    ) -> None:
        self.rules = rules
        self.findings = FindingLog()
        self.inconclusive: Counter[tuple[str, str]] = Counter()
        """Rule code and reason -> how often."""
        self.coverage = Coverage(labels)
        self.who = judge
        """The end whose bytes are judged. None: both ends."""
        self._guards = guards
        self._labels = labels or {}
        self._views: dict[str, JudgedConnection] = {}
        self._large = LargeExchanges()
        has_fact_rules = any(isinstance(rule, FactRule) for rule in rules)
        self._recent = RecentExchanges(self._rest, self._rest_lent, are_read=has_fact_rules)
        self._suppressed: set[str] = set()  # codes suppressed for the exchange being judged
        self._held: dict[str, list[_Held]] = {}  # by connection
        self._held_facts = 0
        self._at_ns = 0  # its time
        self._silent: Exchange | None = None  # the one judged last, if no rule spoke of it or passed it over
        self._counted: list[Occurrence] | None = None  # of a repeated exchange, if it has no finding
        self._subjects = Subjects(rules, guards=guards)
        self._history = History(machines, increments=False)  # no rule speaks of them
        self._batches = BatchJudge(rules, self.coverage, guards=guards)
        self.coverage.batch_codes = self._batches.codes_by_api()
        self._unmarked: UnmarkedRows | None = None
        self._values: SchemaJudge | None = None
        if values_of is not None:
            from kdissect.rules.judging.schema_judge import SchemaJudge  # start-up: of --schemas

            self._values = SchemaJudge(rules, values_of)

    # events

    def add(self, event: Event) -> None:
        """Judge what an event completes, of traffic that two capture sets have in one of them only."""
        info = event.connection
        if info.same_as is not None:
            return
        if isinstance(event, Exchange):
            if self._unmarked is not None:
                self._unmarked.give_back(info)
            self._add_exchange(event)
            if self._values is not None:
                self._values.add(event, self.coverage)
        elif isinstance(event, ConnectionClosed):
            if self._unmarked is not None:
                self._unmarked.forget(info)
            # The judge has no results for other kinds.
            due, facts = self._history.take(event) if info.kind is ConnectionKind.KAFKA else ([], [])
            self._facts(facts, None)
            self._close(event, due)
            self._release(info.id)
            self._problems(self._history.close(event))

    def _add_exchange(self, exchange: Exchange) -> None:
        exchange.bodies()  # decoded for the histories too
        view = self._views.get(exchange.connection.id) or self._view(exchange.connection)
        repeated = view.repeated
        if repeated is not None and not view.is_again(exchange):
            repeated = None
        before = None if repeated is None else view.previous
        due, facts = self._history.take_exchange(exchange, before if isinstance(before, Exchange) else None)
        if len(due) != 1 or due[0] is not exchange:
            repeated = None
        for each in due:
            self._exchange(each, view, repeated)
            if each is not exchange:
                each.forget_bodies()
        if self._unmarked is not None and self._silent is exchange:
            self._unmarked.note(exchange)
        self._silent = None
        if facts:
            self._facts(facts, exchange)
        exchange.bodies_cache = exchange.batches_cache = None  # `forget_bodies`, also if it is buffered

    def take_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Judge exchanges of a block from `start` on, as long as they have no findings and no facts.

        Return the number of the next one for `add`, or the block's length. Compiled only.
        """
        if not self._guards or self._values is not None:
            return start
        if self._unmarked is None:
            # Imported here: Python alone has no blocks.
            from kdissect.rules.judging.repeated_offers import RepeatedOffers
            from kdissect.rules.judging.unmarked_rows import UnmarkedRows

            offers = RepeatedOffers(self._history, self._subjects, self._view, self._knows_offer, self._facts)
            parts = self._views, self._subjects, self._history, self._batches, self.coverage, self._recent
            counts = self._repeats, self._count, self._repeated
            self._unmarked = UnmarkedRows(*parts, offers, self._pass_facts, *counts)
        return self._unmarked.take(block, start)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the block reader, which another process creates again."""
        self._settle()
        return self.__dict__ | {"_unmarked": None}

    def _rest_lent(self, views: list[ConnectionView], turn: int) -> list[int]:
        """Reduce the state of connections in blocks, except connections that were active from a turn on, and
        return the last turns of some.
        """
        return [] if self._unmarked is None else self._unmarked.rest(views, turn)

    def _settle(self) -> None:
        """Have all connections as they are now, which blocks went on with, and count what passed."""
        if self._unmarked is not None:
            self._unmarked.finish()

    def finish(self) -> None:
        """End the input: judge connections without an end as they are."""
        self._settle()
        due, facts = self._history.take_rest()
        for exchange in due:
            self._exchange(exchange, self._view(exchange.connection))
            exchange.forget_bodies()
        self._facts(facts, None)
        for connection in list(self._held):
            self._release(connection)
        for view in self._views.values():
            self._report_misfits(view)
            self._say_silence(view)
        self._problems(self._history.take_problems())
        if self._values is not None:
            self._values.finish(self.findings, self.who, self._labels)
        self._views.clear()
        self.coverage.finish(self._subjects.exchange_rules, self._subjects.undecodable_rules)

    def _view(self, info: ConnectionInfo) -> JudgedConnection:
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
            return  # no part of it was judged
        view = self._views.pop(info.id, None) or JudgedConnection(info, self._large, self._recent)
        for exchange in due:
            self._exchange(exchange, view)
            exchange.forget_bodies()
        self.coverage.at(info)
        self._suppressed.clear()
        for rule in self._subjects.connection_rules:
            spoke = self._apply(rule, view, None, rule.check(view))
            if spoke and isinstance(rule, SizeOffByOne) and not _lacking(rule, view):
                view.misfits = ()  # one cause, one finding
        self._report_misfits(view)
        self._say_silence(view)
        self.coverage.exercises.close(info)
        self._large.forget(info.id)
        self._recent.forget(info.id)

    def _say_silence(self, view: ConnectionView) -> None:
        """Add to findings about a wrong response that the client sent no more requests after it, if that is
        so.
        """
        doubt = view.doubt
        silence = doubt.silence(view.info.close) if doubt is not None and view.is_whole else ""
        if doubt is not None and silence:
            self.findings.add_consequence(doubt.said, (view.info.id, doubt.ordinal), silence)

    # exchanges

    def _exchange(self, exchange: Exchange, view: JudgedConnection, repeated: Repeated | None = None) -> None:
        """Judge the next exchange; `repeated` if it repeats the one before."""
        view.begin(exchange)
        in_doubt = view.doubt is not None and view.hear_in_doubt(exchange, view.doubt)
        if in_doubt:
            repeated = None
        view.repeated = repeated
        if repeated is not None and repeated.outcome is not None and repeated.outcome.holds(exchange, view):
            self._count_again(exchange, view, repeated.outcome)
            return
        facts = view.facts(exchange)
        rules = self._subjects.exchange_rules_of(exchange, facts)
        if rules and view.spoken:
            rules = tuple(rule for rule in rules if rule.code not in view.spoken)
        shown = self._subjects.shown(exchange)
        marks = EVERY if shown is None or not self._guards else shown.guards.marks(exchange)
        silent = 0 if shown is None else shown.silent
        what = Shown(rules, shown, marks)
        is_ordinary = not (in_doubt or marks & ~silent or facts & _IRREGULAR)
        if is_ordinary and self._passes(exchange, view, what):
            return
        if repeated is None:
            self._closely(exchange, view, what)
            view.repeated = Repeated()
        else:
            self._again(exchange, view, what, repeated)

    def _again(self, exchange: Exchange, view: JudgedConnection, what: Shown, repeated: Repeated) -> None:
        """Judge a repeated exchange, and note its results once in a while."""
        repeated.times += 1
        if repeated.times % LOOKS_EVERY:
            self._closely(exchange, view, what)
            return
        before = Before(self.coverage.exercises.at(view.info), self.inconclusive, view)
        noted: list[Occurrence] = []
        self._counted = noted
        self._closely(exchange, view, what)
        if self._counted is noted:
            repeated.outcome = outcome_of(exchange, view, before, self.inconclusive, noted, self._suppressed)
        self._counted = None

    def _count_again(self, exchange: Exchange, view: ConnectionView, outcome: Outcome) -> None:
        """Count the results of the exchange before for this one, too."""
        outcome.count(exchange, self.coverage, self.findings)
        self._suppressed = set(outcome.suppressed)
        if outcome.has_ranges and exchange.response is not None:
            view.learn_again(exchange.response)
        if outcome.is_refusal and view.refusal is not None:
            view.refusal = view.refusal._replace(ordinal=exchange.ordinal)
        self._judged(exchange, view)

    def _passes(self, exchange: Exchange, view: JudgedConnection, what: Shown) -> bool:
        """Return whether no rule needs an exchange: the marks of its bodies concern none, and rules that
        receive it find nothing. Count it then.
        """
        # Hot, once an exchange.
        subjects, (rules, shown, marks) = self._subjects, what
        if shown is None or subjects.open_node_rules:
            return False
        asked, answered = exchange.bodies_cache or exchange.bodies()
        request, response = exchange.request, exchange.response
        if asked is None or request is None or (answered is None and response is not None):
            return False
        if not asked.fits or (
            answered is not None and not (answered.fits and answered.version == asked.version)
        ):
            return False
        if marks and not (asked.is_canonical and (answered is None or answered.is_canonical)):
            return False
        info, exercise = view.info, view.exercise
        name, version = view.software
        if exercise is None or info.software_name is not name or info.software_version is not version:
            exercise = self._meet(info, view)
        key = exchange.api_key, exchange.api_version, answered is not None, marks
        pair = exercise.pairs.get(key) or subjects.body_pair(key, exercise, self.coverage)
        if pair is None or pair.is_first(request.time_ns):
            return False
        if (rules or not shown.is_guarded) and self._finds(exchange, view, rules, shown):
            return False
        if pair.is_watched:
            batches = self._batches.passes(exchange, asked.value)
            if batches is None:
                return False
            pair.batches += batches
        pair.count(request, response)
        self._passed(exchange, view, request, response)
        return True

    def _finds(
        self,
        exchange: Exchange,
        view: ConnectionView,
        rules: Sequence[ExchangeRule],
        shown: ShownExchange,
    ) -> bool:
        """Return whether the judge must look closely because of a rule that receives an exchange without a
        mark.
        """
        if view.misplaced_end is not None or view.misfits:
            return True
        return any(rule.finds(exchange, view) for rule in rules) or shown.faults(exchange) != []

    def _meet(self, info: ConnectionInfo, view: JudgedConnection) -> Exercise:
        """Return the counts for the software of a connection, as far as that is known."""
        view.exercise = self.coverage.exercises.at(info)
        view.software = info.software_name, info.software_version
        return view.exercise

    def _passed(
        self, exchange: Exchange, view: ConnectionView, request: Frame, response: Frame | None
    ) -> None:
        """Do `_judged` for an exchange without a finding, whose bodies fit."""
        answered = exchange.bodies()[1]
        if exchange.api_key == API_VERSIONS and answered is not None:
            view.learn_versions(exchange, answered.value)
        self._silent = exchange
        view.pass_by(exchange, request, response)

    def _closely(self, exchange: Exchange, view: ConnectionView, what: Shown) -> None:
        """Show an exchange to its rules, and its bodies to the rules whose guards mark them."""
        self.coverage.add_exchange(exchange)
        self._silent = exchange
        frame = exchange.request or exchange.response
        self._at_ns = 0 if frame is None else frame.time_ns
        self._suppressed.clear()
        for rule in what.rules:
            if rule.code not in self._suppressed:
                self._speak_all(rule, rule.check(exchange, view), view, exchange)
        if exchange.kind is ExchangeKind.KAFKA and not _is_misread(exchange):
            self._bodies(exchange, view, what.bodies, what.marks)
        self._judged(exchange, view)

    def _judged(self, exchange: Exchange, view: ConnectionView) -> None:
        """Note that an exchange was judged; `_suppressed` are the codes that must not report it any more."""
        hides_facts = view.doubt is not None and view.doubt.hides_facts
        view.end(exchange, self._subjects.fact_codes if hides_facts else self._suppressed)
        if view.misfits and view.misplaced_end is None:
            self._report_misfits(view)

    def _report_misfits(self, view: ConnectionView) -> None:
        """Report what the size of a frame might have explained, and does not."""
        misfits, view.misfits = view.misfits, ()
        for rule in self._subjects.undecodable_rules if misfits else ():
            for misfit in misfits:
                if misfit.code != rule.code:
                    continue
                if misfit.finding is None:
                    self.findings.repeats(misfit.key, misfit.time_ns)
                else:
                    self.findings.add(rule, misfit.finding)

    def _bodies(
        self, exchange: Exchange, view: ConnectionView, shown: ShownExchange | None, marks: int
    ) -> None:
        request, response = exchange.bodies_cache or exchange.bodies()
        if shown is None:
            return
        asked = None
        if request is not None:
            asked = Body(exchange, REQUEST, request)
            self._body(asked, view, shown.sides[0], marks)
        if response is not None:
            self._body(Body(exchange, RESPONSE, response, asked), view, shown.sides[1], marks)

    def _body(self, body: Body, view: ConnectionView, shown: ShownBodies, marks: int) -> None:
        # Hot, twice an exchange.
        exchange, side = body.exchange, body.side
        looked_at = self.coverage.exercises.now
        looked_at.bodies += 1
        if not body.fits:
            self._undecodable(body, body.error or _left_over(body), view)
            return
        key = exchange.api_key, side, body.version, marks & shown.silent
        kind = looked_at.kinds.get(key) or self._subjects.body_kind(key, looked_at)
        kind.bodies += 1
        suppressed = self._suppressed
        body_rules, node_rules = shown.shown(marks)
        for rule in body_rules:
            if (suppressed and rule.code in suppressed) or (rule.refusable and not has_no_error(body)):
                self._silent = None
                self.coverage.pass_over(rule.code)
            else:
                self._speak_all(rule, rule.check(body), view, exchange)
        if suppressed:  # rarely
            self._pass_over_unmarked(shown, {rule.code for rule in body_rules})
        if node_rules or self._subjects.open_node_rules or self._at_ns <= kind.first_ns:
            self._all_pieces(body, kind, view, node_rules)
        if kind.is_watched:
            for batch_rule, fault in self._batches.faults(body):
                self._speak(batch_rule, fault, view, exchange)
        if exchange.api_key == API_VERSIONS and side == RESPONSE:
            view.learn_versions(exchange, body.value)

    def _pass_over_unmarked(self, shown: ShownBodies, marked: set[str]) -> None:
        """Without guards, what must not speak any more would be passed over whether it is marked or not."""
        for rule in shown.shown(EVERY)[0]:
            if rule.code in self._suppressed and rule.code not in marked:
                self.coverage.pass_over(rule.code)

    def _all_pieces(self, body: Body, kind: BodyKind, view: ConnectionView, marked: NodeRules) -> None:
        """Show a body's pieces. For the counts, the first body of a kind that none of these rules receives
        represents all such bodies, and all rules with guards check a body that some of them receive.
        """
        subjects = self._subjects
        if subjects.open_node_rules:
            self._pieces(body, subjects.open_node_rules, subjects.open_node_rules, view)
        if marked or not body.is_canonical:
            self._pieces(body, subjects.node_rules, marked, view)
        elif self._at_ns <= kind.first_ns and kind.is_first(body.exchange):
            kind.lead(body.exchange)
            with self.coverage.aside(kind.pieces):
                self._pieces(body, subjects.node_rules, marked, view)

    def _undecodable(self, body: Body, error: DecodeError, view: ConnectionView) -> None:
        """Apply the rules until one explains the bytes, and report its finding."""
        view.note_misfit(body)
        for rule in self._subjects.undecodable_rules:
            if error.kind not in rule.kinds:
                continue
            if self._apply(rule, view, body.exchange, rule.check(body, error)):
                return

    def _pieces(self, body: Body, counted: NodeRules, asked: NodeRules, view: ConnectionView) -> None:
        if not asked and body.is_canonical:
            self._exercise(counted, pieces.piece_counts(body.message, body.version).of(body.value).items())
            return
        often: dict[str, int] = {}
        message = body.message.name
        for sort, node, path in pieces.pieces(body.tree):
            often[sort] = often.get(sort, 0) + 1
            if sort == pieces.NUMBER and is_inside(message, node.field, node.value):
                continue  # several rules divide the meanings among them, and each only checks its own
            for rule in asked.get(sort, ()):
                for found in rule.check(node, body):
                    fault = found._replace(path=path, start=node.start, end=node.end, side=body.side)
                    self._speak(rule, fault, view, body.exchange)
        self._exercise(counted, often.items())

    def _exercise(self, counted: NodeRules, sorts: Iterable[tuple[str, int]]) -> None:
        for sort, often in sorts:
            for rule in counted.get(sort, ()):
                self.coverage.exercise(rule.code, often)

    # histories

    def _facts(self, facts: Sequence[Fact], event: Exchange | None) -> None:
        """Judge what the histories found; `event` is the exchange that completed it, most of the time."""
        by_kind = self._subjects.fact_rules
        pairs = [(fact, rule) for fact in facts for rule in by_kind.get(_kind(fact), ())]
        suppressed = {(_place(fact), code) for fact, rule in pairs if fact.sure for code in rule.overrides}
        for fact, rule in pairs:
            found = self._views.get(fact.evidence.connection)
            if found is None:  # the connection is over, and what is left of it unsure
                self.inconclusive[rule.code, "the connection was over"] += 1
            elif (_place(fact), rule.code) not in suppressed:
                self._fact(rule, fact, found, event)

    def _pass_facts(self, facts: Sequence[Fact], exchange: Exchange) -> bool:
        """Return whether no rule is about the facts that a row completed."""
        by_kind = self._subjects.fact_rules
        return not any(_kind(fact) in by_kind for fact in facts)

    def _repeats(
        self, exchange: Exchange, view: ConnectionView, faults: Sequence[tuple[Rule, Violation]]
    ) -> list[Occurrence] | None:
        """Return the occurrences to count if the faults of a row only increase counts, and concern nothing
        else. None: it must be added.
        """
        if view.doubt is not None:
            return None
        found = []
        for rule, fault in faults:
            if not rule.stands_alone or fault.inconclusive or _lacking(rule, view):
                return None
            one = occurrence_of(rule, fault, view.info, exchange, self._labels)
            if self.who is not None and one.party.role is not self.who:
                continue
            if not self.findings.would_repeat(one.key, one.time_ns):
                return None
            found.append(one)
        return found

    def _count(self, _exchange: Exchange, occurrences: Iterable[Occurrence]) -> None:
        """Count the faults of a row that only increase counts."""
        for one in occurrences:
            self.findings.repeats(one.key, one.time_ns)

    def _repeated(
        self, view: ConnectionView, rules: Iterable[BodyRule], kind: tuple[int, int]
    ) -> tuple[int, Callable[[int, int], None]] | None:
        """Return what counts further faults of these exact rules in responses of a kind (API key and
        version), and the time of the response after which they only increase counts. None: each must be
        looked at.
        """
        if view.doubt is not None:
            return None
        party, keys = party_of(view.info, Who.BROKER, self._labels), []
        for rule in rules:
            if not rule.stands_alone or _lacking(rule, view):
                return None
            if self.who in (None, Who.BROKER):
                keys.append(key_from(rule.once, rule.code, rule.claim, party, (*kind, RESPONSE, ""), "", ""))
        after_ns = [self.findings.repeats_after(key) for key in keys]
        known_ns = [time_ns for time_ns in after_ns if time_ns is not None]
        if len(known_ns) < len(keys):
            return None

        def count(times: int, last_ns: int) -> None:
            for key in keys:
                self.findings.count(key, times, last_ns)

        return max(known_ns, default=NEVER_NS), count

    def _knows_offer(self, info: ConnectionInfo, answer: Any) -> bool:
        """Return whether no rule is about the versions that a response offers, by its values."""
        return (VersionFact, VersionFact.OFFERED) not in self._subjects.fact_rules

    def _fact(self, rule: FactRule, fact: Fact, view: ConnectionView, event: Exchange | None) -> None:
        ordinal = fact.evidence.ordinal
        if self._unmarked is not None:
            self._unmarked.give_back(view.info)
        self.coverage.at(view.info)
        self._suppressed = set(view.suppressed.get(ordinal, ()))
        is_own = event is not None and (event.connection.id, event.ordinal) == _place(fact)
        exchange = event if is_own else view.recent(ordinal)
        if self._is_early(rule, fact):
            if rule.code not in self._suppressed:
                self._hold(_Held(rule, fact, view, exchange, self._suppressed))
            return
        self._apply(rule, view, exchange, rule.check(fact))

    def _is_early(self, rule: FactRule, fact: Fact) -> bool:
        """Return whether a connection that may explain a fact, by what of it was lost, is not over yet."""
        if fact.earlier is None or not (rule.awaits_end and fact.sure):
            return False
        connection = fact.earlier.connection
        return connection != fact.evidence.connection and connection in self._views

    def _hold(self, held: _Held) -> None:
        self.coverage.exercise(held.rule.code)
        if self._held_facts >= HELD_FACTS:
            self.inconclusive[held.rule.code, "too many findings wait for the end of a connection"] += 1
            return
        assert held.fact.earlier is not None  # `_is_early`
        self._held_facts += 1
        self._held.setdefault(held.fact.earlier.connection, []).append(held)

    def _release(self, connection: str) -> None:
        """Release the facts of a connection that is over, or whose input is: its lost bytes are known."""
        for rule, fact, view, exchange, suppressed in self._held.pop(connection, ()):
            self._held_facts -= 1
            self._suppressed = suppressed
            is_sure = not self._history.is_holed(view.info.capture_set)
            self._speak_all(rule, rule.check(fact._replace(sure=is_sure)), view, exchange)

    def _problems(self, found: Iterable[ConnectionProblem]) -> None:
        """Judge failed connections."""
        for one in found:
            for rule in self._subjects.problem_rules.get(one.problem.reason, ()) if one.is_kafka else ():
                self.coverage.at(one.connection)
                self._suppressed.clear()
                view = ConnectionView(one.connection, self._large, self._recent)
                self._apply(rule, view, None, rule.check(one))

    # verdicts

    def _apply(
        self, rule: Rule, view: ConnectionView, exchange: Exchange | None, faults: Iterable[Violation]
    ) -> bool:
        """Run one check, and return whether it found a fault."""
        if rule.code in self._suppressed:
            return False
        self.coverage.exercise(rule.code)
        return self._speak_all(rule, faults, view, exchange)

    def _speak_all(
        self, rule: Rule, faults: Iterable[Violation], view: ConnectionView, exchange: Exchange | None
    ) -> bool:
        spoke = False
        for fault in faults:
            spoke = True
            self._speak(rule, fault, view, exchange)
        return spoke

    def _speak(self, rule: Rule, fault: Violation, view: ConnectionView, exchange: Exchange | None) -> None:
        self._silent = None
        why = fault.inconclusive or _lacking(rule, view)
        if why:
            self.inconclusive[rule.code, why] += 1
            if fault.inconclusive and rule.misleads and exchange is not None:
                view.hide_facts(exchange)
            return
        if rule.code in self._suppressed or rule.code in view.spoken:
            return
        found = occurrence_of(rule, fault, view.info, exchange, self._labels)
        if view.doubt is not None and _is_in_doubt(rule, view.doubt, exchange, found):
            self.inconclusive[rule.code, "frames may be read at wrong positions, after a wrong frame"] += 1
            return
        self._suppressed.update(rule.overrides)
        if rule.once == Once.CONNECTION:
            view.spoken |= {rule.code}
        if exchange is not None:
            _raise_doubt(rule, view, exchange, found)
        if self.who is not None and found.party.role is not self.who:
            return
        self._keep_finding(rule, fault, view, exchange, found)

    def _keep_finding(
        self, rule: Rule, fault: Violation, view: ConnectionView, exchange: Exchange | None, found: Occurrence
    ) -> None:
        """Make and store the finding of a fault, or count it."""
        if isinstance(rule, UndecodableRule) and view.is_size_in_question(exchange):
            self._counted = None
            is_repeated = self.findings.would_repeat(found.key, found.time_ns)
            made = None if is_repeated else finding_of(rule, fault, view.info, exchange, found)
            view.misfits = (*view.misfits, Misfit(rule.code, found.key, found.time_ns, made))
        elif self.findings.repeats(found.key, found.time_ns):
            if self._counted is not None:
                self._counted.append(found)
        else:
            self._counted = None
            self.findings.add(rule, finding_of(rule, fault, view.info, exchange, found))


def _lacking(rule: Rule, view: ConnectionView) -> str:
    """Return the part of the capture that a rule lacks to be sure, or an empty text."""
    if rule.needs_start and view.info.middle_start:
        return "the connection began before the capture"
    if rule.needs_whole and not view.is_whole:
        return "bytes of the connection are missing from the capture"
    if isinstance(rule, UndecodableRule) and view.is_half:
        return "who is the client is a guess: one direction of a connection that began before"
    return ""


def _raise_doubt(rule: Rule, view: ConnectionView, exchange: Exchange, found: Occurrence) -> None:
    """Note that a frame is wrong, if a rule says so."""
    if rule.misleads or rule.confuses or isinstance(rule, UndecodableRule):
        view.raise_doubt(
            found.party.role, exchange, found.key, is_no_frame=rule.misleads, is_sound=rule.confuses
        )


def _is_in_doubt(rule: Rule, doubt: Doubt, exchange: Exchange | None, found: Occurrence) -> bool:
    """Return whether a frame that is wrong may explain a later fault.

    Facts are silenced with their exchange.
    """
    if exchange is None or isinstance(rule, FactRule):
        return False
    return doubt.hides(exchange, found.party.role, found.side)


def _kind(fact: Fact) -> tuple[type, StrEnum]:
    """Kinds of different machines may have one name, and are equal then."""
    return type(fact.kind), fact.kind


def _place(fact: Fact) -> tuple[str, int]:
    return fact.evidence.connection, fact.evidence.ordinal


def _is_misread(exchange: Exchange) -> bool:
    """Return whether the type of the bodies is unknown: a header does not fit, or the request of a response
    was not captured, so that its API is inferred.
    """
    return any(anomaly.kind in _MISREAD for anomaly in exchange.anomalies or ())


def _left_over(body: Body) -> DecodeError:
    left = len(body.data) - body.end
    return DecodeError(body.message.name, body.end, f"{plural(left, 'byte')} left over", FaultKind.LEFT_OVER)
