"""Studies: what views show beside the list of exchanges, worked out by a worker while the screen stays quick.

A study sees every event of the inputs in order, in another process, and gives plain values (rows, numbers,
findings: whatever pickles) for a view to show. It holds no widgets, and a view holds no analysis:

    class TopicStudy(Study):
        name = "topics"
        def __init__(self, context): self._traffic = TopicTraffic(...)
        def add(self, event): ...              # Exchange | ConnectionOpened | ConnectionClosed
        def result(self): return topic_rows(self._traffic)

Its module in `studies` bears the first word of its name, so that the worker alone imports it. A view names
its studies in `views.VIEWS`; they run ahead of it, in a pass that begins at the latest when the view is first
shown (`session.AHEAD`), with a filter when it is first shown, for streams from the start, with the exchanges.
`result()` is asked for at the end, and about once a second while somebody looks; the view learns of it by
`session_changed(Change.RESULT, name)`, and finds the value by `View.result(name)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from kdissect.engine.exchange_rows import TopicsOf
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.native import native
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stages.block_takers import BlockTaker


class StudyContext(NamedTuple):
    """What a study may need beside events.

    `topics` are the names of topics, `is_filtered` says whether a filter takes some exchanges only.
    `send` sends a message of `tui.processes.worker_messages` to the screen at once.
    """

    topics: TopicNames
    is_filtered: bool
    topics_of: TopicsOf
    send: Callable[[Any], None]
    file_names: list[str]
    takes_kind: Callable[[Exchange], bool] | None = None
    """The filter, where it answers the same for exchanges of one connection, API, version and client id."""


class Study:
    """Base of studies."""

    name = ""
    has_own_filter = False
    """Whether it takes all events, whatever the filter says: that is in `takes`."""
    takes = True
    """Whether the filter takes the exchange that is added."""
    counts_once = False
    """Whether traffic that several capture sets have counts in one of them."""
    takes_blocks = False
    """Whether `count_block` spares objects, as the inputs are filtered."""

    def __init__(self, context: StudyContext) -> None:
        self.context = context

    def meet(self, studies: Sequence[Study]) -> None:
        """All studies of the pass are made: some may work together."""

    def add(self, event: Event) -> None:
        """Take what happened."""
        raise NotImplementedError

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take exchanges of a block from one on; gives the next one that is for `add`. Compiled only."""
        return start

    def takers(self) -> list[BlockTaker]:
        """Those that take blocks in its place, where these are several; none: `count_block` and `add` do."""
        return []

    def finish(self) -> None:
        """The input is over."""

    def result(self) -> Any:
        """What is known by now, as plain values that are not changed later."""
        raise NotImplementedError


def new_study(name: str, context: StudyContext) -> Study:
    """A study by its name. Raises KeyError where its module has none of this name."""
    module = import_module(f"kdissect.tui.studies.{name.partition(' ')[0]}")
    kinds = (kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Study))
    for kind in kinds:
        if kind.name == name:
            return kind(context)
    raise KeyError(name)


def new_studies(names: Iterable[str], context: StudyContext) -> list[Study]:
    """The studies of a pass."""
    studies = [new_study(name, context) for name in names]
    for study in studies:
        study.meet(studies)
    return studies
