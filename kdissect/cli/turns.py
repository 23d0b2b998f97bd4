"""Driving statistics: the events of the inputs, with the progress line, until the end or Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from kdissect.api import Dissection
from kdissect.cli.progress import progress_of
from kdissect.history.turn import Turn
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange


class Reading:
    """Within it, Ctrl-C ends the reading but not the command: a live capture is ended so.

    What was counted until then is printed; then `over` passes the interruption on.
    """

    def __init__(self) -> None:
        self._stopped = False

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._stopped = kind is KeyboardInterrupt
        return self._stopped

    def over(self) -> None:
        """Everything is printed. Raises KeyboardInterrupt if the reading was stopped by it."""
        if self._stopped:
            raise KeyboardInterrupt


def events_of(dissection: Dissection) -> Iterator[Event]:
    """All events that count, with a progress line where one is due: traffic that several capture sets have
    counts in one of them.
    """
    progress = progress_of(dissection)
    try:
        for event in dissection.events():
            if progress is not None:
                progress.tick()
            if event.connection.same_as is None:
                yield event
    finally:
        if progress is not None:
            progress.clear()


def turns_of(dissection: Dissection) -> Iterator[Turn]:
    """The exchanges in the order of their completion, each decoded at most once."""
    for event in events_of(dissection):
        if isinstance(event, Exchange):
            yield Turn(event)
