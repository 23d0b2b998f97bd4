"""What is said between the screen and the saver. Not in the saver's module, which is `__main__` to itself."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.tui.processes.worker_messages import Order

Place = tuple[str, int]


class SaveOrder(NamedTuple):
    """What to write where. `places` are exchanges as (connection, ordinal)."""

    inputs: Order
    places: frozenset[Place]
    path: str


class Saved(NamedTuple):
    """What came of it. `trouble` says in one line why nothing was written, else what is to be known."""

    exchanges: int
    path: str
    trouble: str = ""
