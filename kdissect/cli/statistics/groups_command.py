"""`kdissect groups`: members, rebalances with their causes, lag."""

from __future__ import annotations

from argparse import Namespace
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
from kdissect.cli.statistics.fetch_sessions_command import print_fetch_sessions
from kdissect.model.wording import plural
from kdissect.report.columns.groups import (
    failure_columns,
    failure_rows,
    group_columns,
    member_columns,
    partition_columns,
    rebalance_columns,
    rejoin_columns,
    rows_of,
)
from kdissect.report.columns.share_groups import delivery_columns
from kdissect.report.columns.streams_groups import status_columns, task_columns
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic
from kdissect.stats.by_software import members_by_software

# Parts of a single group, with their names in its JSON.
_PARTS = (
    "members", "rebalances", "failures", "rejoins", "partitions", "deliveries", "tasks", "statuses",
)  # fmt: skip
_FETCH_SESSIONS = "fetch_sessions"


def run(arguments: Sequence[str]) -> int:
    """Print the groups of the captures and return the exit code."""
    parser = command_parser(
        "groups",
        "List groups of every type and their rebalances, with the reasons; deliveries of share groups, and "
        "tasks and statuses of streams groups. With --group, also list members, assignments and lag. --table "
        "fetch_sessions lists the fetch sessions of clients.",
    )
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "only groups that an exchange for which EXPR holds is about")
    parser.add_argument(
        "--group", metavar="GLOB", action="append", help="only these groups, with all details"
    )
    add_tables(parser, "groups", *_PARTS, "software", _FETCH_SESSIONS, times=True)
    options = parser.parse_args(arguments)
    if options.table == _FETCH_SESSIONS:
        if options.group:
            parser.error("--group selects groups, and a fetch session has none: use -Y")
        return print_fetch_sessions(parser, options, open_filtered(parser, options), _FETCH_SESSIONS)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        traffic = GroupTraffic(dissection.topics)
        accepts = reporting_filter(options, dissection)

        def take(event: Event) -> None:
            if isinstance(event, Exchange):
                traffic.add(event, takes(accepts, event))

        def read() -> None:
            if accepts is None:
                read_blocks(dissection, take, traffic.count_block)
            else:
                read_events(dissection, take)

        def show(output: Output) -> None:
            groups = group_facts(traffic, name_test(options, "--group", "group", options.group))
            facts = {"groups": groups, "forgotten": traffic.logs.forgotten}
            tables = [RowTable("groups", lambda: groups)]
            tables += [RowTable(name, partial(rows_of, groups, name)) for name in _PARTS]
            tables.append(RowTable("software", lambda: members_by_software(groups)))
            write_tables(
                options, output, facts, tables,
                lambda: _write_tables(groups, traffic.logs.forgotten, options, output),
            )  # fmt: skip

        read_and_show(dissection, options, output, read, show)

    return printing(parser, options, dissection, body)


def _write_tables(groups: list[Facts], forgotten: int, options: Namespace, output: Output) -> None:
    """Write the table of groups and their rebalances, with `--group` also members and partitions.

    `forgotten` is the number of groups beyond the limit.
    """
    tables = Tables(options, output)
    tables.table(group_columns(), groups)
    if forgotten:
        tables.line(f"{plural(forgotten, 'group is', 'groups are')} left out: there are more than fit", "odd")
    if options.group:
        tables.section("members", member_columns(), rows_of(groups, "members"))
    tables.section("rebalances", rebalance_columns(), rows_of(groups, "rebalances"))
    tables.section("failed attempts", failure_columns(), failure_rows(groups))
    tables.section("joined again", rejoin_columns(), rows_of(groups, "rejoins"))
    tables.section("deliveries of share groups", delivery_columns(), rows_of(groups, "deliveries"))
    tables.section("tasks of streams groups", task_columns(), rows_of(groups, "tasks"))
    tables.section("statuses of streams groups", status_columns(), rows_of(groups, "statuses"))
    if options.group:
        tables.section("partitions", partition_columns(), rows_of(groups, "partitions"))
