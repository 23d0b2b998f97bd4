"""What `pipeline watch` says on stderr: a line for each batch, which a terminal shows in one place."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from kdissect.cli.diagnostics import say
from kdissect.cli.printable import printable
from kdissect.model.wording import plural

if TYPE_CHECKING:
    from kdissect.pipeline.streaming.micro_batch import Done


class WatchLine:
    """`batch` and `progress` may be called from different threads; each writes whole lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self.unread: list[tuple[str, str]] = []
        """Files that could not be read, or not beyond a point, and why."""

    def batch(self, done: Done, committing_s: float) -> None:
        """A batch counts now."""
        for name, why in done.unread:
            self.warn(f"{name}: {why}")
        self.unread += done.unread
        self._write(line_of(done, committing_s, time.time_ns()))

    def progress(self, told: Mapping[str, Any]) -> None:
        """Spark tells of a batch that it journaled."""
        seconds = told.get("durationMs", {}).get("triggerExecution", 0) / 1000
        self._write(f"batch {told['batchId']}: journaled after {seconds:.1f} s")

    def warn(self, text: str) -> None:
        """A line that stays."""
        self.close()
        say(text)

    def close(self) -> None:
        """Take the line away."""
        if self._is_terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _write(self, text: str) -> None:
        self._stream.write(f"\r\x1b[K{text}" if self._is_terminal else f"{text}\n")
        self._stream.flush()


def line_of(done: Done, committing_s: float, now_ns: int) -> str:
    """The line of a batch."""
    exchanges = done.rows.get("exchanges", 0)
    behind = [(now_ns - last_ns) / 1e9 for last_ns in done.last_ns.values()]
    lag = f"  newest packet {_age(min(behind))} old" if behind else ""
    return printable(
        f"batch {done.batch}: {plural(done.segments, 'segment', spec=',')}  "
        f"{plural(exchanges, 'exchange', spec=',')}  {plural(done.flows, 'open flow', spec=',')}"
        f"  state {done.state_bytes / 1e6:.1f} MB  committed in {committing_s:.1f} s{lag}"
    )


def _age(seconds: float) -> str:
    for name, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {name}"
    return f"{seconds:.0f} s"
