"""Blocks of exchanges that several take: what they can from the rows, the rest as objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kdissect.model.native import native
from kdissect.session.exchange import Exchange

Note = Callable[[Exception, object], None]
"""Is told of what was raised, and at which thing; raises it where that is wanted (`engine.guard`)."""


class BlockTaker(NamedTuple):
    """`take` takes exchanges of a block from one on, and gives the next one that is for `add`, or how many
    there are. `add` is given its number as well.
    """

    take: Callable[[native.ExchangeBlock, int], int]
    add: Callable[[Exchange, int], object]

    @classmethod
    def of_counted(
        cls, take: Callable[[native.ExchangeBlock, int], int], add: Callable[[Exchange], object]
    ) -> BlockTaker:
        """One that takes traffic of several capture sets in one of them only."""

        def add_counting(event: Exchange, _: int) -> None:
            if event.connection.same_as is None:
                add(event)

        return cls(take, add_counting)


def take_block(block: native.ExchangeBlock, takers: Sequence[BlockTaker], note: Note) -> None:
    """Have all take the exchanges of a block. Bodies are decoded for the first who asks, and once for all.

    None is given an exchange before all have taken those before it. So names of topics are learned and asked
    for in the order of the exchanges: whoever asks leaves exchanges that may say names to `add`.
    """
    places = [_take(taker, block, 0, note) for taker in takers]
    while (at := min(places, default=len(block))) < len(block):
        event = block[at]
        for number, taker in enumerate(takers):
            if places[number] == at:
                try:
                    taker.add(event, at)
                except Exception as error:
                    note(error, event)
                places[number] = _take(taker, block, at + 1, note)
        event.forget_bodies()


def _take(taker: BlockTaker, block: native.ExchangeBlock, start: int, note: Note) -> int:
    try:
        return taker.take(block, start)
    except Exception as error:
        note(error, block)
        return len(block)
