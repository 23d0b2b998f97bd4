"""Reading captures for their causes: what `why`, `diff` and reports of `check` share."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.gathering import Gathering
from kdissect.cli.progress_line import progress_of
from kdissect.model.cause import Diagnosis
from kdissect.session.events import Events
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from kdissect.engine.records.value_faults import ValueFaults
    from kdissect.stats.times.series import LatencySeries


def read_causes(
    dissection: Dissection, gathering: Gathering, also: Callable[[Events], object] | None = None
) -> None:
    """Have all events gathered, and shown to `also` behind that."""
    progress, note = progress_of(dissection), dissection.guard.note
    try:
        for events in dissection.batches():
            if progress is not None:
                progress.tick()
            gathering.take(events, note)
            if also is not None:
                also(events)
        gathering.note_clock(dissection.captures.files)
    finally:
        if progress is not None:
            progress.clear()


class CausesOfReport:
    """Looks for causes while the judge runs, for a report of `check` that includes them. The judge reads the
    `values`.
    """

    def __init__(
        self,
        dissection: Dissection,
        wants: Callable[[Exchange], bool] | None,
        values: ValueFaults | None,
        latencies: LatencySeries | None = None,
    ) -> None:
        self._dissection = dissection
        self._values = values
        self.gathering = Gathering(dissection.topics, wants, latencies=latencies)

    def read(self, judge: Callable[[Events], object]) -> None:
        """Read the inputs, and show all events to `judge` as well."""
        read_causes(self._dissection, self.gathering, judge)

    def finished(self) -> Diagnosis:
        """End the inputs and return the diagnosis."""
        self.gathering.finish()
        self.gathering.values = self._values
        return diagnose(self.gathering, self._dissection.file_names)


def with_path(options: Namespace, path: str) -> Namespace:
    """Return the options of a command for one input alone."""
    return Namespace(**{**vars(options), "paths": [path]})
