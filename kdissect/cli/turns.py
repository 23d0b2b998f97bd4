"""Driving statistics: every exchange of the inputs as a `Turn`, with the progress line."""

from collections.abc import Iterator

from kdissect.api import Dissection
from kdissect.cli.progress import progress_of
from kdissect.history.turn import Turn
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange


def events_of(dissection: Dissection) -> Iterator[Event]:
    """All events, with a progress line where one is due."""
    progress = progress_of(dissection)
    for event in dissection.events():
        if progress is not None:
            progress.tick()
        yield event
    if progress is not None:
        progress.clear()


def turns_of(dissection: Dissection) -> Iterator[Turn]:
    """The exchanges in the order of their completion, each decoded at most once."""
    for event in events_of(dissection):
        if isinstance(event, Exchange):
            yield Turn(event)
