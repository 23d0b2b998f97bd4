"""Judging captures by the rules: what `check` and `report` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.capture.byte_source import FileSource
from kdissect.cli.event_loop import read_blocks, read_events
from kdissect.config.suppression import Suppression
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Finding
from kdissect.report.baseline import Baseline
from kdissect.report.verdict import Verdict
from kdissect.rules.findings import FindingLog, Key
from kdissect.rules.judge import Judge
from kdissect.rules.rule import Rule
from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL, Exchange
from kdissect.stages.block_takers import taking_blocks

if TYPE_CHECKING:
    from kdissect.cli.findings.cause_reading import CausesOfReport

Test = Callable[[Exchange], bool]


def read_judged(
    dissection: Dissection, judge: Judge, accepts: Test | None, causes: CausesOfReport | None
) -> None:
    """Show the judge the captures, and who looks for causes for a report that has them.

    With a filter `accepts`, the judge keeps findings about the exchanges that it takes.
    """
    taken = None if accepts is None else TakenExchanges(accepts)
    if taken is not None:
        judge.findings = TakenFindings(taken)
    for file in dissection.captures.files:
        if isinstance(file.source, FileSource):
            file.source.is_hashed = True
    if causes is not None:
        take = judge.add if taken is None else partial(_add, taken, judge)
        count = judge.take_block if taken is None else lambda _, start: start
        causes.read(taking_blocks(dissection, take, count))
    elif taken is None:
        read_blocks(dissection, judge.add, judge.take_block)
    else:
        read_events(dissection, partial(_add, taken, judge))


def verdict_of(
    dissection: Dissection,
    judge: Judge,
    is_stopped: bool = False,
    suppressions: Sequence[Suppression] = (),
    baseline: Baseline | None = None,
    strict: bool = False,
) -> Verdict:
    """Return the verdict of a judge that has read the captures, with the hashes of files."""
    files, names = dissection.captures.files, dissection.file_names
    cut = sum(any(a.kind is AnomalyKind.CUT_CAPTURE for a in file.anomalies) for file in files)
    quality = quality_of(judge.coverage, cut, sum(file.drops or 0 for file in files), is_stopped)
    hashes = {
        name: file.source.sha256
        for name, file in zip(names, files, strict=True)
        if isinstance(file.source, FileSource) and file.source.sha256 is not None
    }
    return Verdict(judge, quality, names, suppressions, baseline, strict, hashes)


def _add(taken: TakenExchanges, judge: Judge, event: Event) -> None:
    if isinstance(event, Exchange):
        taken.add(event)
    judge.add(event)
    if isinstance(event, ConnectionClosed):
        taken.forget(event.connection.id)


# Findings about the exchanges that a filter takes.
class TakenExchanges:
    """Remembers which exchanges a test took: a byte for each exchange of the connections that are open."""

    def __init__(self, test: Test) -> None:
        self._test = test
        self._requests: dict[str, bytearray] = {}
        self._orphans: dict[str, bytearray] = {}

    def add(self, exchange: Exchange) -> None:
        """Ask the test."""
        if not self._test(exchange):
            return
        table, index = self._place(exchange.ordinal)
        marks = table.setdefault(exchange.connection.id, bytearray())
        if len(marks) <= index:
            marks.extend(bytes(index + 1 - len(marks)))
        marks[index] = 1

    def forget(self, connection: str) -> None:
        """Forget a connection that is over."""
        self._requests.pop(connection, None)
        self._orphans.pop(connection, None)

    def holds(self, connection: str, ordinal: int) -> bool:
        """Return whether the test took an exchange; -1: any of the connection."""
        if ordinal < 0:
            return connection in self._requests or connection in self._orphans
        table, index = self._place(ordinal)
        marks = table.get(connection, b"")
        return index < len(marks) and bool(marks[index])

    def _place(self, ordinal: int) -> tuple[dict[str, bytearray], int]:
        if ordinal < FIRST_ORPHAN_ORDINAL:
            return self._requests, ordinal
        return self._orphans, ordinal - FIRST_ORPHAN_ORDINAL


class TakenFindings(FindingLog):
    """Stores findings about exchanges that the filter took, and about connections with such an exchange."""

    def __init__(self, taken: TakenExchanges) -> None:
        super().__init__()
        self._taken = taken

    def repeats_after(self, key: Key) -> int | None:
        """Each one is looked at."""
        return None

    def add(self, rule: Rule, finding: Finding) -> None:
        """Take a finding, or not."""
        if self._taken.holds(finding.place.connection, finding.place.exchange):
            super().add(rule, finding)
