"""`kdissect groups`: members, rebalances with their causes, lag."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.cli.filters import add_filter, open_filtered, takes, telling_filter
from kdissect.cli.inputs import add_inputs, add_topic_ids
from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.cli.printing import printing
from kdissect.cli.selection import wanted_names
from kdissect.cli.tables import add_tables, write_json
from kdissect.cli.turns import Reading, read_turns
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic


def run(arguments: Sequence[str]) -> int:
    """Print the groups of the captures; gives the exit code."""
    parser = command_parser(
        "groups", "Groups of every kind: rebalances and why, and with --group members, assignments and lag."
    )
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "only groups that an exchange for which EXPR holds is about")
    parser.add_argument(
        "--group", metavar="GLOB", action="append", help="only these groups, with all details"
    )
    add_tables(parser)
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        traffic = GroupTraffic(dissection.topics)
        accepts = telling_filter(options, dissection)
        reading = Reading()
        with reading:
            read_turns(dissection, lambda turn: traffic.add(turn, takes(accepts, turn.exchange)))
        groups = group_facts(traffic, wanted_names(options, "--group", "group", options.group))
        if options.format == "json":
            write_json(output, {"groups": groups, "forgotten": traffic.logs.forgotten})
        else:
            from kdissect.cli.formats.group_text import group_text

            group_text(groups, traffic.logs.forgotten, options, output)
        reading.over()

    return printing(parser, options, dissection, body)
