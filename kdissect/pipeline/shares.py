"""The tasks of a run: shares of capture sets, each read by one task.

If there are as many capture sets as tasks, each set is one share. A larger set becomes several shares, each
of which reads all of it. With two shares, one makes the tables of judges. With more, separate shares make the
tables of connections and the tables across connections. If there are still more tasks, connections are
divided by their ends (`engine.shards`), and a task skips the packets of other shards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kdissect.engine.shards import Shard
from kdissect.pipeline.inputs import TASK_BYTES, Inputs
from kdissect.stages.per_flow import OF_CAUSES, OF_CONNECTIONS, OF_JUDGES, OF_PERSONAL, OF_STATES

WHOLE = Shard(0, 1)
# Statistics for one of two statistics shares: about half of their work.
_OF_TRAFFIC = frozenset({"latencies", "rates", "topics"})
_FEW = 3


class Share(NamedTuple):
    """Tables of the connections in one shard of a capture set, which has the number `capture_set`."""

    capture_set: int
    tables: frozenset[str]
    shard: Shard = WHOLE


Task = tuple[Share, ...]
"""Shares that one task analyses, one after the other."""


def tasks_of(inputs: Inputs, tables: frozenset[str], wanted: int) -> list[Task]:
    """Return about `wanted` tasks that together make the tables of all capture sets, the largest first."""
    sizes = [0] * len(inputs.capture_sets)
    for file in inputs.files:
        sizes[file.capture_set] += file.size or 0
    total = max(1, sum(sizes))
    room = min(TASK_BYTES, -(-total // wanted))
    tasks: list[tuple[int, list[Share]]] = []
    small: tuple[int, list[Share]] | None = None
    for number, size in sorted(enumerate(sizes), key=lambda one: -one[1]):
        shares = list(_shares(number, tables, -(-size * wanted // total)))
        if len(shares) > 1 or size >= room:
            tasks += [(size, [share]) for share in shares]
            continue
        if small is None or small[0] + size > room:
            small = 0, []
            tasks.append(small)
        small[1].extend(shares)
        tasks[-1] = small = small[0] + size, small[1]
    tasks.sort(key=lambda task: -task[0])
    return [tuple(shares) for _, shares in tasks]


def _shares(number: int, tables: frozenset[str], wanted: int) -> Iterator[Share]:
    """Yield about `wanted` shares of a capture set."""
    of_connections, judged, counted = tables & OF_CONNECTIONS, tables & OF_JUDGES, tables & OF_STATES
    causes, personal = tables & OF_CAUSES, tables & OF_PERSONAL
    others = [judged, counted | causes | personal]
    if wanted <= 1:
        others, of_connections = [tables], frozenset()
    elif wanted < _FEW and judged:  # a judge takes about as long as all the rest together
        others, of_connections = [judged, of_connections | counted | causes | personal], frozenset()
    elif wanted > _FEW:
        others = [judged, counted & _OF_TRAFFIC, counted - _OF_TRAFFIC | causes, personal]
    others = [some for some in others if some]
    if of_connections:
        shards = max(1, wanted - len(others))
        yield from (Share(number, of_connections, Shard(shard, shards)) for shard in range(shards))
    elif not others:
        others = [tables]  # of files alone
    yield from (Share(number, some) for some in others)
