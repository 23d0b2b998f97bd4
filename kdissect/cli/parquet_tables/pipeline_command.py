"""`kdissect pipeline`: captures larger than one machine, on Spark."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence

from kdissect.cli.diagnostics import say
from kdissect.cli.exits import UNREADABLE, USAGE
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.cli.parquet_tables.tables_command import add_tables
from kdissect.model.extras import how_to_install

_NEEDS = ("pyspark", "pyarrow", "pandas")
INSTALL = f"kdissect pipeline needs the extra spark: {how_to_install('spark')}"
ACTIONS = {
    "run": "analyse everything that is there",
    "watch": "analyse captures as they arrive (docs/streaming.md)",
    "files": "list the files that are committed (docs/tables-at-rest.md)",
    "compact": "join small files",
    "retain": "delete old days",
}


def run(arguments: Sequence[str]) -> int:
    """Run an action of the pipeline; gives the exit code.

    Actions other than `run` are modules `pipeline_ACTION` with options of their own.
    """
    if arguments and arguments[0] in ACTIONS and arguments[0] != "run":
        from importlib import import_module

        return int(import_module(f"kdissect.cli.parquet_tables.pipeline_{arguments[0]}").run(arguments[1:]))
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.action != "run":
        parser.error(f"{options.action} goes first, its options behind it")
    if not is_installed():
        say(INSTALL)
        return USAGE
    from kdissect.cli.parquet_tables.pipeline_run import run_pipeline

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
    add_spark(parser)
    add("--partitions", metavar="N", type=count, help="partitions of the shuffle; default: by size and cores")
    return parser


def add_spark(parser: ArgumentParser) -> None:
    """Add the options that `run` and `watch` share."""
    add = parser.add_argument
    add("--master", default="local[*]", metavar="URL", help=(
        "Spark master, or sc://HOST:PORT for Spark Connect; default: local[*], this process"
    ))  # fmt: skip
    add("--conf", metavar="NAME=VALUE", type=_setting, action="append", default=[], help=(
        "setting of Spark; may be repeated"
    ))  # fmt: skip
    add("--partition-by", metavar="COLUMN,...", type=_columns, default=("day", "broker"), help=(
        "columns that make directories; default: day,broker; 'none' for no directories"
    ))  # fmt: skip
    add("--recursive", action="store_true", help="search directories below those named, too")
    add_topic_ids(parser)


def _columns(text: str) -> tuple[str, ...]:
    return () if text == "none" else tuple(filter(None, text.split(",")))


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def count(text: str) -> int:
    """A number from 1 on, for argparse."""
    if not text.isdigit() or not int(text):
        raise ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def is_installed() -> bool:
    """Whether the extra is there."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in _NEEDS)
