"""The data of the inputs while the screen is open. It has no widgets: the app subscribes, screens read.

A `Session` holds the log of exchanges, the results of studies, the filter, the progress and the troubles. It
starts workers and takes their messages. It calls `changed` with one of `Change` on the screen's thread
whenever data is new. Readers then read everything from the session.
"""

from __future__ import annotations

import os
import stat
import tempfile
from array import array
from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Any

from kdissect.capture.byte_source import STDIN
from kdissect.engine.exchange_log.log import ExchangeLog
from kdissect.query import Predicate, compile_filter
from kdissect.query.exchange_colors import CompiledRules
from kdissect.tui.panes.shown_exchanges import Shown
from kdissect.tui.processes.frame_store import Frames
from kdissect.tui.processes.spool import SpoolReader
from kdissect.tui.processes.worker_messages import Codes, Done, Failed, Matches, Order, Progress, Result, Rows
from kdissect.tui.processes.worker_process import WorkerProcess
from kdissect.tui.views import VIEWS

FINDINGS = "findings"
CAUSES = "causes"
# For inputs of at most AHEAD_BYTES, studies run before a view asks for them, in passes that give way to other
# passes.
AHEAD_BYTES = 2 << 30
CAUSES_AHEAD = "study causes ahead"
STATISTICS_AHEAD = {
    "study transfers ahead": frozenset({"connections", "topics", "producers"}),
    "study traffic ahead": frozenset(
        name for view in VIEWS for name in (*view.studies, *view.more) if name.startswith("traffic")
    ),
    "study groups ahead": frozenset({"groups"}),
}
"""Purpose of each pass. Passes are small, because a view waits only for its own pass. Studies of one pass
read the same parts of exchanges.
"""
AHEAD = STATISTICS_AHEAD | {CAUSES_AHEAD: frozenset({CAUSES})}
# How far passes give way (nice) to the list. Passes that the user asked for come first, then statistics,
# which most views show.
ASKED_NICE, STATISTICS_NICE, FINDINGS_NICE, CAUSES_NICE = 1, 5, 10, 15


class Change(Enum):
    """The kind of new data."""

    ROWS = auto()  # the log has grown
    PROGRESS = auto()
    RESULT = auto()  # a study returned something: `results`
    CODES = auto()  # findings of exchanges
    SHOWN = auto()  # another filter, or more rows found by it
    TROUBLE = auto()  # `troubles` or `unread` has grown
    LOADED = auto()  # all inputs were read


class Session:
    """One session with some inputs. `start` before anything else, `close` at the end."""

    def __init__(self, order: Order) -> None:
        self._spool_file = tempfile.TemporaryFile(prefix="kdissect")  # noqa: SIM115 - closed by `close`
        self.order = order._replace(spool=self._spool_file.fileno())
        self.log = ExchangeLog()
        self.log.store = Frames(
            self.log, lambda: self.progress.file_names, SpoolReader(self._spool_file.fileno())
        )
        self.progress = Progress(0, None)
        self.is_loading = True
        self.is_judging = False
        self.troubles: list[str] = []
        """Problems as texts for people, in the order in which they occurred."""
        self.unread: list[str] = []
        """Content that kdissect could not decode, a line for each kind."""
        self.results: dict[str, Any] = {}
        """By study, what it returned last."""
        self.final: set[str] = set()
        """Studies whose result is that of the whole input."""
        self.shown = Shown(self.log)
        self.filter_text = ""
        self.coloring: CompiledRules = ()
        """Rules that colour the list."""
        self.changed: Callable[[Change, str], None] = lambda change, what: None
        self._call: Callable[..., Any] = lambda function, *arguments: function(*arguments)
        self._studies: set[str] = set()
        self._loader: WorkerProcess | None = None
        self._workers: dict[str, WorkerProcess] = {}
        self._ahead: set[str] = set()
        """Passes ahead that were begun."""
        self._passes: dict[str, tuple[str, ...]] = {}
        """By worker, the studies it was begun for."""
        self._read: dict[str, float] = {}
        """By study, how much of the inputs it has seen."""
        self._is_listening = False

    @property
    def is_stream(self) -> bool:
        """Whether the inputs can be read but once: then studies see everything, whatever the filter says."""
        return self.order.live is not None or any(_is_stream(path) for path in self.order.paths)

    def start(self, studies: Iterable[str] = (FINDINGS,)) -> None:
        """Start reading. `studies` run from the beginning if inputs are streams, else afterwards.

        With them start the studies that views may ask for later.
        """
        shown = (name for view in VIEWS for name in view.studies)
        self._studies = {*studies, *(shown if self.is_stream else ())}
        first = tuple(sorted(self._studies)) if self.is_stream else ()
        self._loader = WorkerProcess(self.order._replace(rows=True, studies=first))

    def listen(self, call: Callable[..., Any]) -> None:
        """Take what workers send; `call(function, *arguments)` runs a function on the screen's thread."""
        self._call = call
        self._is_listening = True
        if self._loader is not None:
            self._listen("load", self._loader)

    def close(self) -> None:
        """End all workers."""
        self._is_listening = False
        for worker in (self._loader, *self._workers.values()):
            if worker is not None:
                worker.stop()
        self._workers.clear()
        self._spool_file.close()

    # what views ask for

    def ask(self, studies: Iterable[str]) -> None:
        """Start the studies that have not started. Their results come with `Change.RESULT`."""
        new = set(studies) - self._studies
        self._studies |= new
        new -= self.final  # they ran ahead
        for key, names in AHEAD.items():
            wanted = new & names
            if not wanted:
                continue
            self._go_ahead(key, ASKED_NICE)
            worker = self._workers.get(key)
            if worker is not None:
                worker.want(wanted)
                new -= wanted
        if new and not self.is_stream:
            self._study(new)  # also while the rows come in: it gives way to their worker

    def how_far(self, study: str) -> float:
        """Return the part of the inputs that an unfinished study has seen: 0 to 1."""
        return self._read.get(study, 0.0)

    def set_filter(self, text: str) -> None:
        """Show only exchanges that a filter takes. Raises FilterError and then changes no state."""
        predicate = compile_filter(text) if text.strip() else None
        self.filter_text = text.strip()
        self._show(predicate)
        stopped = self._workers.pop("filter", None)
        if stopped is not None:
            stopped.stop()
        if self.shown.needs_worker:
            self._run("filter", self.order._replace(filter=self.filter_text, matches=True))
        self.changed(Change.SHOWN, "")
        self._restudy()

    def advance(self, budget_s: float) -> bool:
        """Go on with the filter for at most `budget_s` seconds. Return whether some work is left."""
        return self.shown.advance(budget_s)

    def _show(self, predicate: Predicate | None) -> None:
        needs_worker = (
            predicate is not None
            and predicate.needs_bodies
            and not predicate.needs_findings
            and not self.is_stream
        )
        frozen_at = self.shown.frozen_at
        self.shown = Shown(self.log, predicate, needs_worker, self.progress.file_names)
        self.shown.frozen_at = frozen_at

    # workers

    def _study(self, names: Iterable[str]) -> None:
        """Make one pass over the inputs for some studies. Findings always cover all exchanges."""
        names = set(names)
        if FINDINGS in names:
            self.is_judging = True
            self._run(FINDINGS, self.order._replace(studies=(FINDINGS,), nice=FINDINGS_NICE))
            names.discard(FINDINGS)
        if names:
            key = "study " + " ".join(sorted(names))
            self._run(key, self.order._replace(
                studies=tuple(sorted(names)), nice=ASKED_NICE, filter=self.filter_text
            ))  # fmt: skip

    def _restudy(self) -> None:
        """Run the studies that views asked for again with the new filter, and forget results that ran
        ahead.
        """
        if self.is_stream:
            return
        for key in [key for key in self._workers if key.startswith("study ")]:
            self._workers.pop(key).stop()
        for name in set(self.results) - self._studies:
            del self.results[name]
        self.final &= {FINDINGS}
        self._study(self._studies - {FINDINGS})

    def _go_on_ahead(self) -> None:
        """Begin the next pass ahead of the views: statistics, one after the other from the first rows on."""
        for key in STATISTICS_AHEAD:
            if self._workers.keys().isdisjoint(STATISTICS_AHEAD):
                self._go_ahead(key, STATISTICS_NICE)
        if not self.is_loading:
            self._go_ahead(CAUSES_AHEAD, CAUSES_NICE)

    def _go_ahead(self, key: str, nice: int) -> None:
        """Begin a pass, once, for studies that views may ask for, if the findings are wanted and the inputs
        are small.
        """
        total = self.progress.total
        is_due = FINDINGS in self._studies and total is not None and total <= AHEAD_BYTES
        if key in self._ahead or not is_due or self.filter_text or self.is_stream:
            return
        self._ahead.add(key)
        names = AHEAD[key] - self.final
        if not names:
            return
        wanted = tuple(sorted(names & self._studies))
        self._run(key, self.order._replace(studies=tuple(sorted(names)), nice=nice, wanted=wanted))

    def _run(self, key: str, order: Order) -> None:
        old = self._workers.pop(key, None)
        if old is not None:
            old.stop()
        self._passes[key] = order.studies
        self._read |= dict.fromkeys(order.studies, 0.0)
        worker = self._workers[key] = WorkerProcess(order)
        self._listen(key, worker)

    def _listen(self, key: str, worker: WorkerProcess) -> None:
        def take(message: Any) -> None:
            if self._is_listening:
                self._call(self._take, key, worker, message)

        def ended() -> None:
            if self._is_listening:
                self._call(self._ended, key, worker)

        worker.listen(take, ended)

    # what workers send

    def _take(self, key: str, worker: WorkerProcess, message: Any) -> None:
        if worker.is_stopped:
            return
        if isinstance(message, Rows):
            self.log.extend(message.batch)
            self.changed(Change.ROWS, "")
            self._go_on_ahead()  # the first rows are there
        elif isinstance(message, Progress):
            self._take_progress(key, message)
        elif isinstance(message, Result):
            self.results[message.study] = message.value
            if message.is_final:
                self.final.add(message.study)
            self.changed(Change.RESULT, message.study)
        elif isinstance(message, Codes):
            self._take_codes(message)
        elif isinstance(message, Matches):
            self.shown.take(array("I", message.rows))
            self.changed(Change.SHOWN, "")
        elif isinstance(message, Done):
            self._done(key, message)
        elif isinstance(message, Failed):
            self._trouble(f"{_WHAT.get(key, 'an analysis')} stopped: {message.text} (a bug of kdissect)")

    def _take_progress(self, key: str, message: Progress) -> None:
        if key == "load":
            self.progress = message
            self.changed(Change.PROGRESS, "")
        elif message.total:
            self._read |= dict.fromkeys(self._passes[key], min(message.done / message.total, 1.0))

    def _take_codes(self, message: Codes) -> None:
        for connection, ordinal, code in message.codes:
            self.log.add_code(connection, ordinal, code)
        self.changed(Change.CODES, "")
        self._ask_again()

    def _ask_again(self) -> None:
        """Test a filter on findings again on all rows, as more findings are known."""
        predicate = self.shown.predicate
        if predicate is not None and predicate.needs_findings and not self.shown.needs_worker:
            self._show(predicate)
            self.changed(Change.SHOWN, "")

    def _done(self, key: str, message: Done) -> None:
        if key == FINDINGS:
            self.is_judging = False
            self.changed(Change.CODES, "")
        elif key == "filter":
            self.shown.is_searching = False
            self.changed(Change.SHOWN, "")
        elif key == "load":
            for error in message.errors:
                self._trouble(error)
            for line in message.unread:
                self.unread.append(line)
                self.changed(Change.TROUBLE, line)

    def _ended(self, key: str, worker: WorkerProcess) -> None:
        if worker.is_stopped:
            return
        worker.stop()
        self._workers.pop(key, None)
        if key == "load":
            self.is_loading = False
            self.changed(Change.LOADED, "")
            if not self.is_stream and FINDINGS in self._studies:
                self._study({FINDINGS})
        self._go_on_ahead()

    def _trouble(self, text: str) -> None:
        self.troubles.append(text)
        self.changed(Change.TROUBLE, text)


_WHAT = {"load": "reading", "filter": "filtering", FINDINGS: "the search for findings"}


def _is_stream(path: str) -> bool:
    if path == STDIN:
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path)  # noqa: PTH112, PTH116
    except OSError:  # a pattern, or it is not there
        return False


def terminal_for_keys() -> int:
    """Read keys from the terminal, as the standard input is the capture. Return the capture's handle.

    Raises OSError if there is no terminal.
    """
    terminal = os.open("/dev/tty", os.O_RDWR)
    capture = os.dup(0)
    os.dup2(terminal, 0)
    os.close(terminal)
    return capture
