"""A judge that marks the exchanges that a cause may need, while its histories learn.

Of the rules of `check` it applies those about bytes that the other end cannot read (`broken_bytes`).

Exchanges that no guard marks, and about which no machine has a fact, pass as rows (`rules.judging`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, ClassVar

from kdissect.causes.evidence.body_errors import may_name_ids
from kdissect.causes.evidence.broken_bytes import WIRE_RULES, BrokenBytes
from kdissect.causes.evidence.exchange_log import OFTEN_DELIVERED
from kdissect.causes.evidence.facts_read import FACTS, MACHINES
from kdissect.causes.evidence.finalized_features import FinalizedFeatures
from kdissect.history import api_keys as apis
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.history.connections.negotiated_versions import VersionFact
from kdissect.history.fact import Fact
from kdissect.rules.finding_evidence import Occurrence
from kdissect.rules.guards import (
    Above,
    All,
    Exceeds,
    ExchangeFact,
    Guard,
    InRequest,
    LaterThan,
    Longer,
    Not,
    Other,
)
from kdissect.rules.judge import Judge
from kdissect.rules.kinds import BodyRule, ExchangeRule
from kdissect.rules.rule import REQUEST, RESPONSE, Rule, Violation
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.connection_view import LATE_NS, ConnectionView
from kdissect.schema.all_fields import all_fields
from kdissect.schema.protocol_messages import all_apis, response_message
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.times.waited import WAITING

FETCH_LATE_NS = LATE_NS
_MARK = Violation()
_BEGINNINGS = frozenset({apis.PRODUCE, apis.FETCH, apis.METADATA})
"""With a marked one `Gathering` may begin to look at all exchanges."""


def _error_fields() -> tuple[str, ...]:
    """Return the names of all fields that are error codes."""
    fields = (field for api in all_apis() for field in all_fields(api.response))
    return tuple(dict.fromkeys(field.name for field in fields if field.is_error))


@cache
def _is_looked_at(api_key: int) -> bool:
    """Return whether a marked exchange of an API is for who looks at all exchanges in their order: what comes
    after it may concern the cause, too, or names of topics are learned from exchanges before it.
    """
    response = response_message(api_key)
    return api_key in _BEGINNINGS or response is None or may_name_ids(response)


class _Mark(BodyRule):
    """Marks bodies, without findings."""

    def check(self, body: Body) -> Iterable[Violation]:
        """Yield a mark, which is no finding (`WatchingJudge`)."""
        yield _MARK

    def needs_judge(self, body: Body) -> bool:
        """Return whether a marked body is shown in its order."""
        return _is_looked_at(body.exchange.api_key or 0)


class _MarkError(_Mark):
    code, name = "WHY001", "has-error"
    on = tuple((api.name, RESPONSE) for api in all_apis())
    guard: ClassVar[Guard | None] = (Other(_error_fields(), frozenset({0})),)


class _MarkLateFetch(_Mark):
    code, name = "WHY002", "late-fetch"
    on = (("Fetch", RESPONSE),)
    guard: ClassVar[Guard | None] = (LaterThan("max_wait_ms", FETCH_LATE_NS),)


class _MarkHeldReader(_Mark):
    """Marks what consumers get. Brokers that replicate, and voters, do not wait for transactions."""

    code, name = "WHY003", "held-reader"
    on = (("Fetch", RESPONSE),)
    guard: ClassVar[Guard | None] = (
        All(
            (
                Exceeds("high_watermark", "last_stable_offset"),
                Above(("last_stable_offset",), -1),
                InRequest(Not(Above(("replica_id",), -1))),
            )
        ),
    )


class _MarkRack(_Mark):
    code, name = "WHY004", "rack"
    on = (("Fetch", REQUEST),)
    guard: ClassVar[Guard | None] = (Longer(("rack_id",), 0),)


class _MarkCreation(_Mark):
    code, name = "WHY007", "creates-topics"
    on = (("CreateTopics", REQUEST),)
    guard: ClassVar[Guard | None] = (Longer(("topics",), 0),)


class _MarkStatus(_Mark):
    code, name = "WHY008", "group-status"
    on = (("StreamsGroupHeartbeat", RESPONSE),)
    guard: ClassVar[Guard | None] = (Longer(("status",), 0),)


class _MarkChallenge(_Mark):
    code, name = "WHY009", "challenge"
    on = (("SaslAuthenticate", RESPONSE),)
    guard: ClassVar[Guard | None] = (Longer(("auth_bytes",), 0),)


class _MarkQuotas(_Mark):
    code, name = "WHY010", "sets-quotas"
    on = (("AlterClientQuotas", REQUEST),)
    guard: ClassVar[Guard | None] = (Longer(("entries",), 0),)


class _MarkShutdown(_Mark):
    """A guard cannot ask for a boolean."""

    code, name = "WHY011", "shutdown"
    on = (("BrokerHeartbeat", REQUEST), ("ControlledShutdown", REQUEST))

    def check(self, body: Body) -> Iterable[Violation]:
        """Yield a mark if a broker shuts down."""
        if getattr(body.value, "want_shut_down", True):
            yield _MARK


class _MarkRedelivery(_Mark):
    code, name = "WHY012", "redelivery"
    on = (("ShareFetch", RESPONSE),)
    guard: ClassVar[Guard | None] = (Other(("delivery_count",), frozenset(range(1, OFTEN_DELIVERED))),)


class _MarkLeastBytes(_Mark):
    code, name = "WHY013", "least-bytes"
    on = (("Fetch", REQUEST),)
    guard: ClassVar[Guard | None] = (Above((".min_bytes",), 1),)


class _MarkExchange(ExchangeRule):
    """Marks exchanges, without findings."""

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterable[Violation]:
        """Nothing."""
        return ()

    def finds(self, exchange: Exchange, view: ConnectionView) -> bool:
        """Return True: a marked exchange is shown."""
        return True

    def only_marks(self, api_key: int) -> bool:
        """Return whether a marked exchange may be shown before others learn from those before it."""
        return not _is_looked_at(api_key)


class _MarkUnanswered(_MarkExchange):
    """Marks what was not answered."""

    code, name = "WHY005", "not-answered"
    guard = ExchangeFact.NOT_ANSWERED


class _MarkLate(_MarkExchange):
    """Marks late answers of what does not wait on purpose."""

    code, name = "WHY006", "late"
    guard = ExchangeFact.LATE

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Return True for APIs that do not wait on purpose."""
        return api_key not in WAITING


MARKS: tuple[Rule, ...] = (
    _MarkError(),
    _MarkLateFetch(),
    _MarkHeldReader(),
    _MarkRack(),
    _MarkCreation(),
    _MarkStatus(),
    _MarkChallenge(),
    _MarkQuotas(),
    _MarkShutdown(),
    _MarkRedelivery(),
    _MarkLeastBytes(),
    _MarkUnanswered(),
    _MarkLate(),
)


class WatchingJudge(Judge):
    """Reports marked exchanges and exchanges with facts of a machine, the facts, and failed connections."""

    def __init__(
        self,
        show: Callable[[Exchange], bool],
        tell: Callable[[Fact, ConnectionView | None], object],
        report: Callable[[ConnectionProblem], object],
        rules: Sequence[Rule] = (*MARKS, *WIRE_RULES),
    ) -> None:
        super().__init__(rules, machines=MACHINES)
        self.findings = self.broken = BrokenBytes()
        self.features = FinalizedFeatures()
        self._show, self._tell, self._report = show, tell, report

    def is_advertised(self, info: ConnectionInfo) -> bool:
        """Return whether a response that lists brokers names the end of a connection, to whichever client."""
        return self._history.connection_problems.is_advertised(info)

    def _judged(self, exchange: Exchange, view: ConnectionView) -> None:
        super()._judged(exchange, view)
        if self._show(exchange):
            self._silent = None  # the next equal one counts, too

    def _speak(self, rule: Rule, fault: Violation, view: ConnectionView, exchange: Exchange | None) -> None:
        if not isinstance(rule, _Mark):
            super()._speak(rule, fault, view, exchange)

    def _repeats(
        self, exchange: Exchange, view: ConnectionView, faults: Sequence[tuple[Rule, Violation]]
    ) -> list[Occurrence] | None:
        """Return no occurrences if a row has marks alone, which `_count` reports."""
        return super()._repeats(exchange, view, [one for one in faults if not isinstance(one[0], _Mark)])

    def _count(self, exchange: Exchange, occurrences: Iterable[Occurrence]) -> None:
        super()._count(exchange, occurrences)
        self._show(exchange)

    def _facts(self, facts: Sequence[Fact], event: Exchange | None) -> None:
        for fact in facts:
            if event is not None and fact.kind is VersionFact.OFFERED:
                self.features.add(event)
            if (type(fact.kind), fact.kind) in FACTS:
                self._tell(fact, self._views.get(fact.evidence.connection))

    def _pass_facts(self, facts: Sequence[Fact], exchange: Exchange) -> bool:
        """Report the facts that a row completed: no rule needs the row."""
        self._facts(facts, exchange)
        return True

    def _knows_offer(self, info: ConnectionInfo, answer: Any) -> bool:
        """Return whether the response repeats the last statement of its broker."""
        return self.features.knows(info, answer)

    def _problems(self, found: Iterable[ConnectionProblem]) -> None:
        for one in found:
            self._report(one)
