"""Studies: data for the views next to the list of exchanges. A worker computes them so that keys stay fast.

A study sees every event of the inputs in order, in another process, and returns plain values (rows, numbers,
findings: whatever pickles) for a view to show. It has no widgets, and a view has no analysis:

    class TopicStudy(Study):
        name = "topics"
        def __init__(self, context): self._traffic = TopicTraffic(...)
        def add(self, event): ...              # Exchange | ConnectionOpened | ConnectionClosed
        def result(self): return topic_rows(self._traffic)

Its module in `studies` bears the first word of its name, so that the worker alone imports it. A view names
its studies in `views.VIEWS`. They run ahead of it, in a pass that begins at the latest when the view is first
shown (`session.AHEAD`), with a filter when it is first shown, for streams from the start, with the exchanges.
The worker calls `result()` at the end, and about once a second while the view is on screen. The view receives
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
    """Context that a study may need besides events.

    `topics` are the names of topics. `is_filtered` means that a filter takes only some exchanges. `send`
    sends a message of `tui.processes.worker_messages` to the screen at once.
    """

    topics: TopicNames
    is_filtered: bool
    topics_of: TopicsOf
    send: Callable[[Any], None]
    file_names: list[str]
    takes_kind: Callable[[Exchange], bool] | None = None
    """The filter, if it has one answer for exchanges of one connection, API, version and client id."""


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
        """Meet the studies of the pass: some may work together."""

    def add(self, event: Event) -> None:
        """Take what happened."""
        raise NotImplementedError

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take exchanges of a block from `start`. Return the next one that is for `add`. Native builds
        only.
        """
        return start

    def takers(self) -> list[BlockTaker]:
        """Return several takers of blocks for it, or none if `count_block` and `add` take them."""
        return []

    def finish(self) -> None:
        """Take the end of the input."""

    def result(self) -> Any:
        """Return the result so far, as plain values that are not changed later."""
        raise NotImplementedError


def new_study(name: str, context: StudyContext) -> Study:
    """Make a study by its name. Raises KeyError if its module has no study of this name."""
    module = import_module(f"kdissect.tui.studies.{name.partition(' ')[0]}")
    kinds = (kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Study))
    for kind in kinds:
        if kind.name == name:
            return kind(context)
    raise KeyError(name)


def new_studies(names: Iterable[str], context: StudyContext) -> list[Study]:
    """Make the studies of a pass."""
    studies = [new_study(name, context) for name in names]
    for study in studies:
        study.meet(studies)
    return studies
