"""`kdissect mirror`: whether the records of topics arrived in their copies, in order, once, and how late."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from kdissect.cli.diagnostics import FINDINGS, OK, say
from kdissect.cli.event_loop import read_and_show, read_events
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import Tables, add_tables, write_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.exchange_selection import globs
from kdissect.cli.options.filter_option import add_filter, open_filtered, reporting_filter, takes
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.cli.options.output_options import printing
from kdissect.cli.output import Output
from kdissect.cli.statistics.blind_spots_text import blind_spots_lines
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.wording import plural
from kdissect.report.columns.mirrors import mirror_columns, place_columns, translated_columns
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stats.blind_spots import BlindSpots
from kdissect.stats.by_mirror.mirror_rows import is_different, mirror_facts
from kdissect.stats.by_mirror.mirror_traffic import MirrorTraffic

_TABLES = ("mirrors", "places", "offsets")


def run(arguments: Sequence[str]) -> int:
    """Print the comparison of topics with their copies and return the exit code."""
    parser = command_parser(
        "mirror",
        "Compare topics with their copies in another cluster, or under another name: which records did not "
        "arrive, arrived twice or out of order, how late, and how offsets of groups are translated.",
    )
    _add_options(parser)
    options = parser.parse_args(arguments)
    if options.same_names and not options.sources:
        parser.error("--same-names needs --from CLUSTER: names do not show which topic is the copy")
    if not options.sources and any(topic == copy for topic, copy in options.map):
        parser.error(
            "a copy of the same name needs --from CLUSTER: names do not show which topic is the copy"
        )
    dissection = open_filtered(parser, options)
    different = False

    def body(output: Output) -> None:
        accepts = reporting_filter(options, dissection)
        traffic = _traffic(options, dissection.topics)
        unseen = BlindSpots()

        def take(event: Event) -> None:
            unseen.add(event)
            if isinstance(event, Exchange):
                dissection.topics.pass_by(event)
                if takes(accepts, event):
                    traffic.add(event)

        def show(output: Output) -> None:
            nonlocal different
            facts = mirror_facts(traffic)
            facts["not_seen"] = unseen.facts()
            different = is_different(facts)
            for cluster in sorted({*options.sources} - traffic.clusters()):
                say(f"--from {cluster}: no records of this cluster were seen")
            tables = [RowTable(name, partial(facts.__getitem__, name)) for name in _TABLES]
            write_tables(options, output, facts, tables, lambda: _write_tables(facts, options, output))

        read_and_show(dissection, options, output, lambda: read_events(dissection, take), show)

    code = printing(parser, options, dissection, body)
    return code or (FINDINGS if options.exit_code and different else OK)


def _add_options(parser: ArgumentParser) -> None:
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "compare only records of exchanges for which EXPR holds")
    add = parser.add_argument_group("what to compare").add_argument
    add("--map", metavar="TOPIC=COPY", type=_pair, action="append", default=[], help=(
        "a copy with another name. By default TOPIC is copied to PREFIX.TOPIC in another cluster"
    ))  # fmt: skip
    add("--same-names", action="store_true", help="topics of one name in two clusters are copies")
    add("--from", dest="sources", metavar="CLUSTER", action="append", default=[], help=(
        "id of the cluster whose topics are copied"
    ))  # fmt: skip
    add("--topic", metavar="GLOB", action="append", help="only copies of these topics")
    add("--without-timestamps", action="store_true", help="copies have timestamps of their own")
    add(
        "--exit-code",
        action="store_true",
        help="exit with 1 if records are passed over, twice or out of order",
    )
    add_tables(parser, *_TABLES)


def _traffic(options: Namespace, names: TopicNames) -> MirrorTraffic:
    renamed: defaultdict[str, list[str]] = defaultdict(list)
    for topic, copy in options.map:
        renamed[topic].append(copy)
    wants = globs(options.topic) if options.topic else None
    return MirrorTraffic(
        names, renamed, options.same_names, options.sources, wants, not options.without_timestamps
    )


def _pair(text: str) -> tuple[str, str]:
    topic, _, copy = text.partition("=")
    if not topic or not copy:
        raise ArgumentTypeError(f"{text!r} is no TOPIC=COPY")
    return topic, copy


def _write_tables(facts: Facts, options: Namespace, output: Output) -> None:
    """Write the mirrors, then the places of odd records, the translated offsets, and what is not compared."""
    tables = Tables(options, output)
    if facts["mirrors"]:
        tables.table(mirror_columns(), facts["mirrors"])
    else:
        tables.line("no topic has a copy: --map TOPIC=COPY names one", "dim")
    tables.section("missing, twice, out of order, unmatched", place_columns(), facts["places"])
    tables.section("translated offsets of groups", translated_columns(), facts["offsets"])
    if any(
        row["source_records"] and row["target_records"] and not row["arrived"] for row in facts["mirrors"]
    ):
        tables.line("no record of a copy is equal: --without-timestamps compares records without them", "dim")
    lines = list(blind_spots_lines(facts["not_seen"]))
    left_out = sum(row["left_out"] for row in facts["mirrors"])
    counts = (
        (facts["records_without_offset"], "written record", "written records", "no response has the offset"),
        (facts["fields_without_topic"], "records field", "records fields", "the topic's name is not known"),
        (facts["unreadable"], "fault", "faults", "in batches"),
        (facts["fields_of_further_topics"], "records field", "records fields", "of further topics"),
        (facts["records_before_a_copy"], "record", "records", "of topics whose copy came too late"),
        (left_out, "record", "records", "too many waited for their copy"),
    )
    lines += [f"  {plural(count, one, many)}: {why}" for count, one, many, why in counts if count]
    tables.lines("not compared", lines)
    tables.left_out(facts)
