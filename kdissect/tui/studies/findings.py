"""The findings of `kdissect check`, by finding and by exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.model.finding import Finding
from kdissect.model.native import native
from kdissect.rules.findings import FindingLog, Key
from kdissect.rules.judge import Judge
from kdissect.rules.rule import Rule
from kdissect.tui.processes.worker_messages import Codes
from kdissect.tui.studies.study import Study, StudyContext

if TYPE_CHECKING:
    from kdissect.session.events import Event

# Codes sent at a time.
_MANY = 5000


class FindingsSoFar(NamedTuple):
    """The findings so far, first seen first. `dropped` counts the findings that exceed the bound."""

    findings: list[Finding]
    dropped: int
    inconclusive: dict[tuple[str, str], int]


class FindingStudy(Study):
    """Study that runs the judge. It sends the codes of each exchange as soon as they are known."""

    name = "findings"
    has_own_filter = True

    def __init__(self, context: StudyContext) -> None:
        super().__init__(context)
        self._judge = Judge()
        self.takes_blocks = True
        self._log = self._judge.findings = _PlacedFindings(context)

    def add(self, event: Event) -> None:
        """Judge an event."""
        self._judge.add(event)
        self._log.flush(_MANY)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Judge exchanges that have no finding."""
        return self._judge.take_block(block, start)

    def finish(self) -> None:
        """Judge the exchanges that were deferred."""
        self._judge.finish()
        self._log.flush(0)

    def result(self) -> Any:
        """Return the findings so far."""
        self._log.flush(0)
        return FindingsSoFar(self._log.all(), self._log.dropped, dict(self._judge.inconclusive))


class _PlacedFindings(FindingLog):
    """Log of findings that also has the codes of exchanges until they are sent."""

    def __init__(self, context: StudyContext) -> None:
        super().__init__()
        self._context = context
        self._codes: list[tuple[str, int, str]] = []

    def repeats_after(self, key: Key) -> int | None:
        """Return None: each finding is read."""
        return None

    def add(self, rule: Rule, finding: Finding) -> None:
        super().add(rule, finding)
        place = finding.place
        if place.exchange >= 0:
            self._codes.append((place.connection, place.exchange, finding.code))

    def flush(self, most: int) -> None:
        """Send what waits, if it is more than `most`."""
        if len(self._codes) > most:
            self._context.send(Codes(self._codes))
            self._codes = []
