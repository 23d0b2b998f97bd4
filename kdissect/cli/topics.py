"""`kdissect topics`: who writes, who reads, and what the capture could not see."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from kdissect.api import Dissection
from kdissect.cli.filters import add_filter, open_filtered, takes, telling_filter
from kdissect.cli.inputs import add_inputs, add_topic_ids
from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.cli.printing import printing
from kdissect.cli.selection import wanted_names
from kdissect.cli.tables import add_tables, write_json
from kdissect.cli.turns import Reading, read_events
from kdissect.history.turn import Turn
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stats.blind_spots import BlindSpots
from kdissect.stats.by_topic.topic_rows import topic_facts
from kdissect.stats.by_topic.topic_traffic import TopicTraffic


def run(arguments: Sequence[str]) -> int:
    """Print the topics of the captures; gives the exit code."""
    parser = command_parser(
        "topics", "Who writes and who reads each topic, how much, in what batches, and who was denied."
    )
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "count only exchanges for which EXPR holds")
    add = parser.add_argument_group("what to count").add_argument
    add("--topic", metavar="GLOB", action="append", help="only these topics")
    add("--sizes", action="store_true", help="read the records: sizes of keys and values (decompresses)")
    add_tables(parser)
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        reading = Reading()
        facts = _facts(dissection, options, reading)
        if options.format == "json":
            write_json(output, facts)
        else:
            from kdissect.cli.formats.topic_text import topic_text

            topic_text(facts, options, output)
        reading.over()

    return printing(parser, options, dissection, body)


def _facts(dissection: Dissection, options: Namespace, reading: Reading) -> dict[str, Any]:
    traffic, unseen = TopicTraffic(dissection.topics, options.sizes), BlindSpots()
    accepts = telling_filter(options, dissection)

    def take(event: Event) -> None:
        unseen.add(event)
        if isinstance(event, Exchange):
            traffic.add(Turn(event), takes(accepts, event))

    with reading:
        read_events(dissection, take)
    wanted = wanted_names(options, "--topic", "topic", options.topic)
    return {
        "topics": topic_facts(traffic, wanted),
        "not_seen": unseen.facts() | {"brokers": traffic.leaders.unseen_brokers()},
    }
