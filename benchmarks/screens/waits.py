"""What a user of `kdissect tui` waits for in a terminal: first rows, and the rows of each view.

    python -m benchmarks.screens.waits capture.pcap            each view once everything is worked out
    python -m benchmarks.screens.waits --at-once capture.pcap  each view asked for as soon as rows are there

By the clock, from the start of the process or from a key, to what stands in a tmux window: first rows, and
rows that are those of the whole input. `--at-once` opens the screen anew for each view, and tells what stood
there meanwhile. At the end: CPU time of all processes of the screen, peak memory of its process and of its
workers.
"""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.screens.tmux import Terminal

PATIENCE_S = 600
LOOK_S = 0.02
SUMMARY, FIRST_ROW = 3, 5  # lines of the screen: two bars, the filter, what all rows are, their titles
# Of the list, before the other views are asked for.
LIST = re.compile(r"\b(ApiVersions|Metadata|Produce|Fetch)\b")
# Of other views, that more is to come.
SO_FAR = re.compile(r"still counting|so far|\.\.\. *$|^\s*$")
STATISTICS = ("api", "client_id", "topic", "broker", "group", "software", "connection")
# Key, and a word in the line above the table.
VIEWS = {
    "why": ("0", "cause|wrong"), "connections": ("2", "connection"), "topics": ("3", "written"),
    "groups": ("4", "rebalance"), "producers": ("5", "transaction"), "findings": ("7", "finding"),
}  # fmt: skip
KEYS_S = 0.5  # between keys of which the first makes a view


class Waited(NamedTuple):
    """Seconds to the first rows, and to those of everything; what stood there a second after the key."""

    first_s: float
    whole_s: float
    meanwhile: str


class Screen:
    """The screen in a window of its own, and what its processes took."""

    def __init__(self, capture: str, columns: int = 140, lines: int = 40) -> None:
        command = [sys.executable, "-m", "kdissect", "tui", capture]
        self._config = tempfile.TemporaryDirectory()
        self.started = time.monotonic()
        self.terminal = Terminal(command, columns, lines, Path(self._config.name))
        self.process = int(self.terminal.pane_process())
        self.memory: dict[int, int] = {}
        self._next_look = 0.0

    def close(self) -> None:
        """End it."""
        self.terminal.__exit__(None, None, None)
        self._config.cleanup()

    def screens(self) -> Iterator[list[str]]:
        """Yield the lines on screen, over and over. Raises TimeoutError."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            yield self.terminal.screen().splitlines()
            if time.monotonic() > self._next_look:
                self._look_at_memory()
            time.sleep(LOOK_S)
        raise TimeoutError("\n".join(self.terminal.screen().splitlines()))

    def first_rows(self) -> float:
        """Return seconds from the start to exchanges in the list."""
        for lines in self.screens():
            if any(LIST.search(line) for line in lines[SUMMARY:]):
                break
        return time.monotonic() - self.started

    def is_ready(self) -> None:
        """Wait until all is read, judged and worked out ahead."""
        for lines in self.screens():
            top = lines[0] if lines else ""
            is_read = re.search(r"\d exchange", top) and not re.search(r"reading|judging|opening", top)
            if is_read and not self._workers():
                return

    def ask(self, key: str, wanted: str) -> Waited:
        """Press a key; what was waited for a table with `wanted` in its summary."""
        pressed = time.monotonic()
        self.terminal.send(key)
        first, meanwhile = 0.0, ""
        for lines in self.screens():
            now = time.monotonic() - pressed
            summary, row = (*lines, *[""] * FIRST_ROW)[SUMMARY], (*lines, *[""] * 6)[FIRST_ROW]
            if not meanwhile and now > 1:
                meanwhile = f"{summary.strip()} | {row.strip()}"[:110]
            if not re.search(wanted, summary):
                continue
            if row.strip() and not first:
                first = now
            if not SO_FAR.search(summary) and (row.strip() or not first):
                return Waited(first or now, now, meanwhile)
        raise AssertionError

    def cpu_s(self) -> float:
        """CPU seconds of the screen and of workers that are over."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / 100  # clock ticks, proc_pid_stat(5)

    def _workers(self) -> list[int]:
        found = Path(f"/proc/{self.process}/task/{self.process}/children").read_text()
        return [int(number) for number in found.split()]

    def _look_at_memory(self) -> None:
        self._next_look = time.monotonic() + 0.25
        for number in (self.process, *self._workers()):
            try:
                status = Path(f"/proc/{number}/status").read_text()
            except OSError:
                continue
            peak = re.search(r"VmHWM:\s+(\d+) kB", status)
            if peak:
                self.memory[number] = max(self.memory.get(number, 0), int(peak[1]))


def views() -> Iterator[tuple[str, list[str], str]]:
    """Yield each view with the keys that lead to it, and what its summary then has."""
    for name, (key, wanted) in VIEWS.items():
        yield name, [key], wanted
    for number, by in enumerate(STATISTICS):
        yield f"statistics by {by}", ["8", *["b"] * number], f"by {by} "


def when_ready(capture: str) -> None:
    """Each view, once everything is worked out."""
    screen = Screen(capture)
    try:
        print(f"first rows after {screen.first_rows():.2f} s")
        screen.is_ready()
        ready = time.monotonic() - screen.started
        print(f"all is known after {ready:.1f} s: {screen.terminal.screen().splitlines()[0]}")
        for name, keys, wanted in views():
            waited = screen.ask(keys[-1], wanted)
            print(f"{name:26} {waited.whole_s:6.2f} s")
        print(f"CPU {screen.cpu_s():.1f} s")
        tell_memory(screen)
    finally:
        screen.close()


def at_once(capture: str, only: str) -> None:
    """Each view by itself, asked for when the first rows are there."""
    for name, keys, wanted in views():
        if only not in name:
            continue
        screen = Screen(capture)
        try:
            screen.first_rows()
            for key in keys[:-1]:
                screen.terminal.send(key)
                time.sleep(KEYS_S)
            waited = screen.ask(keys[-1], wanted)
            times = f"{waited.first_s:6.2f} s, whole {waited.whole_s:6.2f} s"
            print(f"{name:26} {times}; after 1 s: {waited.meanwhile}", flush=True)
        finally:
            screen.close()


def tell_memory(screen: Screen) -> None:
    """Peaks in MB."""
    own = screen.memory.pop(screen.process, 0)
    workers = ", ".join(f"{peak / 1024:.0f}" for peak in screen.memory.values())
    print(
        f"memory of the screen's process: {own / 1024:.0f} MB at most; of workers, in their order: {workers}"
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("capture")
    parser.add_argument("--at-once", action="store_true")
    parser.add_argument("--only", default="", help="views with this in their names")
    options = parser.parse_args()
    capture = str(Path(options.capture).resolve())
    if options.at_once:
        at_once(capture, options.only)
    else:
        when_ready(capture)


if __name__ == "__main__":
    main()
