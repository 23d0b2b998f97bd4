"""`kdissect producers`: ids, epochs, retries, duplicates, transactions and how they ended."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from kdissect.cli.event_loop import read_traffic
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import Tables, add_tables, write_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.exchange_selection import name_test
from kdissect.cli.options.filter_option import add_filter, open_filtered, reporting_filter
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.cli.options.output_options import printing
from kdissect.cli.output import Output
from kdissect.report.columns.producers import (
    event_columns,
    event_rows,
    producer_columns,
    transaction_columns,
    transaction_rows,
    without_id_columns,
)
from kdissect.stats.by_producer.producer_rows import producer_facts
from kdissect.stats.by_producer.producer_traffic import ProducerTraffic


def run(arguments: Sequence[str]) -> int:
    """Print the producers of the captures and return the exit code."""
    parser = command_parser(
        "producers",
        "List idempotent and transactional producers, with the results of batches and transactions.",
    )
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "only producers that an exchange for which EXPR holds is about")
    parser.add_argument(
        "--producer",
        metavar="GLOB",
        action="append",
        help="only these: producer, transactional or client ids",
    )
    add_tables(parser, "producers", "transactions", "events", "without_id", times=True)
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        accepts = reporting_filter(options, dissection)
        traffic = ProducerTraffic(dissection.topics, is_selective=accepts is not None)

        def show(output: Output) -> None:
            facts = producer_facts(traffic, name_test(options, "--producer", "producer", options.producer))
            tables = [
                RowTable("producers", lambda: facts["producers"]),
                RowTable("transactions", lambda: transaction_rows(facts)),
                RowTable("events", lambda: event_rows(facts)),
                RowTable("without_id", lambda: facts["without_id"]),
            ]
            write_tables(options, output, facts, tables, lambda: _write_tables(facts, options, output))

        read_traffic(dissection, traffic, accepts, options, output, show)

    return printing(parser, options, dissection, body)


def _write_tables(facts: Facts, options: Namespace, output: Output) -> None:
    """Write producers, transactions, what happened to them, and who writes without an id."""
    tables = Tables(options, output)
    tables.table(producer_columns(), facts["producers"])
    tables.section("transactions", transaction_columns(), transaction_rows(facts))
    tables.section("what happened", event_columns(), event_rows(facts))
    tables.section("without a producer id", without_id_columns(), facts["without_id"])
    tables.left_out(facts)
