"""A worker process: reads the inputs and sends what the screen shows.

`python -m kdissect.tui.processes.screen_worker IN OUT`: orders come in, messages go out, by inherited pipes.

A process and not a thread, because analysis is work for the CPU in pure Python: a thread would take the
interpreter's lock from the keys (docs/tui.md has the figures). IN and OUT are inherited pipes: an `Order`
comes in, then what is `Wanted`. Messages go out. When IN is closed, the screen has ended, and the worker
ends.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from threading import Lock, Thread
from traceback import format_exc
from typing import TYPE_CHECKING, Any

from kdissect.api import Dissection
from kdissect.capture.files import Captures
from kdissect.engine.exchange_log.log_writer import LogWriter
from kdissect.history.topics.topic_names import TopicNames, tells_names
from kdissect.model import faults
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.errors import KdissectError
from kdissect.model.limits import use
from kdissect.model.native import is_compiled, native
from kdissect.session.events import ConnectionClosed, ConnectionOpened, Event, Events
from kdissect.session.exchange import Exchange
from kdissect.stages.block_takers import BlockTaker, take_block
from kdissect.tui.processes.spool import SpoolWriter
from kdissect.tui.processes.worker_messages import (
    Done,
    Failed,
    Matches,
    Order,
    Progress,
    Result,
    Rows,
    Wanted,
    receive,
    send,
)
from kdissect.tui.studies.study import Study, StudyContext, new_studies

if TYPE_CHECKING:
    from kdissect.capture.live.live_settings import LiveSettings
    from kdissect.engine.records.record_values import RecordValues
    from kdissect.query.predicate import Predicate

# The first rows go at once, later rows in larger parcels: each parcel costs the screen about a millisecond.
_FIRST_FLUSH_S = 0.02
_FLUSH_S = 0.15
_ROWS_A_PARCEL = 4000
_FIRST_RESULT_S, _RESULT_S = 0.3, 1.0


def _cut(captures: Captures) -> Iterator[str]:
    """Yield anomalies of files that end inside a packet, other than files of a live capture."""
    for file in () if captures.is_live else captures.files:
        if file.error is None:
            yield from file.anomaly_texts(AnomalyKind.CUT_CAPTURE)


class Worker:
    """Carries out one order."""

    def __init__(self, order: Order, out: int) -> None:
        self._order = order
        self._out = out
        self._dissection = _open(order)
        self._spool = SpoolWriter(order.spool) if order.spool >= 0 else None
        put = None if self._spool is None else self._spool.put
        self._writer = LogWriter(put, self._can_read_again, tells_names)
        self._exchanges = 0
        self._studies: list[Study] | None = None
        self._is_by_kind = False
        self._accepts = self._filter() if order.filter else None
        self._asked: Exchange | None = None
        self._answer = True
        self._matches = array("I")
        self._next_flush = time.monotonic() + _FIRST_FLUSH_S
        self._next_result = time.monotonic() + _FIRST_RESULT_S
        self._wanted = frozenset(order.studies if order.wanted is None else order.wanted)
        self._told: frozenset[str] = frozenset()  # studies of which a result was sent
        self._points: dict[int, int] = {}
        self._named = 0  # topic ids whose names were sent
        self._lock = Lock()
        self._is_over = False

    def run(self) -> None:
        """Read everything."""
        self._tell_progress()
        if self._dissection.captures.is_live:
            Thread(target=self._tick, daemon=True).start()
        self._dissection.guard.each(self._dissection.batches(), self._step)
        with self._lock:
            for study in self.studies:
                study.finish()
            self._flush()
            self._tell_results(frozenset(self._order.studies), is_final=True)
            captures, guard = self._dissection.captures, self._dissection.guard
            errors = (*captures.errors, *guard.errors, *_cut(captures))
            self._send(Done(tuple(map(str, errors)), tuple(self._dissection.unread().lines())))
            self._is_over = True

    def want(self, studies: Sequence[str]) -> None:
        """Send what these studies know before they are over, too. Called by another thread."""
        self._wanted |= frozenset(studies)

    def _step(self, events: Events) -> None:
        with self._lock:
            self._take(events)
            if self._order.rows:
                self._note_points()
            if time.monotonic() > self._next_flush:
                self._flush()

    def _tick(self) -> None:
        """Flush the last rows, so that they do not wait for the next packet, which may never come."""
        while not self._is_over:
            time.sleep(_FLUSH_S)
            with self._lock:
                if not self._is_over and time.monotonic() > self._next_flush:
                    self._flush()

    def _take(self, events: Events) -> None:
        """Rows first: studies may take their time."""
        first = self._exchanges
        if is_compiled and isinstance(events, native.ExchangeBlock):
            self._exchanges += len(events)
            take_block(events, self._takers(first), self._dissection.guard.note)
            if self._writer.waiting >= _ROWS_A_PARCEL:
                self._flush()
            return
        for event in events:
            if isinstance(event, Exchange):
                self._exchanges += 1
                if self._order.rows:
                    self._add(event)
            elif self._order.rows:
                self._connection(event)
        if self._order.rows and time.monotonic() > self._next_flush:
            self._flush()
        if self._order.studies or self._order.matches:
            self._study(events, first)

    def _add(self, exchange: Exchange) -> None:
        self._dissection.topics.pass_by(exchange)
        self._writer.add(exchange)
        if self._writer.waiting >= _ROWS_A_PARCEL:
            self._flush()

    def _takers(self, first: int) -> list[BlockTaker]:
        """Return the takers of a block. `first` is the row of its first exchange."""
        takers = []
        if self._order.rows:
            takers.append(BlockTaker(self._writer.take_block, lambda exchange, _: self._add(exchange)))
        for study in self.studies:
            takers += study.takers() or [self._taker(study)]
        if self._order.matches:
            takers.append(BlockTaker(_each, lambda exchange, at: self._match(exchange, first + at)))
        return takers

    def _taker(self, study: Study) -> BlockTaker:

        def add(exchange: Exchange, _: int) -> None:
            study.takes = self._is_taken(exchange)
            _add(study, exchange)

        return BlockTaker(study.count_block if study.takes_blocks else _each, add)

    def _match(self, exchange: Exchange, row: int) -> None:
        if self._is_taken(exchange):
            self._matches.append(row)

    def _is_taken(self, exchange: Exchange) -> bool:
        """Return whether the filter takes an exchange, tested once for all studies."""
        if exchange is not self._asked:
            self._asked, self._answer = exchange, self._accepts is None or self._accepts(exchange)
        return self._answer

    def _study(self, events: Events, row: int) -> None:
        """Have the studies see what the filter takes; `row` is that of the first exchange."""
        studies = self.studies
        for event in events:
            if not isinstance(event, Exchange):
                for study in studies:
                    _add(study, event)
                continue
            if self._order.matches:
                self._match(event, row)
            for study in studies:
                study.takes = self._is_taken(event)
                _add(study, event)
            row += 1

    @property
    def studies(self) -> list[Study]:
        """The studies, made when the first rows are on their way: their modules are many."""
        if self._studies is None:
            topics = self._dissection.topics
            context = StudyContext(
                topics,
                bool(self._order.filter),
                topics.topics_of,
                self._send,
                self._dissection.file_names,
                self._accepts if self._is_by_kind else None,
            )
            self._studies = new_studies(self._order.studies, context)
        return self._studies

    def _connection(self, event: ConnectionOpened | ConnectionClosed) -> None:
        if isinstance(event, ConnectionClosed):
            self._writer.close(event.connection)
        else:
            self._writer.connection(event.connection)

    def _can_read_again(self, file: int) -> bool:
        found = self._dissection.captures.files[file]
        return found.can_resume and not found.is_request_log

    def _note_points(self) -> None:
        for file in self._dissection.captures.files:
            point = file.resume_point
            if point is not None and self._points.get(file.index) != point.packets:
                self._points[file.index] = point.packets
                self._writer.point(file.index, point)

    def _filter(self) -> Any:
        # start-up: the first rows have no filter, few filters ask for findings
        from kdissect.query import Context, compile_filter

        topics_of, names = self._dissection.topics.topics_of, self._dissection.file_names
        predicate = compile_filter(self._order.filter)
        self._is_by_kind = predicate.is_by_kind
        findings_of = None
        if predicate.needs_findings:
            from kdissect.stages.codes_by_exchange import codes_by_exchange  # start-up: the rules

            findings_of = codes_by_exchange(_open(self._order)).of
        return predicate.bind(
            Context(
                self._start_ns, topics_of, findings_of, names, self._values(predicate),
                self._dissection.topics.of_records,
            )
        )  # fmt: skip

    def _values(self, predicate: Predicate) -> RecordValues:
        from kdissect.engine.records.record_values import RecordValues  # start-up: few filters ask for it

        if not (self._order.schemas and predicate.needs_records):
            return RecordValues()
        from kdissect.serdes.schema_files import load_schemas  # start-up: the same

        return RecordValues(load_schemas(self._order.schemas))

    def _start_ns(self) -> int:
        times = [file.first_time_ns for file in self._dissection.captures.files]
        return min((time_ns for time_ns in times if time_ns is not None), default=0)

    # to the screen

    def _send(self, message: object) -> None:
        send(self._out, message)

    def _flush(self) -> None:
        if self._order.rows:
            self._send(Rows(self._writer.take(self._new_names(), self._start_ns())))
        if self._matches:
            self._send(Matches(self._matches.tobytes()))
            self._matches = array("I")
        self._tell_progress()
        now = time.monotonic()
        self._next_flush = now + _FLUSH_S
        wanted = self._wanted
        is_new = not wanted <= self._told
        if wanted and (now > self._next_result or is_new):
            self._tell_results(wanted, is_final=False)
            self._next_result = time.monotonic() + (_FIRST_RESULT_S if is_new else _RESULT_S)

    def _new_names(self) -> dict[bytes, str]:
        names = self._dissection.topics.plain_names()
        if len(names) == self._named:
            return {}
        self._named = len(names)
        return names

    def _tell_progress(self) -> None:
        captures = self._dissection.captures
        files = captures.files
        done = sum(file.source.bytes_read for file in files)
        packets = sum(file.packets for file in files)
        drops = sum(file.drops for file in files)
        self._send(Progress(done, captures.total_bytes, packets, drops, tuple(self._dissection.file_names)))

    def _tell_results(self, wanted: frozenset[str], is_final: bool) -> None:
        for study in self.studies:
            if study.name in wanted:
                self._send(Result(study.name, study.result(), is_final))
        self._told = wanted


def _each(_block: native.ExchangeBlock, start: int) -> int:
    """Return `start`: the block's exchanges become objects first."""
    return start


def _add(study: Study, event: Event) -> None:
    """Have a study see an event that counts, if the filter takes it or is the study's own."""
    if study.counts_once and event.connection.same_as is not None:
        return
    if study.takes or study.has_own_filter or not isinstance(event, Exchange):
        study.add(event)


def _open(order: Order) -> Dissection:
    source: Sequence[str] | Captures = order.paths
    if order.live is not None:
        source = _capture(order.live)
    dissection = Dissection(
        source, order.ports.brokers, order.topic_ids, order.key_logs, order.hosts, only_ports=order.ports.only
    )
    if order.rows:  # names are learned as they come: a second reading would hold the first rows back
        dissection.topics = TopicNames(order.topic_ids)
    return dissection


def _capture(settings: LiveSettings) -> Captures:
    """Start a live capture, which ends with this process. Raises LiveError."""
    from kdissect.capture.live.captures import open_live  # start-up: most inputs are files

    captures = open_live(settings)
    atexit.register(captures.close)
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    return captures


def main(arguments: Sequence[str]) -> int:
    """Carry out the order that comes in."""
    order_pipe, out = map(int, arguments)
    order: Order = receive(order_pipe)
    use(order.limits)
    # an exception in one input does not keep later inputs off the screen
    faults.use(lambda _error: None)
    if order.stdin >= 0:
        os.dup2(order.stdin, 0)
    os.nice(order.nice)
    workers: list[Worker] = []
    _listen(order_pipe, workers)
    try:
        workers.append(Worker(order, out))
        workers[0].run()
    except KdissectError as error:  # no live capture
        send(out, Done((str(error),)))
    except OSError:
        return 1  # the screen has ended
    except Exception as error:
        send(out, Failed(f"{type(error).__name__}: {error}", format_exc()))
        return 1
    return 0


def _listen(pipe: int, workers: list[Worker]) -> None:
    """Hear what is wanted, and end when the screen's process ends, also while waiting for a packet that never
    comes.
    """

    def watch() -> None:
        try:
            while True:
                message: Wanted = receive(pipe)
                for worker in workers:
                    worker.want(message.studies)
        except (EOFError, OSError):
            os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
