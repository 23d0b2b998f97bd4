"""`kdissect stats`: how many, how fast, how large, told apart by whatever the user asks for."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from kdissect.api import Dissection
from kdissect.cli.filters import add_filter, open_filtered, selected
from kdissect.cli.inputs import add_inputs, add_topic_ids
from kdissect.cli.metering import Metering, add_metrics
from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.cli.printing import printing
from kdissect.cli.selection import add_selection
from kdissect.cli.tables import add_tables, write_json
from kdissect.cli.turns import Reading, read_turns
from kdissect.history.turn import Turn
from kdissect.stats.by_group.group_links import GroupLinks
from kdissect.stats.dimensions import DIMENSIONS, Context, key_maker
from kdissect.stats.traffic import Traffic
from kdissect.stats.traffic_rows import ORDERS, traffic_facts

DEFAULT_TOP = 30  # rows of a table: a screen
POINTS_SHOWN = 20
POINTS_TOLD = 200  # in JSON


def run(arguments: Sequence[str]) -> int:
    """Print the statistics of the captures; gives the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        reading = Reading()
        _print(_count(dissection, options, reading), options, output)
        reading.over()

    return printing(parser, options, dissection, body)


def _parser() -> ArgumentParser:
    parser = command_parser(
        "stats", "How many exchanges, how fast, how large: response times, rates and errors."
    )
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_selection(parser)
    add_filter(parser, "count only exchanges for which EXPR holds")
    add = parser.add_argument_group("what to count").add_argument
    add("--by", metavar="NAME,...", type=_names, default=["api"], help=(
        f"what rows are told apart by: {', '.join(DIMENSIONS)}; default: api"
    ))  # fmt: skip
    add("--top", metavar="N", type=_positive, help=f"rows; default: {DEFAULT_TOP}, in JSON all")
    add("--sort", choices=tuple(ORDERS), default="exchanges", help=(
        "what rows come first; broker: its p99, throttle: all of it; default: exchanges"
    ))  # fmt: skip
    add("--over-time", action="store_true", help="also rates in one interval after the other")
    add_metrics(parser)
    add_tables(parser)
    return parser


def _names(text: str) -> list[str]:
    names = [name.replace("-", "_") for name in text.split(",") if name]
    for name in names:
        if name not in DIMENSIONS:
            from difflib import get_close_matches

            near = get_close_matches(name, DIMENSIONS, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; names are {', '.join(DIMENSIONS)}"
            raise ArgumentTypeError(f"nothing is told apart by {name!r}{hint}")
    if not names:
        raise ArgumentTypeError("name at least one")
    return list(dict.fromkeys(names))


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number of rows")
    return int(text)


def _count(dissection: Dissection, options: Namespace, reading: Reading) -> Traffic:
    context = Context(dissection.topics, GroupLinks())
    traffic = Traffic(key_maker(options.by, context))
    test = selected(options, dissection)
    links = "group" in options.by

    def take(turn: Turn) -> None:
        if links:
            context.groups.learn(turn)
        if test is None or test(turn.exchange):
            traffic.add(turn)
        else:
            dissection.topics.pass_by(turn.exchange)

    with Metering(options, dissection), reading:
        read_turns(dissection, take)
    return traffic


def _print(traffic: Traffic, options: Namespace, output: Output) -> None:
    if options.format == "json":
        write_json(output, traffic_facts(traffic, options.by, options.top, POINTS_TOLD, options.sort))
        return
    from kdissect.cli.formats.traffic_text import traffic_text

    facts = traffic_facts(traffic, options.by, options.top or DEFAULT_TOP, POINTS_SHOWN, options.sort)
    total = traffic.total
    span_ns = (total.last_ns or 0) - (total.first_ns or 0)
    traffic_text(facts, span_ns, options, output)
