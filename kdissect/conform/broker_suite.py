"""The suite for brokers: everything it sends, and the verdict of rules and statements on the packets."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import BinaryIO, NamedTuple

from kdissect.api import Dissection
from kdissect.broker_loggers.client_properties import Settings
from kdissect.conform.broker_connection import Dialer, Outcome
from kdissect.conform.broker_run import BrokerRun, NoResponseError, Observation, RunOverError, key_of
from kdissect.conform.broker_sequences import SEQUENCES, clean_up, prepare, refusals
from kdissect.conform.request_bodies import Subject
from kdissect.conform.run_capture import RunCapture
from kdissect.conform.version_tests import discover, test_versions
from kdissect.model.endpoint import Endpoint
from kdissect.model.finding import Who
from kdissect.report.baseline import Baseline
from kdissect.report.verdict import Verdict
from kdissect.rules.finding_evidence import finding_of, occurrence_of
from kdissect.rules.findings import FindingLog
from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.rule_selection import select
from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.rules.statements import STATEMENTS
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

_CLEANING_UP = "cleaning up"
_Place = tuple[int, int]
"""Port of the client, number of the request on the connection."""


class Wanted(NamedTuple):
    """Choices of the user. `apis` are keys, None for all. `release` are the versions of a release by key."""

    apis: Collection[int] | None = None
    release: Mapping[int, tuple[int, int] | None] | None = None
    may_change: bool = False


def test_broker(
    address: Endpoint, settings: Settings, timeout: float, wanted: Wanted, capture: BinaryIO
) -> BrokerRun:
    """Run the suite, and write its packets. Raises RunOverError if the broker cannot be reached at all.

    KeyboardInterrupt ends the run early: what it created is deleted.
    """
    dialer = Dialer(settings, timeout, RunCapture(capture))
    subject = Subject(os.urandom(4).hex(), time.time_ns() // 1_000_000)
    run = BrokerRun(address, dialer, subject, may_change=wanted.may_change)
    run.wanted, run.release_versions = wanted.apis, wanted.release
    run.fresh().close()  # whatever is wrong with the address is wrong with the command
    try:
        _run(run)
    except RunOverError as error:
        run.over = str(error)
    except KeyboardInterrupt:
        run.over = "it was interrupted"
        run.close()  # a response may still come
        with suppress(RunOverError):
            _tried(run, _CLEANING_UP, clean_up)
    finally:
        run.close()
    return run


def _run(run: BrokerRun) -> None:
    discover(run)
    is_ready = run.has("Metadata") and _tried(run, "the topic of the suite", prepare)
    for name, (play, apis) in SEQUENCES.items():
        if run.wanted is not None and set(run.wanted).isdisjoint(map(key_of, apis)):
            continue
        lacking = [api for api in apis if not run.has(api)]
        if lacking:
            run.skipped[name] = f"the broker does not advertise {', '.join(lacking)}"
        elif not is_ready:
            run.skipped[name] = "there is no topic of the suite"
        else:
            _tried(run, name, play)
    test_versions(run)
    _tried(run, "refusals", refusals)  # at the end, because a broker may fail at them
    _tried(run, _CLEANING_UP, clean_up)


def _tried(run: BrokerRun, name: str, play: Callable[[BrokerRun], None]) -> bool:
    try:
        play(run)
    except (NoResponseError, ValueError) as error:  # ValueError: numbers of the broker that have no bytes
        run.skipped[name] = str(error)
        return False
    return True


def judged(run: BrokerRun, path: str, shown: Sequence[str], baseline: Baseline | None) -> Verdict:
    """Return the verdict on the packets of a run, with its statements. `shown` are the names of the files."""
    dissection = Dissection(path, ports=(run.address.port, *(one.port for one in run.brokers.values())))
    judge = Judge(select(ALL_RULES, [], [], Who.BROKER), Who.BROKER)
    statements = _Statements(run.observations)
    for event in dissection.events():
        judge.add(event)
        if isinstance(event, (Exchange, ConnectionClosed)):
            statements.see(event)
    judge.finish()
    quality = quality_of(judge.coverage)
    statements.add_to(judge)
    judge.rules = (*judge.rules, *STATEMENTS)
    return Verdict(judge, quality, shown, baseline=baseline)


class _Statements:
    """Results of statements, which become findings at the exchanges of the packets."""

    def __init__(self, observations: Sequence[Observation]) -> None:
        self._waiting: dict[_Place, list[Observation]] = {}
        for one in observations:
            self._waiting.setdefault((one.response.port, one.response.ordinal), []).append(one)
        self._placed: list[tuple[Observation, ConnectionInfo, Exchange | None]] = []

    def see(self, event: Exchange | ConnectionClosed) -> None:
        """Find the exchanges of results. What has none is about its connection."""
        info = event.connection
        if isinstance(event, Exchange):
            found = self._waiting.pop((info.client.port, event.ordinal), ())
            self._placed += [(one, info, event) for one in found]
            return
        for place in [place for place in self._waiting if place[0] == info.client.port]:
            self._placed += [(one, info, None) for one in self._waiting.pop(place)]

    def add_to(self, judge: Judge) -> None:
        """Add failures to the findings of the rules, and count what was tested.

        Rules that a statement overrides stay silent about its exchange. Where a rule speaks of a response
        that does not decode, the statement stays silent.
        """
        by_code = {one.code: one for one in STATEMENTS}
        found = judge.findings.all()
        spoken = {(one.place.api_key, one.place.api_version) for one in found if one.place.side == RESPONSE}
        over: set[tuple[str, int, str]] = set()
        log = FindingLog()
        for result, info, exchange in self._placed:
            statement = by_code[result.code]
            judge.coverage.at(info)
            judge.coverage.exercise(statement.code)
            at = (info.id, -1 if exchange is None else exchange.ordinal)
            over |= {(*at, code) for code in statement.overrides}
            response = result.response
            is_said = response.outcome is Outcome.UNDECODABLE and response[:2] in spoken
            if result.passed or is_said:
                continue
            frame = None if exchange is None else exchange.response or exchange.request
            span = (-1, -1) if frame is None else (0, len(frame.data))
            fault = Violation(result.expected, result.seen, start=span[0], end=span[1])
            occurrence = occurrence_of(statement, fault, info, exchange, {})
            log.add(statement, finding_of(statement, fault, info, exchange, occurrence))
        for finding in found:
            if (finding.place.connection, finding.place.exchange, finding.code) not in over:
                log.put_back(finding)
        judge.findings = log
