"""`kdissect topics`: who writes, who reads, and what the capture could not see."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.cli.event_loop import read_and_show, read_blocks, read_events
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import Tables, add_tables, write_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.exchange_selection import name_test
from kdissect.cli.options.filter_option import add_filter, open_filtered, reporting_filter, takes
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.cli.options.output_options import positive, printing
from kdissect.cli.output import Output
from kdissect.cli.statistics.blind_spots_text import blind_spots_lines
from kdissect.model.wording import plural
from kdissect.report.columns.topics import (
    savings_columns,
    savings_rows,
    topic_columns,
    topic_name,
    user_columns,
    user_rows,
)
from kdissect.report.quantities import byte_count
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stats.blind_spots import BlindSpots
from kdissect.stats.by_topic.topic_rows import topic_facts
from kdissect.stats.by_topic.topic_traffic import TopicTraffic

if TYPE_CHECKING:
    from kdissect.stats.by_topic.savings import Savings

_BATCH_SIZE, _LINGER_MS = 1 << 16, 100  # enough to see the possible gain, while a producer has 16 KB and 5 ms
_COLUMNS = (
    "topic", "topic_id", "partition_count",
    *(f"{use}.{part}" for use in ("written", "read") for part in ("requests", "batches", "records", "bytes")),
    "batch_records.p50", "batch_bytes.p50", "key_bytes.p50", "value_bytes.p50", "codecs", "control_batches",
    "leaders_not_captured",
)  # fmt: skip


def run(arguments: Sequence[str]) -> int:
    """Print the topics of the captures and return the exit code."""
    parser = command_parser(
        "topics", "List who writes and reads each topic, how much, in what batches, and who was denied."
    )
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "count only exchanges for which EXPR holds")
    add = parser.add_argument_group("what to count").add_argument
    add("--topic", metavar="GLOB", action="append", help="only these topics")
    add("--sizes", action="store_true", help="read the records: sizes of keys and values (decompresses)")
    add("--savings", action="store_true", help=(
        "also what zstd and larger batches would save: compresses and merges a sample of what was produced"
    ))  # fmt: skip
    add("--batch-size", metavar="BYTES", type=positive, default=_BATCH_SIZE, help=(
        f"the producers' batch.size, for --savings (default: {_BATCH_SIZE})"
    ))  # fmt: skip
    add("--linger", metavar="MS", type=positive, default=_LINGER_MS, help=(
        f"the producers' linger.ms, for --savings (default: {_LINGER_MS})"
    ))  # fmt: skip
    add_tables(parser, "topics", "users", "savings")
    options = parser.parse_args(arguments)
    options.savings |= options.table == "savings"
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        traffic, unseen = TopicTraffic(dissection.topics, options.sizes), BlindSpots()
        savings = None
        if options.savings:
            from kdissect.stats.by_topic.savings import Savings  # start-up: compression, for who asks for it

            savings = Savings(dissection.topics, options.batch_size, options.linger)

        def show(output: Output) -> None:
            facts = _facts(traffic, unseen, savings, options)
            tables = [
                RowTable("topics", lambda: facts["topics"], _COLUMNS),
                RowTable("users", lambda: map(_user, user_rows(facts["topics"]))),
                RowTable("savings", lambda: savings_rows(facts["topics"])),
            ]
            write_tables(options, output, facts, tables, lambda: _write_tables(facts, options, output))

        read = partial(_read, dissection, options, traffic, unseen, savings)
        read_and_show(dissection, options, output, read, show)

    return printing(parser, options, dissection, body)


def _read(
    dissection: Dissection,
    options: Namespace,
    traffic: TopicTraffic,
    unseen: BlindSpots,
    savings: Savings | None,
) -> None:
    accepts = reporting_filter(options, dissection)

    def take(event: Event) -> None:
        unseen.add(event)
        if isinstance(event, Exchange):
            counts = takes(accepts, event)
            traffic.add(event, counts)
            if savings is not None and counts:
                savings.add(event)

    if accepts is None and savings is None:
        read_blocks(dissection, take, traffic.count_block)
    else:
        read_events(dissection, take)


def _facts(traffic: TopicTraffic, unseen: BlindSpots, savings: Savings | None, options: Namespace) -> Facts:
    wanted = name_test(options, "--topic", "topic", options.topic)
    saved = None if savings is None else savings.facts(traffic.apart)
    return {
        "topics": topic_facts(traffic, wanted, saved),
        "not_seen": unseen.facts() | {"brokers": traffic.leaders.unseen_brokers()},
    }


def _write_savings(rows: list[Facts], options: Namespace, tables: Tables) -> None:
    size, linger = byte_count(options.batch_size), f"{options.linger} ms"
    tables.heading(f"what zstd and batches of up to {size} within {linger} would save")
    if not rows:
        tables.line("  no batch was produced that could be read")
        return
    tables.table(savings_columns(rows), rows)
    if any(row["is_sample"] for row in rows):
        tables.line("  of a sample: the first batches of each topic")


def _user(row: Facts) -> Facts:
    """Return a topic's user, with the topic's name."""
    topic = row["of"]
    named = {"topic": topic["topic"], "topic_id": topic["topic_id"], "does": row["does"]}
    return named | {name: value for name, value in row.items() if name not in ("of", "does")}


def _write_tables(facts: Facts, options: Namespace, output: Output) -> None:
    """Write the table of topics, who uses them, and what was not seen."""
    tables = Tables(options, output)
    topics = facts["topics"]
    tables.table(topic_columns(topics), topics)
    users = list(user_rows(topics))
    if users:
        tables.heading("who")
        tables.table(user_columns(topics), users)
    if options.savings:
        _write_savings(list(savings_rows(topics)), options, tables)
    unseen = list(blind_spots_lines(facts["not_seen"]))
    unseen += [
        f"  {topic_name(topic)}: the leaders of {plural(topic['leaders_not_captured'], 'partition')}"
        for topic in topics
        if topic["leaders_not_captured"]
    ]
    if any(use["uncounted"] for topic in topics for use in (topic["written"], topic["read"])):
        unseen.append("  how many records compressed batches of old formats hold: --sizes counts them")
    tables.lines("what the capture does not show", unseen)
