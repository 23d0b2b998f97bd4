"""`kdissect offsets`: positions that jump, offsets that stand still, records written twice, gaps."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial

from kdissect.cli.event_loop import read_traffic
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import Tables, add_tables, write_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.exchange_selection import name_test
from kdissect.cli.options.filter_option import add_filter, open_filtered, reporting_filter
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.cli.options.output_options import printing
from kdissect.cli.output import Output
from kdissect.report.columns.offsets import (
    commit_columns,
    gap_columns,
    held_columns,
    position_columns,
    twice_columns,
)
from kdissect.stats.by_offset.offset_rows import offset_facts
from kdissect.stats.by_offset.offset_traffic import OffsetTraffic

_TABLES = ("positions", "commits", "held", "written_twice", "gaps")


def run(arguments: Sequence[str]) -> int:
    """Print the anomalies of offsets in the captures and return the exit code."""
    parser = command_parser(
        "offsets",
        "List positions and commits that jump, with the reason, transactions that block readers, and records "
        "that were written twice.",
    )
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "only what an exchange shows for which EXPR holds")
    parser.add_argument("--topic", metavar="GLOB", action="append", help="only these topics")
    add_tables(parser, *_TABLES, times=True)
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        accepts = reporting_filter(options, dissection)
        traffic = OffsetTraffic(dissection.topics)

        def show(output: Output) -> None:
            facts = offset_facts(traffic, name_test(options, "--topic", "topic", options.topic))
            tables = [RowTable(name, partial(facts.__getitem__, name)) for name in _TABLES]
            write_tables(options, output, facts, tables, lambda: _write_tables(facts, options, output))

        read_traffic(dissection, traffic, accepts, options, output, show)

    return printing(parser, options, dissection, body)


def _write_tables(facts: Facts, options: Namespace, output: Output) -> None:
    """Write a table for each kind."""
    tables = Tables(options, output)
    sections = (
        ("positions that jump", position_columns(), "positions"),
        ("commits", commit_columns(), "commits"),
        ("last stable offsets that stand still", held_columns(), "held"),
        ("written twice", twice_columns(), "written_twice"),
        ("offsets without records", gap_columns(), "gaps"),
    )
    for title, columns, name in sections:
        tables.section(title, columns, facts[name])
    if not any(facts[name] for _, _, name in sections):
        tables.line("the offsets show no anomaly", "dim")
    tables.left_out(facts)
