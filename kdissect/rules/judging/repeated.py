"""An exchange that comes again and again on its connection: its results are counted, without a rule.

Again means: the bytes of the exchange before but for a higher correlation id, whole, with an answer in usual
time (`ConnectionView.is_again`). From the one before it differs in its times and its place, of which rules
see only what `Outcome.holds` compares. Kinds that carry record batches or names of topics are always judged,
because rules learn from them. Histories get every exchange.
"""

from __future__ import annotations

from collections import Counter

from kdissect.rules.finding_evidence import Occurrence
from kdissect.rules.findings import FindingLog
from kdissect.rules.judging.body_kind import BodyKind
from kdissect.rules.rule import RESPONSE
from kdissect.rules.run_coverage.coverage import Coverage
from kdissect.rules.run_coverage.rule_coverage import Exercise
from kdissect.rules.views.connection_view import API_VERSIONS, ConnectionView, is_sent_before
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

# Noting the results of an exchange costs about as much as judging it: that is done once in this number of
# exchanges.
LOOKS_EVERY = 8


class Repeated:
    """How often an exchange came again, and what came of it, once that is known to hold for the next one."""

    __slots__ = ("outcome", "times")

    def __init__(self) -> None:
        self.outcome: Outcome | None = None
        self.times = 0


class Before:
    """The counts of a judge before an exchange that comes again is judged."""

    def __init__(
        self, exercise: Exercise, inconclusive: Counter[tuple[str, str]], view: ConnectionView
    ) -> None:
        self.exercise = exercise
        self.rules = exercise.rules.copy()
        self.bodies = exercise.bodies
        self.together = dict(exercise.together)
        self.kinds = {kind: (kind.bodies, kind.first) for kind in exercise.kinds.values()}
        self.inconclusive = inconclusive.copy()
        self.spoken = len(view.spoken)
        self.advertised_at = view.advertised_at

    def kinds_now(self) -> dict[BodyKind, tuple[int, object]]:
        """Return the current counts of the kinds."""
        return {kind: (kind.bodies, kind.first) for kind in self.exercise.kinds.values()}


class Outcome:
    """Results of an exchange, for its repetitions."""

    __slots__ = (
        "_answered_ns",
        "_bodies",
        "_exercise",
        "_kinds",
        "_occurrences",
        "_rules",
        "_sent_ns",
        "_spoken",
        "_standing",
        "has_ranges",
        "is_refusal",
        "suppressed",
    )  # fmt: skip

    def __init__(
        self,
        exchange: Exchange,
        view: ConnectionView,
        before: Before,
        occurrences: list[Occurrence],
        suppressed: set[str],
    ) -> None:
        request, response, exercise = exchange.request, exchange.response, before.exercise
        assert request is not None and response is not None  # it came again
        self._sent_ns, self._answered_ns = request.time_ns, response.time_ns
        self._exercise = exercise
        self._bodies = exercise.bodies - before.bodies
        self._kinds = tuple(
            (kind, kind.bodies - count) for kind, (count, _) in before.kinds.items() if kind.bodies != count
        )
        self._rules = tuple(
            (code, count - before.rules[code])
            for code, count in exercise.rules.items()
            if count != before.rules[code]
        )
        self._spoken = len(view.spoken)
        self._standing = _standing(view.info)
        self._occurrences = tuple((found.key, found.side == RESPONSE) for found in occurrences)
        self.suppressed = frozenset(suppressed)
        answer = exchange.bodies()[1]
        self.has_ranges = exchange.api_key == API_VERSIONS and (
            answer is not None and answer.fits and answer.value.error_code == 0
        )
        """Whether it contains the versions of the broker."""
        self.is_refusal = view.refusal is not None and view.refusal.ordinal == exchange.ordinal
        """Whether it refuses ApiVersions."""

    def holds(self, exchange: Exchange, view: ConnectionView) -> bool:
        """Return whether the same comes of an exchange that came again, later than this one."""
        request, response = exchange.request, exchange.response
        return (
            request is not None
            and response is not None
            and request.time_ns > self._sent_ns
            and response.time_ns > self._answered_ns
            and len(view.spoken) == self._spoken
            and view.is_whole
            and _standing(view.info) == self._standing
        )

    def count(self, exchange: Exchange, coverage: Coverage, findings: FindingLog) -> None:
        """Count an exchange of which the same came."""
        request, response, exercise = exchange.request, exchange.response, self._exercise
        assert request is not None and response is not None  # it came again
        coverage.exchanges += 1
        coverage.traffic.add(exchange)
        coverage.apis[exchange.api_key, exchange.api_version] += 1
        exercise.exchanges += 1
        exercise.bodies += self._bodies
        for kind, bodies in self._kinds:
            kind.bodies += bodies
        for code, looks in self._rules:
            exercise.rules[code] += looks
        for key, is_response in self._occurrences:
            findings.repeats(key, response.time_ns if is_response else request.time_ns)


def outcome_of(
    exchange: Exchange,
    view: ConnectionView,
    before: Before,
    inconclusive: Counter[tuple[str, str]],
    occurrences: list[Occurrence],
    suppressed: set[str],
) -> Outcome | None:
    """Return the results of a repeated exchange; None if the next one may have another outcome."""
    exercise, request = before.exercise, exchange.request
    if not view.is_whole or inconclusive != before.inconclusive or len(view.spoken) != before.spoken:
        return None
    if exercise.together != before.together:
        return None  # batches
    now = before.kinds_now()
    if now.keys() != before.kinds.keys():
        return None
    for kind, (count, first) in before.kinds.items():
        if kind.bodies != count and (kind.is_watched or kind.first != first):
            return None
    if exchange.api_key != API_VERSIONS and (
        request is None or is_sent_before(request, before.advertised_at)
    ):
        return None  # its version was not checked yet
    if request is None or (view.refusal is not None and is_sent_before(request, view.refusal.first)):
        return None  # nor to the refusal
    return Outcome(exchange, view, before, occurrences, suppressed)


def _standing(info: ConnectionInfo) -> tuple[object, ...]:
    """Return the facts about a connection that rules and findings know, without its losses."""
    return (
        info.client_text, info.broker_text, info.client_id, info.software_name, info.software_version,
        info.middle_start, len(info.api_versions_seen),
    )  # fmt: skip
