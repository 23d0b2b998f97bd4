"""`kdissect changes`: who created, altered and deleted what, in order."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from kdissect.cli.event_loop import read_traffic
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import Tables, add_tables, write_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import add_filter, open_filtered, reporting_filter
from kdissect.cli.options.input_options import add_inputs
from kdissect.cli.options.output_options import printing
from kdissect.cli.output import Output
from kdissect.report.columns.changes import change_columns
from kdissect.stats.by_change.change_rows import change_facts
from kdissect.stats.by_change.change_traffic import ChangeTraffic


def run(arguments: Sequence[str]) -> int:
    """Print the changes of the captures and return the exit code."""
    parser = command_parser(
        "changes",
        "List who created, altered and deleted topics, configs, ACLs, quotas, users and other "
        "resources, in order.",
    )
    add_inputs(parser, live=True)
    add_filter(parser, "only changes by an exchange for which EXPR holds")
    add_tables(parser, "changes", times=True)
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        accepts = reporting_filter(options, dissection)
        traffic = ChangeTraffic()

        def show(output: Output) -> None:
            facts = change_facts(traffic)
            tables = [RowTable("changes", lambda: facts["changes"])]
            write_tables(options, output, facts, tables, lambda: _write_tables(facts, options, output))

        read_traffic(dissection, traffic, accepts, options, output, show)

    return printing(parser, options, dissection, body)


def _write_tables(facts: Facts, options: Namespace, output: Output) -> None:
    """Write a line for each change."""
    tables = Tables(options, output)
    if not facts["changes"]:
        tables.line("no change is visible", "dim")
    tables.table(change_columns(), facts["changes"])
    tables.left_out(facts)
