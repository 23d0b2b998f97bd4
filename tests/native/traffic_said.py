"""What both sides count of captures: functions that give values that can be pickled and compared."""

from collections.abc import Sequence
from typing import Any

from kdissect.api import Dissection
from kdissect.cli.event_loop import read_views
from kdissect.cli.statistics.stats_command import count_blocks
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.native import is_compiled
from kdissect.query import Context as QueryContext
from kdissect.query import compile_filter
from kdissect.sketches.distribution import Distribution
from kdissect.stats.by_group.group_links import GroupLinks
from kdissect.stats.counted_blocks import BlockCounter
from kdissect.stats.dimensions import Context, key_maker
from kdissect.stats.traffic import Tally, Traffic

SUMS = (
    "exchanges", "failed", "unclear", "empty_early", "request_bytes", "response_bytes", "first_ns", "last_ns",
)  # fmt: skip
TIMES = ("latency", "broker", "throttle", "wait")


def counted(paths: list[str], by: list[str], most: int = 1000, expression: str = "") -> Any:
    """Return all that is counted, in its order. `most` rows are kept. A filter answers by kind."""
    dissection = Dissection(paths)
    context = Context.of(dissection.topics, by)
    traffic = Traffic(key_maker(by, context))
    traffic.most = most
    takes = None
    if expression:
        predicate = compile_filter(expression)
        assert predicate.is_by_kind
        takes = predicate.bind(QueryContext())

    def take(turn: ExchangeView) -> None:
        context.learn(turn, by)
        if takes is None or takes(turn.exchange):
            traffic.add(turn)
        else:
            dissection.topics.pass_by(turn.exchange)

    if is_compiled:
        count_blocks(dissection, BlockCounter(traffic, by, context, takes), take)
    else:
        read_views(dissection, take)
    return _facts(traffic)


def counted_together(path: str, ways: Sequence[list[str]], most: int) -> list[Any]:
    """Return the result of `counted` for each way, from one counter for all ways."""
    dissection = Dissection(path)
    context = Context(dissection.topics, GroupLinks())
    traffics = [Traffic(key_maker(by, context)) for by in ways]
    for traffic in traffics:
        traffic.most = most
    first, *others = traffics
    for traffic in others:
        traffic.share(first)
    counter = BlockCounter(first, ways[0], context, others=list(zip(others, ways[1:], strict=True)))

    def take(turn: ExchangeView) -> None:
        context.groups.learn(turn)
        first.add(turn, others)

    count_blocks(dissection, counter, take)
    return [_facts(traffic) for traffic in traffics]


def _facts(traffic: Traffic) -> Any:
    rows = [(key, _tally(tally)) for key, tally in traffic.rows.items()]
    series = traffic.series
    return rows, _tally(traffic.other), _tally(traffic.total), (series.width_ns, series.points())


def _tally(tally: Tally) -> Any:
    sums = [getattr(tally, name) for name in SUMS]
    times = [_values(getattr(tally, name)) for name in TIMES]
    return sums, list(tally.states.items()), list(tally.errors.items()), times


def _values(values: Distribution) -> Any:
    return values.facts(), values.bins()


class Looked(Traffic):
    """Counts those that need a closer look."""

    looked = 0

    def add(self, turn: ExchangeView) -> None:
        """One of them."""
        self.looked += 1
        super().add(turn)


def looked_at(path: str, by: list[str]) -> tuple[int, int]:
    """Return how many exchanges needed a closer look, of how many."""
    dissection = Dissection(path)
    context = Context(dissection.topics, GroupLinks())
    traffic = Looked(key_maker(by, context))

    def take(turn: ExchangeView) -> None:
        context.groups.learn(turn)
        traffic.add(turn)

    count_blocks(dissection, BlockCounter(traffic, by, context), take)
    return traffic.looked, traffic.total.exchanges
