"""Runs in, events out: what a reducing task does, one flow after the other.

Rules:
- A flow is analysed by the same `Analyzer` as on one machine, fed with its packets alone in canonical order:
  borders of connections, gaps and pairing depend on nothing else.
- Rows come sorted by (key, order_ns, ref). Rows with the empty key come first and tell what all flows need.
- Memory holds one flow at a time.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from kdissect.engine.analyzer import Analyzer
from kdissect.pipeline.moment import Moment, moment_of_end
from kdissect.pipeline.news import KEY, News
from kdissect.pipeline.run import Run, merged
from kdissect.pipeline.setup import Setup
from kdissect.session.events import ConnectionClosed, Event

Told = tuple[Moment, Event]
"""An event and its place among all."""


def flows(runs: Iterable[Run], setup: Setup) -> Iterator[Iterator[Told]]:
    """The events of each flow of a partition, in their order; to be consumed flow by flow."""
    news = News()
    secrets = setup.secrets(news)
    last_times: dict[str, int] = {}
    for key, rows in groupby(runs, key=attrgetter("key")):
        if key == KEY:
            for row in rows:
                news.take(row)
            last_times = setup.last_times(news)
            continue
        yield _Flow(setup.analyzer(secrets), last_times).events(rows)


class _Flow:
    """Analyses one flow, which may hold several connections, one after the other."""

    def __init__(self, analyzer: Analyzer, last_times: dict[str, int]) -> None:
        self._analyzer = analyzer
        self._last_times = last_times

    def events(self, rows: Iterator[Run]) -> Iterator[Told]:
        """All events of the flow."""
        feed = self._analyzer.feed_segments
        for order_ns, ref, segment, time_ns in merged(rows):
            events = feed(((segment, ref, time_ns),))
            if events:
                yield from _at(events, order_ns, ref)
        for place, event in enumerate(self._analyzer.close()):
            yield moment_of_end(event.connection, place), event


def _at(events: list[Event], order_ns: int, ref: int) -> Iterator[Told]:
    """Events that a packet brought. What it merely found to be over was over before."""
    over = {id(event.connection) for event in events if isinstance(event, ConnectionClosed)}
    for place, event in enumerate(events):
        now = Moment(order_ns, ref, place, event.connection.id)
        ended = id(event.connection) in over
        yield min(now, moment_of_end(event.connection, place)) if ended else now, event
