"""`kdissect logins`: who tried which SASL mechanism as whom, and what came of it."""

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
from kdissect.report.columns.logins import failed_columns, failed_rows, who_columns
from kdissect.stats.by_login.login_rows import login_facts
from kdissect.stats.by_login.login_traffic import LoginTraffic


def run(arguments: Sequence[str]) -> int:
    """Print the logins of the captures and return the exit code."""
    parser = command_parser(
        "logins", "List who tried which SASL mechanism as whom, the result, and its duration."
    )
    add_inputs(parser, live=True)
    add_filter(parser, "only logins with an exchange for which EXPR holds")
    add_tables(parser, "who", "logins", times=True)
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        accepts = reporting_filter(options, dissection)
        traffic = LoginTraffic()

        def show(output: Output) -> None:
            facts = login_facts(traffic)
            tables = [RowTable("who", lambda: facts["who"]), RowTable("logins", lambda: facts["logins"])]
            write_tables(options, output, facts, tables, lambda: _write_tables(facts, options, output))

        read_traffic(dissection, traffic, accepts, options, output, show)

    return printing(parser, options, dissection, body)


def _write_tables(facts: Facts, options: Namespace, output: Output) -> None:
    """Write one line for equal logins, and the failed logins."""
    tables = Tables(options, output)
    if not facts["who"]:
        tables.line("no login by SASL was seen", "dim")
    tables.table(who_columns(), facts["who"])
    tables.section("failed", failed_columns(), failed_rows(facts))
    tables.left_out(facts)
