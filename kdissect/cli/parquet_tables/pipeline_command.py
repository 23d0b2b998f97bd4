"""`kdissect pipeline`: captures larger than one machine, on Spark."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence

from kdissect.cli.diagnostics import UNREADABLE, USAGE, say
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.input_options import add_inputs
from kdissect.cli.parquet_tables.committed_tables import run_compact, run_files, run_retain
from kdissect.cli.parquet_tables.pipeline_watch import run_watch
from kdissect.cli.parquet_tables.spark_options import INSTALL, add_spark, count, is_installed
from kdissect.cli.parquet_tables.tables_command import add_tables

ACTIONS = {
    "run": "analyse everything that is there",
    "watch": "analyse captures as they arrive (docs/streaming.md)",
    "files": "list the files that are committed (docs/tables-at-rest.md)",
    "compact": "join small files",
    "retain": "delete old days",
}
_OTHERS = {"watch": run_watch, "files": run_files, "compact": run_compact, "retain": run_retain}


def run(arguments: Sequence[str]) -> int:
    """Run an action of the pipeline; gives the exit code. Others than `run` have options of their own."""
    if arguments and arguments[0] in _OTHERS:
        return _OTHERS[arguments[0]](arguments[1:])
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.action != "run":
        parser.error(f"{options.action} goes first, its options behind it")
    if not is_installed():
        say(INSTALL)
        return USAGE
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
    add_spark(parser)
    add("--partitions", metavar="N", type=count, help="partitions of the shuffle; default: by size and cores")
    return parser
