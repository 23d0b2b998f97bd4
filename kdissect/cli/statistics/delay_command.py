"""`kdissect delay`: how long records take from their Produce to their readers, and where they wait."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from functools import partial

from kdissect.cli.event_loop import read_and_show, read_blocks, read_events
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import Tables, add_tables, write_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.exchange_selection import name_test
from kdissect.cli.options.filter_option import add_filter, open_filtered, reporting_filter, takes
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.cli.options.output_options import printing
from kdissect.cli.output import Output
from kdissect.cli.statistics.blind_spots_text import blind_spots_lines
from kdissect.model.wording import plural
from kdissect.report.columns.delays import clock_columns, delay_columns
from kdissect.session.events import Event
from kdissect.stats.blind_spots import BlindSpots
from kdissect.stats.by_delay.delay_rows import BY, DIMENSIONS, delay_facts
from kdissect.stats.by_delay.delay_traffic import DelayTraffic

_TABLES = ("delays", "clocks")


def run(arguments: Sequence[str]) -> int:
    """Print the delays in the captures and return the exit code."""
    parser = command_parser(
        "delay",
        "List how long records take from their Produce request to the Fetch response that delivers them, by "
        "packets alone, and where they wait. Clocks of producers are a table of their own.",
    )
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "count only Fetches and commits for which EXPR holds")
    add = parser.add_argument_group("what to count").add_argument
    add("--by", metavar="DIMENSION,...", type=_dimensions, default=BY, help=(
        f"some of {', '.join(DIMENSIONS)} (default: {','.join(BY)})"
    ))  # fmt: skip
    add("--topic", metavar="GLOB", action="append", help="only delays of these topics")
    add("--group", metavar="GLOB", action="append", help="only delays of readers in these groups")
    add_tables(parser, *_TABLES)
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        accepts = reporting_filter(options, dissection)
        traffic, unseen = DelayTraffic(dissection.topics), BlindSpots()

        def take(event: Event) -> None:
            unseen.add(event)
            traffic.add(event, takes(accepts, event))

        def read() -> None:
            if accepts is None:
                read_blocks(dissection, take, traffic.count_block)
            else:
                read_events(dissection, take)

        def show(output: Output) -> None:
            topics = name_test(options, "--topic", "topic", options.topic)
            groups = name_test(options, "--group", "group", options.group)
            facts = delay_facts(traffic, options.by, topics, groups)
            facts["not_seen"] = unseen.facts() | {"records_of_request_logs": traffic.has_logs}
            tables = [RowTable(name, partial(facts.__getitem__, name)) for name in _TABLES]
            write_tables(options, output, facts, tables, lambda: _write_tables(facts, options, output))

        read_and_show(dissection, options, output, read, show)

    return printing(parser, options, dissection, body)


def _dimensions(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    unknown = [name for name in names if name not in DIMENSIONS]
    if unknown:
        raise ArgumentTypeError(f"no dimension {unknown[0]!r}: choose of {', '.join(DIMENSIONS)}")
    return names


def _write_tables(facts: Facts, options: Namespace, output: Output) -> None:
    """Write the delays, then the clocks of producers, and what the capture does not show."""
    tables = Tables(options, output)
    if facts["delays"]:
        tables.table(delay_columns(facts["by"]), facts["delays"])
    else:
        tables.line("no read of a partition was seen", "dim")
    tables.section("timestamps of producers, compared with the packets", clock_columns(), facts["clocks"])
    lines = list(blind_spots_lines(facts["not_seen"]))
    if facts["unplaced"]:
        lines.append(f"  the offsets of {plural(facts['unplaced'], 'written record')}: no response has them")
    if facts["batches_left_out"]:
        lines.append(
            f"  reads of {plural(facts['batches_left_out'], 'older batch', 'older batches')}: more batches "
            "were written than fit"
        )
    if facts["not_seen"]["records_of_request_logs"]:
        lines.append("  delays of records that are in a request log alone: it has no records")
    tables.lines("what the capture does not show", lines)
    tables.left_out(facts)
