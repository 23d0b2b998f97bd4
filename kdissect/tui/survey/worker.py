"""The process of a survey: a job comes in on standard input, snapshots go out on standard output, pickled.

After the job come sets of parts that are wanted; each set replaces the one before. It ends with the program
that started it: when its input is closed, or nobody reads what it says.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import IO, Any

from kdissect.api import Dissection
from kdissect.tui.survey.accepts import accepts_of
from kdissect.tui.survey.job import Codes, Job, Snapshot
from kdissect.tui.survey.survey import Survey

EVENTS_BETWEEN_LOOKS = 64  # at the clock, some 5 ms
FIRST_SECONDS = 0.2  # until the first snapshot: something to see
SECONDS = 1.0  # between snapshots while reading
_SHARE = 10  # snapshots take at most this part of the time
_NICER = 10  # the program that answers keystrokes goes first

Answer = Callable[[Snapshot | Codes], None]


class Worker:
    """Runs one job. `wanted` gives the sets of parts; `answer` takes what is told."""

    def __init__(self, job: Job, wanted: SimpleQueue[frozenset[str]], answer: Answer) -> None:
        self._job = job
        self._wanted = wanted
        self._answer = answer
        self._parts: frozenset[str] = frozenset()
        self._next = monotonic() + FIRST_SECONDS
        self._is_over = False

    def run(self) -> None:
        """Read the inputs, then answer for ever."""
        job = self._job
        dissection = Dissection(job.paths, job.ports, job.topic_ids, job.key_logs, job.hosts)
        self._survey = survey = Survey(dissection.topics, accepts_of(job, dissection), job.by)
        left = EVENTS_BETWEEN_LOOKS
        for event in dissection.events():
            survey.add(event)
            left -= 1
            if not left:
                left = EVENTS_BETWEEN_LOOKS
                self._look()
        survey.finish()
        self._is_over = True
        self._tell(self._parts)
        self._tell_codes()
        while True:
            parts = self._wanted.get()
            self._tell(parts - self._parts)
            self._parts = parts

    def _look(self) -> None:
        """See what is wanted, and tell it if it is time to."""
        new = self._new_parts()
        now = monotonic()
        if now >= self._next:
            new = self._parts
            self._tell_codes()
        elif not new:
            return
        self._tell(new)
        took = monotonic() - now
        self._next = now + max(SECONDS, took * _SHARE)

    def _new_parts(self) -> frozenset[str]:
        before = self._parts
        try:
            while True:
                self._parts = self._wanted.get_nowait()
        except Empty:
            return self._parts - before

    def _tell(self, parts: frozenset[str]) -> None:
        for part in sorted(parts):
            self._answer(Snapshot(part, self._survey.facts(part), self._survey.exchanges, self._is_over))

    def _tell_codes(self) -> None:
        changed = self._survey.findings.take_changed()
        self._answer(Codes(changed, self._survey.exchanges, self._is_over))


def main() -> None:
    """The process."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    if hasattr(os, "nice"):
        os.nice(_NICER)
    requests = sys.stdin.buffer
    job = pickle.load(requests)
    wanted: SimpleQueue[frozenset[str]] = SimpleQueue()
    Thread(target=_listen, args=(requests, wanted), daemon=True).start()

    def answer(what: Any) -> None:
        pickle.dump(what, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()

    try:
        Worker(job, wanted, answer).run()
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)


def _listen(requests: IO[bytes], wanted: SimpleQueue[frozenset[str]]) -> None:
    """Take what is wanted; leave when nobody asks any more."""
    try:
        while True:
            wanted.put(pickle.load(requests))
    except (EOFError, OSError, pickle.UnpicklingError):
        os._exit(0)


if __name__ == "__main__":
    main()
