"""`kdissect groups --table fetch_sessions`, and its old name `kdissect fetch-sessions`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from kdissect.api import Dissection
from kdissect.cli.event_loop import read_traffic
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import Tables, add_tables, write_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import add_filter, open_filtered, reporting_filter
from kdissect.cli.options.input_options import add_inputs
from kdissect.cli.options.output_options import printing
from kdissect.cli.output import Output
from kdissect.report.cells import Cell, TableColumn, count_cell
from kdissect.report.printable import printable
from kdissect.stats.by_fetcher.fetch_session_traffic import FetchSessionTraffic, fetch_session_facts


def run(arguments: Sequence[str]) -> int:
    """Print the fetch sessions of the captures and return the exit code."""
    parser = command_parser(
        "fetch-sessions",
        "List incremental fetch sessions (KIP-227): how often clients rebuild them, with the reason, and "
        "empty polls. The new name is kdissect groups --table fetch_sessions.",
    )
    add_inputs(parser, live=True)
    add_filter(parser, "only clients with a Fetch for which EXPR holds")
    add_tables(parser, "clients")
    options = parser.parse_args(arguments)
    return print_fetch_sessions(parser, options, open_filtered(parser, options), "clients")


def print_fetch_sessions(
    parser: ArgumentParser, options: Namespace, dissection: Dissection, table: str
) -> int:
    """Print the fetch sessions of the captures and return the exit code.

    `table` is the name of the table for `--table`.
    """

    def body(output: Output) -> None:
        traffic = FetchSessionTraffic()
        accepts = reporting_filter(options, dissection)

        def show(output: Output) -> None:
            facts = fetch_session_facts(traffic)
            tables = [RowTable(table, lambda: facts["clients"])]
            write_tables(options, output, facts, tables, lambda: _write_tables(facts, options, output))

        read_traffic(dissection, traffic, accepts, options, output, show)

    return printing(parser, options, dissection, body)


def _write_tables(facts: Facts, options: Namespace, output: Output) -> None:
    """Write a line for each client and broker."""
    tables = Tables(options, output)
    tables.table(_columns(), facts["clients"])
    tables.left_out(facts)


def _columns() -> list[TableColumn]:
    return [
        TableColumn("client id", lambda row: Cell(printable(row["client_id"] or "-"))),
        TableColumn("address", lambda row: Cell(printable(row["address"])), rank=2),
        TableColumn("broker", lambda row: Cell(printable(row["broker"]))),
        TableColumn("", lambda row: Cell("follower" if row["follower"] else "", "dim"), rank=2),
        TableColumn("fetches", lambda row: Cell(str(row["requests"])), right=True),
        TableColumn("sessions", lambda row: Cell(str(len(row["sessions"]) or "")), right=True),
        TableColumn("partitions", _partitions, right=True),
        TableColumn("incremental", lambda row: count_cell(row["incremental"]), right=True),
        TableColumn("empty", _empty, right=True),
        TableColumn("empty early", lambda row: count_cell(row["empty_early"], "bad"), right=True),
        TableColumn("full, no session", lambda row: count_cell(row["without_session"]), rank=1, right=True),
        TableColumn("refused", lambda row: Cell(_counts(row["refused"]), "bad")),
        TableColumn("refused a session", lambda row: count_cell(row["not_created"], "bad"), right=True),
        TableColumn("rebuilt", lambda row: Cell(_counts(row["rebuilt"]), "odd")),
        TableColumn("odd", lambda row: Cell(_counts(row["odd"]), "bad")),
    ]


def _partitions(row: Facts) -> Cell:
    """Of the last session."""
    last = row["sessions"][-1] if row["sessions"] else None
    return Cell("" if last is None or last["partitions"] is None else str(last["partitions"]))


def _empty(row: Facts) -> Cell:
    return Cell(f"{row['empty']} ({row['empty'] / row['requests']:.0%})" if row["empty"] else "")


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
