"""Runs in, events out: what a reducing task does, one flow after the other.

Rules:
- A flow, in all capture sets that have it, is analysed by the same `Analyzer` as on one machine, fed with its
  packets alone in canonical order: borders of connections, gaps, pairing, and which of two sets counts depend
  on nothing else.
- Rows come sorted by (key, order_ns, ref). Rows with the empty key come first and tell what all flows need.
- Memory holds one flow at a time.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from kdissect.engine.event_order import OrderedAnalyzer, Placed
from kdissect.model.packet import FILE_SHIFT
from kdissect.pipeline.flow_shuffle.run import Run, merged
from kdissect.pipeline.flow_shuffle.sent_to_all import KEY, News
from kdissect.pipeline.task_setup import Setup
from kdissect.session.brokers import Brokers


def flows(
    runs: Iterable[Run], setup: Setup, news: News | None = None, brokers: Brokers | None = None
) -> Iterator[Iterator[Placed]]:
    """The events of each flow of a partition, in their order; to be consumed flow by flow.

    `news` is filled before the first flow, `brokers` as flows are consumed.
    """
    news = news or News()
    brokers = brokers or Brokers(setup.brokers)
    secrets = setup.secrets(news)
    numbers = setup.numbers()
    for key, rows in groupby(runs, key=attrgetter("key")):
        if key == KEY:
            for row in rows:
                news.take(row)
        else:
            analyzer = OrderedAnalyzer(setup.analyzer(secrets, brokers), numbers.__getitem__)
            yield _events(analyzer, rows, setup, news)


def _events(analyzer: OrderedAnalyzer, rows: Iterator[Run], setup: Setup, news: News) -> Iterator[Placed]:
    """All events of one flow."""
    files: set[int] = set()
    feed = analyzer.feed_segment
    for now_ns, ref, segment, time_ns in merged(_noting(rows, files)):
        yield from feed(segment, ref, time_ns, now_ns)
    yield from analyzer.close(setup.ends_of(files, news))


def _noting(rows: Iterator[Run], files: set[int]) -> Iterator[Run]:
    """Rows as they come, and the files they are of."""
    for row in rows:
        files.add(row.ref >> FILE_SHIFT)
        yield row
