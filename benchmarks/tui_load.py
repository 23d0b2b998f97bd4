"""What a user of `kdissect tui` waits for while a large capture is read, measured without a terminal.

    python benchmarks/tui_load.py capture.pcap [--thread] [--size 120x40] [--filter EXPR]

Prints: seconds from the start of the process to the first rows on screen, how long keys take from the press
to the screen that shows what they did (while loading, then afterwards), the jump to the last exchange, the
time until all is read, and the peak memory of the screen's process and of its workers. `--thread` reads in a
thread instead of a process, for comparison.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any, NamedTuple

STARTED = "KDISSECT_BENCH_STARTED"
# Of these keys each changes what is on screen; `end` is measured apart.
KEYS = ("down", "pagedown", "down", "pageup", "down", "right")
# A person holds a key down, about thirty presses a second, then looks, then presses again.
PAUSES_S = (0.033, 0.033, 0.033, 0.033, 0.15, 0.2, 0.25)
# In which a key is to be answered.
SLOW_S = 0.05


class Answer(NamedTuple):
    """What a key took by the clock, and of the process's CPU time, its threads' included.

    On a machine with much else to do the clock tells about the others. Where no other process runs, the CPU
    time is about what the clock would say: threads of one interpreter take turns.
    """

    seconds: float
    cpu_s: float


def main() -> None:
    """Start the measured process anew, so that its start counts."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("capture")
    parser.add_argument("--thread", action="store_true")
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--filter", default="")
    parser.add_argument("--judge", action="store_true", help="wait for the findings, too")
    options = parser.parse_args()
    if STARTED not in os.environ:
        root = str(Path(__file__).parent.parent)
        environment = os.environ | {STARTED: repr(time.time()), "PYTHONPATH": root}
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode)
    started = float(os.environ.pop(STARTED))
    asyncio.run(measure(options, started))


async def measure(options: Namespace, started: float) -> None:
    """Drive the app."""
    from kdissect.tui import session as sessions
    from kdissect.tui.processes.worker_messages import Order

    if options.thread:
        sessions.WorkerProcess = in_thread()  # type: ignore[misc]
    session = sessions.Session(Order((options.capture,)))
    session.start(studies=("findings",) if options.judge else ())
    from kdissect.tui.app import KdissectApp
    from kdissect.tui.panes.exchange_list import ExchangeList

    drawn: list[float] = []

    app = KdissectApp(session)
    display = app._display  # noqa: SLF001 - nothing public tells when a screen was drawn

    def timed(screen: Any, renderable: Any) -> None:
        display(screen, renderable)
        drawn.append(time.perf_counter())

    app._display = timed  # noqa: SLF001  # type: ignore[method-assign]
    width, height = map(int, options.size.split("x"))
    async with app.run_test(size=(width, height)) as pilot:
        shown = app.query_one(ExchangeList)
        while not len(shown.shown) or not drawn:
            await asyncio.sleep(0.005)
        shown.grown()
        await pilot.pause()
        print(f"first rows on screen after {time.time() - started:.2f} s")
        if options.filter:
            session.set_filter(options.filter)
        loading = await press_keys(app, drawn, lambda: session.is_loading)
        report("keys while loading", loading)
        print(f"read after {time.time() - started:.1f} s: {len(session.log):,} exchanges")
        report("jump to the last", [await press(app, drawn, key) for key in ("home", "end") * 5])
        await press(app, drawn, "home")
        report("keys afterwards", await press_keys(app, drawn, lambda: False, 100))
        while options.judge and session.is_judging:
            await asyncio.sleep(0.1)
        if options.judge:
            print(f"judged after {time.time() - started:.1f} s")
        print(f"shown: {len(session.shown):,}; troubles: {session.troubles}")
        print(f"memory of the screen's process: {peak(resource.RUSAGE_SELF):.0f} MB at most")
    print(f"memory of a worker: {peak(resource.RUSAGE_CHILDREN):.0f} MB at most")


async def press_keys(app: Any, drawn: list[float], more: Any, least: int = 0) -> list[Answer]:
    """Press keys as long as `more`, and `least` times."""
    found: list[Answer] = []
    while more() or len(found) < least:
        found.append(await press(app, drawn, KEYS[len(found) % len(KEYS)]))
        if found[-1].cpu_s > SLOW_S:
            print(f"  {KEYS[(len(found) - 1) % len(KEYS)]} {len(found)}: {found[-1].seconds * 1000:.0f} ms, "
                  f"{found[-1].cpu_s * 1000:.0f} ms of CPU")  # fmt: skip
        await asyncio.sleep(PAUSES_S[len(found) % len(PAUSES_S)])
    return found


async def press(app: Any, drawn: list[float], key: str) -> Answer:
    """Press a key as a driver does; what it took until the screen was drawn with what it did."""
    from textual import events

    from kdissect.tui.panes.exchange_list import ExchangeList

    shown = app.query_one(ExchangeList)
    before = shown.cursor, shown.column
    drawn.clear()
    start, cpu = time.perf_counter(), time.process_time()
    app.post_message(events.Key(key, None))
    while (shown.cursor, shown.column) == before and time.perf_counter() - start < 1:
        await asyncio.sleep(0)
    seen = time.perf_counter()
    while not (drawn and drawn[-1] > seen) and time.perf_counter() - start < 1:
        await asyncio.sleep(0.0005)
    return Answer(time.perf_counter() - start, time.process_time() - cpu)


def report(what: str, answers: list[Answer]) -> None:
    """Median, 99 % and worst, in milliseconds, by the clock and of the process's CPU time."""
    if not answers:
        print(f"{what}: none")
        return
    slow = sum(answer.seconds > SLOW_S for answer in answers)
    print(f"{what}: {spread([answer.seconds for answer in answers])} of {len(answers)}, {slow} over 50 ms;")
    print(f"    in CPU time {spread([answer.cpu_s for answer in answers])}")


def spread(values: list[float]) -> str:
    """Median, 99 % and worst."""
    ordered = sorted(each * 1000 for each in values)
    middle, late = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    return f"median {middle:.1f} ms, 99 % {late:.1f} ms, worst {ordered[-1]:.1f} ms"


def peak(who: int) -> float:
    """Peak memory in MB."""
    return resource.getrusage(who).ru_maxrss / 1024


def in_thread() -> Any:
    """Return a replacement for `WorkerProcess` with a thread in it."""
    import threading

    from kdissect.tui.processes.screen_worker import Worker

    class ThreadWorker:
        def __init__(self, order: Any) -> None:
            self.is_stopped = False
            self._order = order

        def listen(self, take: Any, ended: Any) -> None:
            class Sending(Worker):
                def _send(self, message: object) -> None:
                    take(message)

            def run() -> None:
                Sending(self._order, -1).run()
                ended()

            threading.Thread(target=run, daemon=True).start()

        def want(self, studies: Any) -> None:
            """Results are told at the end."""

        def stop(self) -> None:
            self.is_stopped = True

    return ThreadWorker


if __name__ == "__main__":
    main()
