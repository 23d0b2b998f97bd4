"""Driving statistics: the events of the inputs, with the progress line, until the end or Ctrl-C."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol

from kdissect.api import Dissection
from kdissect.capture.live.process_copy import HAS_COPIES
from kdissect.cli.options.filter_option import takes
from kdissect.cli.options.input_options import is_live
from kdissect.cli.output import Output
from kdissect.cli.progress_line import progress_of
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.native import native
from kdissect.session.events import Event, Events
from kdissect.session.exchange import Exchange
from kdissect.stages.block_takers import BlockTaker, taking_blocks


class Reading:
    """Within it, Ctrl-C ends the reading but not the command: a live capture is ended so.

    The counts until then are printed, and then `over` passes the interruption on.
    """

    def __init__(self) -> None:
        self.is_stopped = False
        """Whether Ctrl-C ended it."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.is_stopped = kind is KeyboardInterrupt
        return self.is_stopped

    def over(self) -> None:
        """Everything is printed. Raises KeyboardInterrupt if the reading was stopped by it."""
        if self.is_stopped:
            raise KeyboardInterrupt


class Traffic(Protocol):
    """Statistics that take events one by one, or blocks of exchanges, and know when the input is over."""

    def add(self, event: Event, wanted: bool = True) -> None:
        """Take the analyzer's next event; report the facts of an exchange if it is wanted."""

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take exchanges of a block from one on, and return the number of the next one for `add`."""

    def finish(self) -> None:
        """End the input."""


def read_traffic(
    dissection: Dissection,
    traffic: Traffic,
    accepts: Callable[[Exchange], bool] | None,
    options: Namespace,
    output: Output,
    show: Callable[[Output], object],
) -> None:
    """Have statistics take all events that count, and then `show` print what they found.

    Wanted are exchanges that `accepts` takes, or all. Raises what `read_and_show` does.
    """

    def read() -> None:
        if accepts is None:
            read_blocks(dissection, traffic.add, traffic.count_block)
        else:
            read_events(dissection, lambda event: traffic.add(event, takes(accepts, event)))

    def finish(output: Output) -> None:
        traffic.finish()
        show(output)

    read_and_show(dissection, options, output, read, finish)


def read_and_show(
    dissection: Dissection,
    options: Namespace,
    output: Output,
    read: Callable[[], object],
    show: Callable[[Output], object],
) -> None:
    """Read the input, then show the counts, for a live capture on a terminal also while it goes on.

    Raises KeyboardInterrupt after that if it stopped the reading.
    """
    reading = read_shown(dissection, options, output, read, show)
    show(output)
    reading.over()


def read_shown(
    dissection: Dissection,
    options: Namespace,
    output: Output,
    read: Callable[[], object],
    show: Callable[[Output], object],
) -> Reading:
    """Read the input. For a live capture on a terminal, `show` prints the current counts in place."""
    reading = Reading()
    is_text = options.format in (None, "table", "text")
    if is_live(dissection) and is_text and output.is_terminal and HAS_COPIES:
        from kdissect.cli.live_view import LiveView  # start-up: of -i

        with LiveView(dissection, output, show), reading:
            read()
    else:
        with reading:
            read()
    return reading


def read_events(dissection: Dissection, take: Callable[[Event], object]) -> None:
    """Have `take` take all events that count, with a progress line where one is due.

    Traffic that several capture sets have counts in one of them.
    """

    def take_counting(event: Event) -> None:
        if event.connection.same_as is None:
            take(event)

    read_all(dissection, take_counting)


def read_all(dissection: Dissection, take: Callable[[Event], object]) -> None:
    """Have `take` take all events, with a progress line where one is due."""
    progress = progress_of(dissection)
    events = dissection.events()
    try:
        dissection.guard.each(events if progress is None else progress.ticking(events), take)
    finally:
        if progress is not None:
            progress.clear()


def read_blocks(
    dissection: Dissection,
    take: Callable[[Event], object],
    count_block: Callable[[native.ExchangeBlock, int], int],
    others: Sequence[BlockTaker] = (),
) -> None:
    """Have `take` take all events that count, except events of blocks that `count_block` takes.

    `count_block` receives a block and the number of an exchange, and returns the next one for `take`.
    `others` take the same blocks. Exchanges outside of blocks go to their `add` after `take`.
    """
    progress, take_all = progress_of(dissection), taking_blocks(dissection, take, count_block, others)

    def take_ticking(events: Events) -> None:
        if progress is not None:
            progress.tick()
        take_all(events)

    try:
        dissection.guard.each(dissection.batches(), take_ticking)
    finally:
        if progress is not None:
            progress.clear()


def read_views(dissection: Dissection, take: Callable[[ExchangeView], object]) -> None:
    """Have `take` take the exchanges in the order of their completion, each decoded at most once."""

    def take_counting(event: Event) -> None:
        if isinstance(event, Exchange) and event.connection.same_as is None:
            take(ExchangeView(event))

    read_all(dissection, take_counting)
