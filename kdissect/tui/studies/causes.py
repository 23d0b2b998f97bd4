"""The causes of failures, as `kdissect why` reports them."""

from __future__ import annotations

from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.gathering import Gathering
from kdissect.model.cause import Diagnosis
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stages.block_takers import BlockTaker
from kdissect.tui.studies.study import Study, StudyContext

# A table is read further than a page, which has a dozen (`causes.diagnose`).
CAUSES_KEPT = 100


class CauseStudy(Study):
    """The causes so far, the worst first. With a filter what the exchanges that it takes show."""

    name = "causes"
    has_own_filter = True
    counts_once = True

    def __init__(self, context: StudyContext) -> None:
        super().__init__(context)
        self._gathering = Gathering(context.topics, self._is_taken if context.is_filtered else None)

    def _is_taken(self, _: Exchange) -> bool:
        return self.takes

    def add(self, event: Event) -> None:
        """Take an event."""
        self._gathering.add(event)

    def takers(self) -> list[BlockTaker]:
        """Return the taker of blocks: without a filter exchanges need not be objects."""
        return [] if self.context.is_filtered else self._gathering.takers()

    def finish(self) -> None:
        """Take the events that the histories deferred."""
        self._gathering.finish()

    def result(self) -> Diagnosis:
        """Return the diagnosis so far."""
        return diagnose(self._gathering, self.context.file_names, most=CAUSES_KEPT)
