"""A worker process: `python -m kdissect.cli.jobs.shard_process INDEX COUNT PIPE ARGUMENT...`.

It reads the inputs in the arguments of `kdissect inspect`, and writes its results into PIPE: messages (the
current batch, messages with their keys, rows of lines as `line_merge` has them), and next to them the lines,
whose lengths both contain: first the lines of messages with keys. It ends when the pipe has no reader.
"""

from __future__ import annotations

import gc
import pickle
import signal
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from kdissect.api import Dissection
from kdissect.capture.files import ends_of
from kdissect.cli import COLLECT_EVERY
from kdissect.cli.diagnostics import OK, UNREADABLE, bound_faults, say
from kdissect.cli.input_states import InputStates, states_of
from kdissect.cli.jobs.line_merge import KEY_BYTES, line_row
from kdissect.cli.jobs.pipes import send
from kdissect.cli.jobs.shard_messages import LINE, MessageMaker
from kdissect.cli.options.exchange_options import inspect_options
from kdissect.cli.options.filter_option import open_filtered, selected
from kdissect.engine.shards import LAST_BATCH, EventKey, KeyedEvents, Shard, ShardAnalyzer, before_batch
from kdissect.model.faults import fault_text, is_fault
from kdissect.model.native import native
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange

# Sent at once. Larger messages keep others waiting, smaller ones cost more than what is in them.
MESSAGE_BYTES = 1 << 18
# A worker without results reports its progress after this number of batches: the other workers' lines wait
# for it.
MESSAGE_BATCHES = 16
# Size of a message without its bytes.
_EACH = 100
OVER = LAST_BATCH + 1


"""The batch that a worker has come to at its end."""


class Worker:
    """Sends what one shard shows."""

    def __init__(self, shard: Shard, pipe: int, dissection: ShardDissection, options: Namespace) -> None:
        self._pipe = pipe
        self._dissection = dissection
        self._options = options
        self._shard = shard.number
        self._sends_files = shard.number == 0
        self._states: InputStates | None = None
        self._held: list[tuple[Any, ...]] = []
        self._lines: list[bytes] = []
        self._rows: list[bytes] = []
        self._lines_of_rows: list[bytes] = []
        self._bytes = 0
        self._accepts = selected(options, dissection)
        self._maker = MessageMaker(dissection, options)
        self._filler = self._maker.filler if self._accepts is None else None

    def run(self) -> None:
        """Read everything."""
        last = 0
        for batch, placed in enumerate(self._dissection.placed()):
            # Where one process stops it knows no more of its inputs.
            if self._options.limit and self._sends_files:
                self._send_files(batch)
            for events in placed:
                if isinstance(events, list):
                    for key, event in events:
                        self._take(key, event)
                else:
                    self._take_block(events, batch)
                if self._bytes >= MESSAGE_BYTES:
                    self._flush(batch)
                    last = batch
            if batch - last >= MESSAGE_BATCHES:
                self._flush(batch + 1)
                last = batch
        self._send_files(LAST_BATCH)
        self._flush(OVER)

    def _take_block(self, block: native.ExchangeBlock, batch: int) -> None:
        at = self._hold_rows(block, 0, batch)
        while at < len(block):
            event = block[at]
            self._take(self._dissection.analyzer.key_of(block, at), event)
            at = self._hold_rows(block, at + 1, batch)

    def _hold_rows(self, block: native.ExchangeBlock, start: int, batch: int) -> int:
        """Buffer lines of exchanges from one on, and return the number of the next one for `_take`."""
        if self._filler is None:
            return start
        at, held = self._filler.hold_rows(block, start, batch)
        if held >= MESSAGE_BYTES:
            self._take_rows()
        return at

    def _take_rows(self) -> None:
        if self._filler is not None:
            rows, lines = self._filler.take_rows()
            self._rows.append(rows)
            self._lines_of_rows.append(lines)
            self._bytes += len(rows) + len(lines)

    def _take(self, key: EventKey, event: Event) -> None:
        if not isinstance(event, Exchange):
            return
        try:
            taken = self._accepts is None or self._accepts(event)
            said = self._maker.listed(event) if taken else self._maker.pass_by(event)
        except Exception as error:
            self._dissection.guard.note(error, event)
            return
        if said[0] == LINE and len(key) == KEY_BYTES:
            self._take_rows()  # they stand before it
            line = said[1]
            self._rows.append(line_row(key, line))
            self._lines_of_rows.append(line)
            self._bytes += _EACH + len(line)
        else:
            self._hold(key, *said)

    def _send_files(self, batch: int) -> None:
        states = states_of(self._dissection, self._options)
        if states != self._states:
            self._states = states
            place = before_batch(batch) + self._shard.to_bytes(4)  # several may send at the end
            self._hold(place, FILES, pickle.dumps(states), self._shard)

    def _hold(self, place: EventKey, kind: int, line: bytes = b"", *more: object) -> None:
        self._held.append((place, kind, len(line), *more))
        self._lines.append(line)
        self._bytes += _EACH + len(line)

    def _flush(self, reached: int) -> None:
        self._take_rows()
        rows = b"".join(self._rows)
        send(self._pipe, (reached, self._held, rows), [*self._lines, *self._lines_of_rows])
        for held in (self._held, self._lines, self._rows, self._lines_of_rows):
            held.clear()
        self._bytes = 0


FILES = -1
"""Sent besides the kinds of `worker_messages`: what is wrong with the inputs."""


def main(arguments: Sequence[str]) -> int:
    """Run the worker and return the exit code."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # without a reader, end at once, silently
    gc.set_threshold(COLLECT_EVERY)
    bound_faults(arguments)
    index, count, pipe = map(int, arguments[:3])
    shard = Shard(index, count)
    parser, options = inspect_options(arguments[3:])
    try:
        dissection = open_filtered(parser, options, partial(ShardDissection, shard))
        assert isinstance(dissection, ShardDissection)
        Worker(shard, pipe, dissection, options).run()
    except Exception as error:  # of no input that is known: the listing says what it lacks
        say(fault_text(error) if is_fault(error) else str(error))
        return UNREADABLE
    return OK


# The dissection in one of several processes: the connections of its shard, events with their places.
class ShardDissection(Dissection):
    """`placed()` yields the events of a shard."""

    analyzer: ShardAnalyzer

    def __init__(self, shard: Shard, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **(named | {"shard": shard}))

    def placed(self) -> Iterator[Iterator[KeyedEvents]]:
        """Yield the events of the shard with their keys, for the packets that are read together."""
        analyzer = self.analyzer
        for packets in self.captures.batches():
            yield analyzer.placed(self.guard.fed(packets, analyzer))
        ends = ends_of(self.captures.files)
        closed = [*self.guard.closed(analyzer, lambda: analyzer.close(ends))]
        yield iter([list(analyzer.placed_end(ends, closed))])
        self.is_over = True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
