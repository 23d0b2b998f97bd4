"""Results of statements, and the verdict of rules and statements on the packets of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from kdissect.api import Dissection
from kdissect.model.finding import Who
from kdissect.report.baseline import Baseline
from kdissect.report.verdict import Verdict
from kdissect.rules.finding_evidence import finding_of, occurrence_of
from kdissect.rules.findings import FindingLog
from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import REQUEST, RESPONSE, Rule, Violation
from kdissect.rules.rule_selection import select
from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

_SIDE = {Who.CLIENT: REQUEST, Who.BROKER: RESPONSE}


class Place(NamedTuple):
    """An exchange of a run: the ports of its connection, and the number of the request there."""

    client_port: int
    broker_port: int
    ordinal: int


class Observation(NamedTuple):
    """The result of a statement at one exchange.

    `side` is the frame that shows it, empty for that of the end under test. `undecodable` are key and version
    of a response that does not decode.
    """

    code: str
    place: Place
    passed: bool
    expected: str
    seen: str
    side: str = ""
    undecodable: tuple[int, int] | None = None


def statement_rows(statements: Sequence[Rule], observations: Sequence[Observation]) -> list[dict[str, Any]]:
    """Return a row for each statement: how often it passed and failed."""
    passed = Counter(one.code for one in observations if one.passed)
    failed = Counter(one.code for one in observations if not one.passed)
    return [
        {
            "code": one.code, "name": one.name, "level": str(one.level),
            "statement": " ".join((one.__doc__ or "").split()), "cites": list(one.cites),
            "result": _result(passed[one.code], failed[one.code]),
            "passed": passed[one.code], "failed": failed[one.code],
        }
        for one in statements
    ]  # fmt: skip


def _result(passed: int, failed: int) -> str:
    if failed:
        return "failed"
    return "passed" if passed else "not tested"


class Judged(NamedTuple):
    """The end under test, its statements, and their results. `ports` are those of the brokers."""

    who: Who
    statements: Sequence[Rule]
    observations: Sequence[Observation]
    ports: Collection[int]


def verdict_on(judged: Judged, path: str, shown: Sequence[str], baseline: Baseline | None) -> Verdict:
    """Return the verdict of rules and statements on a packet file. `shown` are the names of the files."""
    judge = Judge(select(ALL_RULES, [], [], judged.who), judged.who)
    results = _Results(judged)
    for event in Dissection(path, ports=tuple(judged.ports)).events():
        judge.add(event)
        if isinstance(event, (Exchange, ConnectionClosed)):
            results.see(event)
    judge.finish()
    quality = quality_of(judge.coverage)
    results.add_to(judge)
    judge.rules = (*judge.rules, *judged.statements)
    return Verdict(judge, quality, shown, baseline=baseline)


class _Results:
    """Results of statements, which become findings at the exchanges of the packets."""

    def __init__(self, judged: Judged) -> None:
        self._who = judged.who
        self._by_code = {one.code: one for one in judged.statements}
        self._waiting: dict[Place, list[Observation]] = {}
        for one in judged.observations:
            self._waiting.setdefault(one.place, []).append(one)
        self._placed: list[tuple[Observation, ConnectionInfo, Exchange | None]] = []

    def see(self, event: Exchange | ConnectionClosed) -> None:
        """Find the exchanges of results. A result without an exchange is about its connection."""
        info = event.connection
        ports = info.client.port, info.broker.port
        if isinstance(event, Exchange):
            found = self._waiting.pop(Place(*ports, event.ordinal), ())
            self._placed += [(one, info, event) for one in found]
            return
        for place in [place for place in self._waiting if place[:2] == ports]:
            self._placed += [(one, info, None) for one in self._waiting.pop(place)]

    def add_to(self, judge: Judge) -> None:
        """Add failures to the findings of the rules, and count what was tested.

        Rules that a statement overrides stay silent about its exchange. Where a rule speaks of a response
        that does not decode, the statement stays silent.
        """
        found = judge.findings.all()
        spoken = {(one.place.api_key, one.place.api_version) for one in found if one.place.side == RESPONSE}
        over: set[tuple[str, int, str]] = set()
        log = FindingLog()
        for result, info, exchange in self._placed:
            statement = self._by_code[result.code]
            judge.coverage.at(info)
            judge.coverage.exercise(statement.code)
            at = (info.id, -1 if exchange is None else exchange.ordinal)
            over |= {(*at, code) for code in statement.overrides}
            if result.passed or result.undecodable in spoken:
                continue
            fault = self._violation(result, exchange)
            occurrence = occurrence_of(statement, fault, info, exchange, {})
            log.add(statement, finding_of(statement, fault, info, exchange, occurrence))
        for finding in found:
            if (finding.place.connection, finding.place.exchange, finding.code) not in over:
                log.put_back(finding)
        judge.findings = log

    def _violation(self, result: Observation, exchange: Exchange | None) -> Violation:
        side = result.side or _SIDE[self._who]
        frames = () if exchange is None else (exchange.request, exchange.response)
        ordered = frames[::-1] if side == RESPONSE else frames
        frame = next((one for one in ordered if one is not None), None)
        span = (-1, -1) if frame is None else (0, len(frame.data))
        return Violation(
            result.expected, result.seen, start=span[0], end=span[1], side=result.side, who=self._who
        )
