"""The analysis of one stretch of packets: its causes, findings and counts, as symptoms."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.capture.files import Captures
from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.gathering import Gathering
from kdissect.query import Context
from kdissect.recorder.condition import CauseCondition, Condition, RuleCondition
from kdissect.recorder.exchange_condition import ExchangeCondition
from kdissect.recorder.reading import Reading
from kdissect.recorder.release import release
from kdissect.recorder.symptom import Symptom
from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES
from kdissect.session.events import Event, Events
from kdissect.session.exchange import Exchange
from kdissect.stages.block_takers import taking_blocks

_ALL = 1_000


class Watch:
    """One analysis. `run` reads the stretch to its end. `symptoms` ends the analysis: call it in a copy of
    the process, or at the end.

    It gathers causes only for conditions about causes, and judges rules only for conditions about rules.
    """

    def __init__(self, captures: Captures, reading: Reading, conditions: Sequence[Condition]) -> None:
        self._dissection = dissection = reading.dissection(captures)
        self._conditions = conditions
        self._gathering: Gathering | None = None
        if any(isinstance(one, CauseCondition) for one in conditions):
            self._gathering = Gathering(dissection.topics)
        rules = {rule.code for one in conditions if isinstance(one, RuleCondition) for rule in one.rules}
        self._judge = Judge([rule for rule in ALL_RULES if rule.code in rules]) if rules else None
        self._exchanges = [one for one in conditions if isinstance(one, ExchangeCondition)]
        context = Context(
            topics_of=dissection.topics.topics_of, file_names=dissection.file_names,
            topic_name=dissection.topics.of_records,
        )  # fmt: skip
        for one in self._exchanges:
            one.bind(context)
        self._judge_all = (
            None
            if self._judge is None
            else taking_blocks(dissection, self._judge.add, self._judge.take_block)
        )
        self._see_all = (
            taking_blocks(dissection, self._see, lambda _block, start: start) if self._exchanges else None
        )

    def run(self) -> None:
        """Analyse the packets, to the end of the stretch."""
        for events in self._dissection.batches():
            self._take(events)

    def is_about_causes_or_rules(self) -> bool:
        """Return whether symptoms come from an ended analysis."""
        return self._gathering is not None or self._judge is not None

    def symptoms(self, is_over: bool = False) -> list[Symptom]:
        """End the analysis, and return causes and findings. `is_over`: `run` has returned."""
        if not is_over:
            for events in self._dissection.closing(in_copy=True):
                self._take(events)
        found: list[Symptom] = []
        if self._gathering is not None:
            self._gathering.note_clock(self._dissection.captures.files)
            self._gathering.finish()
            causes = diagnose(self._gathering, self._dissection.file_names, most=_ALL).causes
            found += map(Symptom.of_cause, causes)
        if self._judge is not None:
            self._judge.finish()
            found += map(Symptom.of_finding, self._judge.findings.all())
        return found

    def release(self) -> None:
        """Let the garbage collector free it. It cannot be used any more."""
        release(self._dissection, self._gathering, self._judge)

    def _take(self, events: Events) -> None:
        if self._gathering is not None:
            self._gathering.take(events, self._dissection.guard.note)
        for take in (self._judge_all, self._see_all):
            if take is not None:
                take(events)

    def _see(self, event: Event) -> None:
        if isinstance(event, Exchange):
            for one in self._exchanges:
                one.see(event)
