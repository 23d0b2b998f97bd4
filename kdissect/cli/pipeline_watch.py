"""`kdissect pipeline watch`: captures as they arrive, on Spark Structured Streaming."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kdissect.capture.byte_source import STDIN
from kdissect.cli.alert_options import add_alerts
from kdissect.cli.committed_tables import add_grace
from kdissect.cli.diagnostics import say
from kdissect.cli.exits import OK, UNREADABLE, USAGE
from kdissect.cli.inputs import add_inputs
from kdissect.cli.parser import command_parser
from kdissect.cli.pipeline import INSTALL, add_spark, count, is_installed
from kdissect.cli.seconds import seconds
from kdissect.cli.table_files import add_place
from kdissect.model.wording import plural

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kdissect.pipeline.streaming.stream_settings import Settings

_UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9}


def run(arguments: Sequence[str]) -> int:
    """Watch directories; gives the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not is_installed():
        say(INSTALL)
        return USAGE
    try:
        return _watch(options)
    except ValueError as error:
        parser.error(str(error))
    except OSError as error:
        say(str(error.strerror or error))
    return UNREADABLE


def _parser() -> ArgumentParser:
    parser = command_parser(
        "pipeline watch",
        "Analyse rotated captures as they arrive, and keep their tables up to date (docs/streaming.md).",
    )
    add_inputs(parser)
    add = parser.add_argument
    add_place(add)
    add("--checkpoint", metavar="DIR", required=True, help=(
        "directory of what is known so far, where the next start goes on: a path, or s3://, hdfs:// ..."
    ))  # fmt: skip
    add("--once", action="store_true", help="catch up with what is there, and end")
    add("--interval", metavar="SECONDS", type=seconds, default=10.0, help=(
        "how often to look for files; default: 10"
    ))  # fmt: skip
    add("--settle", metavar="SECONDS", type=seconds, default=2.0, help=(
        "for how long a file that nothing follows must not have grown; default: 2"
    ))  # fmt: skip
    add("--hold", metavar="SECONDS", type=seconds, default=0.0, help=(
        "for how long a complete file waits for others that may come before it; default: 0"
    ))  # fmt: skip
    add("--max-files", metavar="N", type=count, default=64, help="files of a micro-batch; default: 64")
    add("--max-bytes", metavar="SIZE", type=_size, default=256 * 10**6, help=(
        "their bytes, as 64MB, of which there is at least one file; default: 256MB"
    ))  # fmt: skip
    add("--shards", metavar="N", type=count, help=(
        "groups into which connections are dealt; default: as many as cores. "
        "A checkpoint keeps what it was begun with"
    ))  # fmt: skip
    add_grace(parser)
    add_alerts(add)
    add(
        "--progress-log", metavar="FILE", help="write Spark's own progress of each batch there, as JSON lines"
    )
    add_spark(parser)
    return parser


def _watch(options: Namespace) -> int:
    from kdissect.cli.pipeline_run import spark_session
    from kdissect.pipeline.spark_session import CONNECT
    from kdissect.pipeline.streaming.checkpoint_pledge import pledged
    from kdissect.pipeline.streaming.watch import STREAM_CONF

    if STDIN in options.paths:
        raise ValueError("watch follows directories and files, not standard input")
    if options.master.startswith(CONNECT):
        raise ValueError("watch commits batches in its own process: it does not run over Spark Connect")
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
    from kdissect.capture.filesystems import absolute
    from kdissect.capture.key_logs import KeyLogs
    from kdissect.model.endpoint import Ports
    from kdissect.model.limits import in_force
    from kdissect.pipeline.streaming.arrivals.candidates import Patience
    from kdissect.pipeline.streaming.checkpoint_pledge import shards_of
    from kdissect.pipeline.streaming.stream_settings import Settings

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
    )
    return settings._replace(shards=options.shards or shards_of(settings) or _cores(options.master))


def _cores(master: str) -> int:
    """Cores of `local[N]`, of this machine for `local[*]`; some for a cluster."""
    import os

    inside = master.partition("[")[2].rstrip("]")
    return int(inside) if inside.isdigit() else (os.cpu_count() or 2) if master.startswith("local") else 8


def _follow(options: Namespace, settings: Settings, session: SparkSession) -> int:
    from contextlib import ExitStack

    from kdissect.cli.stop_signals import StopSignals
    from kdissect.cli.watch_line import WatchLine
    from kdissect.pipeline.streaming.watch import Pace, Watch, follow

    line = WatchLine(sys.stderr)
    with ExitStack() as held, StopSignals() as signals:
        log = None
        if options.progress_log:
            log = held.enter_context(open(options.progress_log, "a", encoding="utf-8"))  # noqa: PTH123

        def progress(found: object) -> None:
            told = json.loads(found.json)  # type: ignore[attr-defined]
            line.progress(told)
            if log is not None:
                log.write(json.dumps(told) + "\n")
                log.flush()

        watch = Watch(settings, line.batch, line.warn, options.alert, options.grace)
        query = watch.start(session, Pace(options.once, options.interval))
        follow(query, signals.came, progress)
        line.close()
    return UNREADABLE if line.unread else OK


def _size(text: str) -> int:
    number, unit = text[:-2], text[-2:]
    if not number.isdigit() or unit not in _UNITS or not int(number):
        raise ArgumentTypeError(f"{text!r} is no size: give a number with {', '.join(_UNITS)}")
    return int(number) * _UNITS[unit]
