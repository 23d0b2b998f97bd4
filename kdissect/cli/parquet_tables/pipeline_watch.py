"""`kdissect pipeline watch`: captures as they arrive, on Spark Structured Streaming."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Sequence

from kdissect.cli.diagnostics import UNREADABLE, USAGE, say
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.input_options import add_inputs
from kdissect.cli.options.time_options import seconds
from kdissect.cli.parquet_tables.committed_tables import add_grace
from kdissect.cli.parquet_tables.spark_options import INSTALL, add_spark, count, is_installed
from kdissect.cli.parquet_tables.tables_command import add_place
from kdissect.pipeline.sink.alert_targets import Target, target_of

_UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9}


def run_watch(arguments: Sequence[str]) -> int:
    """Watch directories; gives the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not is_installed():
        say(INSTALL)
        return USAGE
    try:
        from kdissect.cli.parquet_tables.watch_run import watch  # Spark is optional

        return watch(options)
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


def _size(text: str) -> int:
    number, unit = text[:-2], text[-2:]
    if not number.isdigit() or unit not in _UNITS or not int(number):
        raise ArgumentTypeError(f"{text!r} is no size: give a number with {', '.join(_UNITS)}")
    return int(number) * _UNITS[unit]


def add_alerts(add: Callable[..., object]) -> None:
    """Add the option to a parser or group; `options.alert` are targets as `sink.alerts.Alerts` takes them."""
    add("--alert", metavar="jsonl=FILE|webhook=URL", type=_target, action="append", default=[], help=(
        "tell each finding once: a line of JSON in FILE, or a list of them posted to URL; may be repeated"
    ))  # fmt: skip


def _target(text: str) -> Target:
    try:
        return target_of(text)
    except ValueError as error:  # argparse would print the text, and with it what a URL has of a secret
        raise ArgumentTypeError(str(error)) from None
