"""`kdissect pipeline`: captures larger than one machine, on Spark."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Sequence

from kdissect.cli.diagnostics import UNREADABLE, USAGE, say
from kdissect.cli.options.argument_types import as_argument
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import add_schemas
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.cli.options.schema_option import check_schemas
from kdissect.cli.options.time_options import seconds
from kdissect.cli.parquet_tables.committed_tables import add_grace, run_compact, run_files, run_retain
from kdissect.cli.parquet_tables.table_formats import check_format
from kdissect.cli.parquet_tables.tables_command import (
    add_partitions,
    add_table_directory,
    add_tables,
    wanted_tables,
)
from kdissect.model.extras import are_installed, how_to_install
from kdissect.pipeline.sink.alert_targets import target_of

# A stream lasts: whole days are directories, which `retain` deletes as a whole.
BY_DAY = ("day", "broker")
_UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9}


# `kdissect pipeline watch`: captures as they arrive, on Spark Structured Streaming.
def run_watch(arguments: Sequence[str]) -> int:
    """Watch directories and return the exit code."""
    parser = _watch_parser()
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


def _watch_parser() -> ArgumentParser:
    parser = command_parser(
        "pipeline watch",
        "Analyse rotated captures as they arrive, and keep their tables up to date (docs/streaming.md).",
    )
    add_inputs(parser)
    add = parser.add_argument
    add_table_directory(add)
    add_schemas(parser)
    add("--checkpoint", metavar="DIR", required=True, help=(
        "directory of what is known so far, where the next start goes on: a path, or s3://, hdfs:// ..."
    ))  # fmt: skip
    add("--once", action="store_true", help="catch up with what is there, and end")
    add("--interval", metavar="SECONDS", type=seconds, default=10.0, help=(
        "how often to look for files (default: 10)"
    ))  # fmt: skip
    add("--settle", metavar="SECONDS", type=seconds, default=2.0, help=(
        "for how long the last file must not have grown (default: 2)"
    ))  # fmt: skip
    add("--hold", metavar="SECONDS", type=seconds, default=0.0, help=(
        "for how long a complete file waits for files that may come before it (default: 0)"
    ))  # fmt: skip
    add("--max-files", metavar="N", type=count, default=64, help="files of a micro-batch (default: 64)")
    add("--max-bytes", metavar="SIZE", type=_size, default=256 * 10**6, help=(
        "their bytes, as 64MB, of which there is at least one file (default: 256MB)"
    ))  # fmt: skip
    add("--shards", metavar="N", type=count, help=(
        "groups into which connections are dealt (default: the number of cores). "
        "A checkpoint keeps what it was begun with"
    ))  # fmt: skip
    add_grace(parser)
    add_alerts(add)
    add(
        "--progress-log", metavar="FILE", help="write Spark's own progress of each batch there, as JSON lines"
    )
    add_spark(parser)
    add_partitions(add, BY_DAY)
    return parser


def _size(text: str) -> int:
    number, unit = text[:-2], text[-2:]
    if not number.isdigit() or unit not in _UNITS or not int(number):
        raise ArgumentTypeError(f"{text!r} is no size: give a number with {', '.join(_UNITS)}")
    return int(number) * _UNITS[unit]


def add_alerts(add: Callable[..., object]) -> None:
    """Add the option to a parser or group; `options.alert` are targets as `sink.alerts.Alerts` takes them."""
    target = as_argument(target_of)
    add("--alert", metavar="jsonl=FILE|webhook=URL", type=target, action="append", default=[], help=(
        "report each finding once: a line of JSON in FILE, or a list of them posted to URL (may be repeated)"
    ))  # fmt: skip


ACTIONS = {
    "run": "analyse everything that is there",
    "watch": "analyse captures as they arrive (docs/streaming.md)",
    "files": "list the files that are committed (docs/tables-at-rest.md)",
    "compact": "join small files",
    "retain": "delete old days",
}
_OTHERS = {"watch": run_watch, "files": run_files, "compact": run_compact, "retain": run_retain}
_NEEDS = ("pyspark", "pyarrow", "pandas")
INSTALL = f"kdissect pipeline needs the extra spark: {how_to_install('spark')}"


def run(arguments: Sequence[str]) -> int:
    """Run an action of the pipeline and return the exit code. Others than `run` have options of their own."""
    if arguments and arguments[0] in _OTHERS:
        return _OTHERS[arguments[0]](arguments[1:])
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.action != "run":
        parser.error(f"{options.action} goes first, its options after it")
    if not is_installed():
        say(INSTALL)
        return USAGE
    check_schemas(parser, options)
    check_format(parser, options, wanted_tables(options))
    from kdissect.cli.parquet_tables.pipeline_run import run_pipeline  # Spark is optional

    try:
        return run_pipeline(options)
    except ValueError as error:
        parser.error(str(error))
    except OSError as error:
        say(f"{options.output}: {error.strerror or error}")
    return UNREADABLE


def _parser() -> ArgumentParser:
    parser = command_parser(
        "pipeline",
        "Analyse captures on Spark and write tables as Parquet (docs/spark.md, docs/tables.md). For less "
        "than some gigabytes the other commands are faster.",
    )
    actions = "; ".join(f"{name}: {what}" for name, what in ACTIONS.items())
    parser.add_argument("action", choices=tuple(ACTIONS), help=actions)
    add_inputs(parser)
    add = parser.add_argument
    add_tables(add)
    add_schemas(parser)
    add_spark(parser)
    add("--engine", choices=("auto", "spark", "local"), default="auto", help=(
        "engine that makes the tables: Spark, or this process as 'tables' does (default: auto, this process "
        "below 200 MB of captures if no option requires Spark: --master, --conf, --partitions)"
    ))  # fmt: skip
    add(
        "--partitions",
        metavar="N",
        type=count,
        help="about the number of tasks (default: the number of cores)",
    )
    return parser


# Options of the commands that run on Spark, and whether it is installed.
def add_spark(parser: ArgumentParser) -> None:
    """Add the options that `run` and `watch` share."""
    add = parser.add_argument
    add("--master", default="local[*]", metavar="URL", help=(
        "Spark master, or sc://HOST:PORT for Spark Connect (default: local[*], this process)"
    ))  # fmt: skip
    add("--conf", metavar="NAME=VALUE", type=_setting, action="append", default=[], help=(
        "setting of Spark (may be repeated)"
    ))  # fmt: skip
    add("--recursive", action="store_true", help="search directories below those named, too")
    add_topic_ids(parser)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def count(text: str) -> int:
    """Return a number from 1 on, for argparse."""
    if not text.isdigit() or not int(text):
        raise ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def is_installed() -> bool:
    """Return whether the extra is there."""
    return are_installed(*_NEEDS)
