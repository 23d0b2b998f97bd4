"""Runs one target: mutate, run, measure, keep what reached new lines or broke something."""

import gc
import resource
import signal
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from fuzz.coverage import Coverage
from fuzz.outcome import Bug, Outcome, bug_of
from fuzz.target import BrokenInvariantError, Target

# Of so many inputs one is traced for coverage and one has its memory measured: both cost many times the run.
TRACE_EVERY = 32
TRACE_ALL_OF_FIRST = 200
MEASURE_EVERY = 997
# One of so many inputs is a long one, `Target.long` bytes: what a MB takes cannot be told by inputs of some
# hundred bytes, for which what is done once for each of them is all there is. Half of them are one mutant
# many times: what takes time by the square of something in it shows.
LONG_EVERY = 500
LEAST_OF = 3  # runs of an input that seems slow: the others on the machine are not its fault
MOST_PARTS = 4096  # of a long input
FREE_BYTES = 4 << 20
HANG_SECONDS = 20
MOST_CORPUS = 4000
MOST_BUGS = 40
KEPT_OF_A_BUG = 3


class HangError(Exception):
    """An input that did not come to an end."""


def _hang(_signal: int, _frame: object) -> None:
    raise HangError(f"more than {HANG_SECONDS} s of CPU")


class Runner:
    """One target with its corpus and figures. The same seed gives the same inputs."""

    def __init__(self, target: Target, seed: int, crashes: Path) -> None:
        self._target = target
        self._dice = Random(f"{target.name} {seed}")
        self._crashes = crashes
        self._coverage = Coverage()
        self._corpus = target.seeds()
        self._bugs: Counter[str] = Counter()
        self._inputs = 0
        self._worst = self._slowest = 0.0
        for data in self._corpus:
            self._run(data)
        # What stands now is the fuzzer's: no search for cycles that an input sets off is to go through it.
        gc.collect()
        gc.freeze()

    def run(self, runs: int, seconds: float, tell: Callable[[Outcome], None] | None = None) -> Outcome:
        """Until `runs` inputs (0: any number) or `seconds` (0: any) are over, or too many bugs were found."""
        signal.signal(signal.SIGPROF, _hang)
        start = time.process_time()
        last = wall = time.monotonic()
        while (not runs or self._inputs < runs) and len(self._bugs) < MOST_BUGS:
            for _ in range(LONG_EVERY):
                self._run(self._mutant())
            self._run_long(self._long())
            now = time.monotonic()
            if seconds and now - wall > seconds:
                break
            if tell is not None and now - last > 60:
                last = now
                tell(self.outcome(time.process_time() - start))
        return self.outcome(time.process_time() - start)

    def outcome(self, seconds: float) -> Outcome:
        """Return the figures so far."""
        reached, lines = self._coverage.of(self._target.modules)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return Outcome(
            self._target.name,
            self._inputs,
            round(seconds, 1),
            len(self._corpus),
            reached,
            lines,
            self._coverage.total,
            round(self._worst, 3),
            round(self._slowest * 1000, 1),
            round(peak, 1),
            dict(self._bugs),
        )

    def _mutant(self) -> bytes:
        dice, corpus = self._dice, self._corpus
        # What was found lately leads to what was not found yet.
        first = dice.random() if dice.random() < 0.6 else 1 - dice.random() ** 3
        data = corpus[min(int(first * len(corpus)), len(corpus) - 1)]
        other = corpus[int(dice.random() * len(corpus))]
        return self._target.mutate(data, dice, other)[: self._target.longest]

    def _long(self) -> bytes:
        target, first = self._target, self._mutant()
        if self._dice.random() < 0.5:
            return target.grow([first] * min(target.long // max(len(first), 1) + 1, MOST_PARTS))
        parts, size = [first], len(first)
        while size < target.long and len(parts) < MOST_PARTS:
            parts.append(self._mutant())
            size += len(parts[-1])
        return target.grow(parts)

    def _run_long(self, data: bytes) -> None:
        self._inputs += 1
        self._guarded(data, self._timed_long)

    def _run(self, data: bytes) -> None:
        self._inputs += 1
        count = self._inputs
        if count % TRACE_EVERY == 0 or count <= TRACE_ALL_OF_FIRST:
            self._guarded(data, self._traced)
        elif count % MEASURE_EVERY == 0:
            self._guarded(data, self._measured)
        else:
            self._guarded(data, self._timed)

    def _guarded(self, data: bytes, run: Callable[[bytes], None]) -> None:
        try:
            signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS)
            run(data)
        except Exception as error:  # whatever it is, it is a bug
            self._note(bug_of(error, data))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _traced(self, data: bytes) -> None:
        with self._coverage:
            self._target.run(data)
        if self._coverage.take_new() and len(self._corpus) < MOST_CORPUS:
            self._corpus.append(data)

    def _timed(self, data: bytes) -> None:
        took, added = self._once(data)
        if took > self._slowest:
            self._slowest = max(self._slowest, took := self._least(data, took))
        self._hold(took, len(data) + added)

    def _timed_long(self, data: bytes) -> None:
        took, added = self._once(data)
        size = len(data) + added
        if took / max(size, self._target.long) * 1e6 > self._worst:
            took = self._least(data, took)
            self._worst = max(self._worst, took / max(size, self._target.long) * 1e6)
        self._hold(took, size)

    def _hold(self, took: float, size: int) -> None:
        """Fail for an input that took longer than its bytes allow."""
        if took > self._target.free_seconds + self._target.seconds_per_mb * size / 1e6:
            raise BrokenInvariantError(f"{took:.3f} s for {size} bytes")

    def _least(self, data: bytes, took: float) -> float:
        return min(took, *(self._once(data)[0] for _ in range(LEAST_OF - 1)))

    def _once(self, data: bytes) -> tuple[float, int]:
        begin = time.thread_time()
        added = self._target.run(data)
        return time.thread_time() - begin, added

    def _measured(self, data: bytes) -> None:
        self._target.run(data)  # fills what is filled once
        tracemalloc.start()
        try:
            added = self._target.run(data)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        if peak > FREE_BYTES + self._target.bytes_per_byte * (len(data) + added):
            raise BrokenInvariantError(f"{peak} bytes of memory for {len(data)}")

    def _note(self, bug: Bug) -> None:
        self._bugs[bug.key] += 1
        if self._bugs[bug.key] <= KEPT_OF_A_BUG:
            with suppress(OSError):
                path = bug.keep(self._crashes, self._target.name)
                print(f"{self._target.name}: {bug.key}: {path}", flush=True)
