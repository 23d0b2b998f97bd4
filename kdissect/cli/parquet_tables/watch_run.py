"""The run of `pipeline watch`: its start, its end by signal, and what it says on stderr on the way."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Mapping
from contextlib import ExitStack
from types import FrameType
from typing import Any, TextIO

from pyspark.sql import SparkSession

from kdissect.capture.byte_source import STDIN
from kdissect.capture.filesystems import absolute, is_url
from kdissect.capture.key_logs import KeyLogs
from kdissect.capture.objects import objects_at
from kdissect.cli.diagnostics import ENDING_SIGNALS, OK, UNREADABLE, USAGE, say
from kdissect.cli.options.schema_option import schemas_of
from kdissect.cli.parquet_tables.pipeline_run import spark_session
from kdissect.model.endpoint import Ports
from kdissect.model.limits import in_force
from kdissect.model.wording import plural
from kdissect.pipeline.spark_session import CONNECT
from kdissect.pipeline.streaming.arrivals.candidates import Patience
from kdissect.pipeline.streaming.checkpoint_pledge import pledged, shards_of
from kdissect.pipeline.streaming.micro_batch import Done
from kdissect.pipeline.streaming.stream_settings import Settings
from kdissect.pipeline.streaming.watch import STREAM_CONF, Pace, Watch, follow
from kdissect.pipeline.worker_packages import missing_there
from kdissect.report.printable import printable
from kdissect.stages.per_flow import OF_CAUSES, OF_PERSONAL

# The first signal asks the run to end well, and a second one ends it at once.


def watch(options: Namespace) -> int:
    """Watch until it is over, and return the exit code. Raises OSError, ValueError for options
    without sense.
    """
    if STDIN in options.paths:
        raise ValueError("watch follows directories and files, not standard input")
    if (OF_CAUSES | OF_PERSONAL) & options.tables:
        raise ValueError(
            "watch has no tables causes, stalls and personal, which need all of a capture set at once "
            "(pipeline run)"
        )
    if options.master.startswith(CONNECT):
        raise ValueError("watch commits batches in its own process: it does not run over Spark Connect")
    for place in filter(is_url, options.paths):
        objects_at(place, options.recursive)  # faults of a URL are reported at the start
    settings = _settings(options)
    with pledged(settings) as found:
        if found.orphans:
            say(f"deleted {plural(found.orphans, 'file')} that a crash left behind")
        session = spark_session(
            options, {"spark.sql.shuffle.partitions": str(settings.shards), **STREAM_CONF}
        )
        if session is None:
            return USAGE
        try:
            return _follow(options, settings, session)
        finally:
            session.stop()


def _settings(options: Namespace) -> Settings:
    settings = Settings(
        tuple(options.paths),
        absolute(options.output),
        absolute(options.checkpoint),
        options.tables,
        options.partition_by,
        max_files=options.max_files,
        max_bytes=options.max_bytes,
        recursive=options.recursive,
        patience=Patience(options.settle, options.hold),
        ports=Ports(options.port, options.only_port),
        hosts=None if options.numeric else options.hosts,
        key_logs=tuple(KeyLogs(tuple(options.keylog)).files),
        topic_ids=options.topic_ids,
        limits=in_force(),
        schemas=schemas_of(options),
    )
    return settings._replace(shards=options.shards or shards_of(settings) or _cores(options.master))


def _cores(master: str) -> int:
    """Return cores of `local[N]`, of this machine for `local[*]`; some for a cluster."""
    inside = master.partition("[")[2].rstrip("]")
    return int(inside) if inside.isdigit() else (os.cpu_count() or 2) if master.startswith("local") else 8


def _follow(options: Namespace, settings: Settings, session: SparkSession) -> int:
    line = _WatchLine(sys.stderr)
    with ExitStack() as held, _StopSignals() as signals:
        log = None
        if options.progress_log:
            log = held.enter_context(open(options.progress_log, "a", encoding="utf-8"))  # noqa: PTH123

        def progress(found: object) -> None:
            progressed = json.loads(found.json)  # type: ignore[attr-defined]
            line.progress(progressed)
            if log is not None:
                log.write(json.dumps(progressed) + "\n")
                log.flush()

        watch = Watch(settings, line.batch, line.warn, options.alert, options.grace)
        query = watch.start(session, Pace(options.once, options.interval))
        try:
            follow(query, signals.came, progress)
        except Exception as error:
            if (missing := missing_there(error)) is None:
                raise
            line.warn(missing)
            return USAGE
        line.close()
    return UNREADABLE if line.unread else OK


class _StopSignals:
    """Used with `with`, in the main thread. `came()` says whether a signal came."""

    def __init__(self) -> None:
        self._came = False
        self._before: dict[int, Any] = {}

    def came(self) -> bool:
        """Return whether to end."""
        return self._came

    def __enter__(self) -> _StopSignals:
        for name in ENDING_SIGNALS:
            number = getattr(signal, name, None)
            if number is not None:
                self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        for known in self._before:
            signal.signal(known, signal.default_int_handler)


class _WatchLine:
    """A line for each batch, which a terminal shows in one place.

    Different threads may call `batch` and `progress`, each of which writes whole lines.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self.unread: list[tuple[str, str]] = []
        """Files that could not be read, or not beyond a point, and why."""
        self._taps: set[str] = set()

    def batch(self, done: Done, committing_s: float) -> None:
        """Count a batch."""
        for name, why in done.unread:
            self.warn(f"{name}: {why}")
        self.unread += done.unread
        for name in done.taps:
            if name not in self._taps:
                self._taps.add(name)
                self.warn(
                    f"warning: {name} is a capture of kdissect tap: its connections count twice if another "
                    "capture set contains them. kdissect pipeline run recognises them (docs/streaming.md)"
                )
        self._write(_line_of(done, committing_s, time.time_ns()))

    def progress(self, progressed: Mapping[str, Any]) -> None:
        """Spark has journaled a batch."""
        seconds = progressed.get("durationMs", {}).get("triggerExecution", 0) / 1000
        self._write(f"batch {progressed['batchId']}: journaled after {seconds:.1f} s")

    def warn(self, text: str) -> None:
        """Write a line that stays."""
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


def _line_of(done: Done, committing_s: float, now_ns: int) -> str:
    """Return the line of a batch."""
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
