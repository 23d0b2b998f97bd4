"""Worker processes: started, listened to in the order of what they send, ended."""

from __future__ import annotations

import os
import subprocess
import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

from kdissect.cli.jobs.line_merge import LineMerge
from kdissect.cli.jobs.pipes import receive, widen
from kdissect.cli.jobs.shard_process import OVER
from kdissect.engine.shards import before_batch

# Instead of a message's kind (`worker_messages`): all messages with keys before this one were yielded.
UNTIL = -2


class JobError(Exception):
    """A worker ended, or the command needs a single process. The message says which."""


class Workers:
    """`count` workers for the arguments of `kdissect inspect`. They run within the context, and end
    with it.
    """

    def __init__(self, count: int, arguments: Sequence[str]) -> None:
        self._pipes: list[int] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._count = count
        self._arguments = arguments

    def __enter__(self) -> Workers:
        try:
            for index in range(self._count):
                self._start(index)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def received(self, merge: LineMerge) -> Iterator[tuple[Any, ...]]:
        """Yield the messages of all workers, in the order of the keys, as far as all have come. Rows and
        their lines go to `merge`, and an UNTIL says up to which key these are complete. Raises JobError.
        """
        held: list[list[tuple[Any, ...]]] = [[] for _ in self._pipes]
        reached = [0] * self._count
        bound = 0
        while bound < OVER:
            slowest = reached.index(min(reached))  # the others wait for it: their pipes are full
            reached[slowest], more, rows, lines = self._receive(slowest)
            held[slowest] += more
            merge.add(slowest, rows, lines)
            if min(reached) == bound:
                continue
            bound = min(reached)
            ready: list[tuple[Any, ...]] = []
            for mine in held:
                cut = bisect_left(mine, (before_batch(bound),))
                ready += mine[:cut]
                del mine[:cut]
            ready.sort()
            yield from ready
            yield before_batch(bound), UNTIL

    def _start(self, index: int) -> None:
        pipe, messages = os.pipe()
        widen(pipe)
        self._pipes.append(pipe)
        try:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "kdissect.cli.jobs.shard_process"),
                    *(str(index), str(self._count), str(messages)),
                    *self._arguments,
                ],
                pass_fds=[messages],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is for this process, which ends them
            )
        finally:
            os.close(messages)
        self._processes.append(process)

    def _receive(self, index: int) -> tuple[int, list[tuple[Any, ...]], bytes, bytes]:
        try:
            message, lines = receive(self._pipes[index])
        except EOFError:
            raise JobError(self._why_gone(index)) from None
        return opened(message, lines)

    def _why_gone(self, index: int) -> str:
        code = self._processes[index].wait()
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"worker {index + 1} of {self._count} {how}: what it had yet to read is missing"

    def _end(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        for pipe in self._pipes:
            os.close(pipe)
        self._pipes.clear()


def opened(
    message: tuple[int, list[tuple[Any, ...]], bytes], lines: memoryview
) -> tuple[int, list[tuple[Any, ...]], bytes, bytes]:
    """Return a worker's message with bytes instead of their lengths, and rows with their lines."""
    reached, sized, rows = message
    things, at = [], 0
    for key, kind, size, *more in sized:
        things.append((key, kind, lines[at : at + size], *more))
        at += size
    return reached, things, rows, bytes(lines[at:])
