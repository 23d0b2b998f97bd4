"""Reading captures for their causes: what `why` and `diff` share."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from kdissect.api import Dissection
from kdissect.causes.evidence.gathering import Gathering
from kdissect.cli.progress_line import progress_of
from kdissect.session.events import Events


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
    finally:
        if progress is not None:
            progress.clear()


def with_path(options: Namespace, path: str) -> Namespace:
    """The options of a command for one input alone."""
    return Namespace(**{**vars(options), "paths": [path]})
