"""Blocks of exchanges that several take: what they can from the rows, the rest as objects."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import NamedTuple

from kdissect.api import Dissection
from kdissect.model.native import is_compiled, native
from kdissect.session.events import Event, Events
from kdissect.session.exchange import Exchange

Note = Callable[[Exception, object], None]
"""Receives the exception and its object, and raises it if the guard is strict (`engine.guard`)."""

_end_of = itemgetter(1)  # of a run


class BlockTaker(NamedTuple):
    """`take` takes exchanges of a block from one on, and returns the number of the next one for `add`, or the
    block's length. `add` receives the exchange's number as well.
    """

    take: Callable[[native.ExchangeBlock, int], int]
    add: Callable[[Exchange, int], object]

    @classmethod
    def of_counted(
        cls, take: Callable[[native.ExchangeBlock, int], int], add: Callable[[Exchange], object]
    ) -> BlockTaker:
        """Return one that takes traffic of several capture sets in one of them only."""

        def add_counting(event: Exchange, _: int) -> None:
            if event.connection.same_as is None:
                add(event)

        return cls(take, add_counting)

    def within(self, runs: Sequence[tuple[int, int]]) -> BlockTaker:
        """Return one that passes by all but some runs of a block, each given by where it begins and ends."""

        def take(block: native.ExchangeBlock, start: int) -> int:
            try:
                for number in range(bisect_right(runs, start, key=_end_of), len(runs)):
                    begin, stop = runs[number]
                    block.stop_at(stop)
                    at = self.take(block, max(begin, start))
                    if at < stop:
                        return at
            finally:
                block.stop_at(sys.maxsize)
            return len(block)

        return self._replace(take=take)


def take_block(block: native.ExchangeBlock, takers: Sequence[BlockTaker], note: Note) -> None:
    """Have all take the exchanges of a block. Bodies that several take are decoded once for all.

    Every taker receives an exchange only after all takers have received the earlier ones. So names of topics
    are learned and asked for in the order of the exchanges: whoever asks leaves exchanges that may say names
    to `add`.
    """
    places = [_take(taker, block, 0, note) for taker in takers]
    while (at := min(places, default=len(block))) < len(block):
        event = block[at]
        due = [number for number, place in enumerate(places) if place == at]
        if len(due) > 1:
            with suppress(Exception):  # each taker meets the same error, and notes it
                event.bodies()
        for number in due:
            taker = takers[number]
            try:
                taker.add(event, at)
            except Exception as error:
                note(error, block[at])  # which is the current exchange again
            places[number] = _take(taker, block, at + 1, note)
        event.forget_bodies()


def _take(taker: BlockTaker, block: native.ExchangeBlock, start: int, note: Note) -> int:
    try:
        return taker.take(block, start)
    except Exception as error:
        note(error, block)
        return len(block)


def taking_blocks(
    dissection: Dissection,
    take: Callable[[Event], object],
    count_block: Callable[[native.ExchangeBlock, int], int],
    others: Sequence[BlockTaker] = (),
) -> Callable[[Events], None]:
    """Return a function for each batch of events. `take` takes the events, except exchanges of blocks that
    `count_block` takes. `others` take the same blocks.
    """
    guard = dissection.guard
    takers = [BlockTaker.of_counted(count_block, take), *others]

    def take_counting(event: Event) -> None:
        if event.connection.same_as is None:
            take(event)
        if isinstance(event, Exchange):
            for other in others:
                other.add(event, 0)

    def take_all(events: Events) -> None:
        if is_compiled and isinstance(events, native.ExchangeBlock):
            take_block(events, takers, guard.note)
        else:
            guard.each(events, take_counting)

    return take_all
