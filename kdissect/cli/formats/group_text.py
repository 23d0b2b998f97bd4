"""The facts of `kdissect groups` as tables."""

from argparse import Namespace
from typing import Any

from kdissect.cli.output import Output
from kdissect.cli.tables import Tables
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

Facts = dict[str, Any]


def group_text(groups: list[Facts], forgotten: int, options: Namespace, output: Output) -> None:
    """Write the table of groups and their rebalances; with `--group` members and partitions too.

    `forgotten` groups were too many to be kept.
    """
    tables = Tables(options, output)
    tables.table(group_columns(), groups)
    if forgotten:
        tables.line(
            f"{plural(forgotten, 'group is', 'groups are')} left out: there are more than can be kept", "odd"
        )
    if options.group:
        tables.section("members", member_columns(), rows_of(groups, "members"))
    tables.section("rebalances", rebalance_columns(), rows_of(groups, "rebalances"))
    tables.section("failed attempts", failure_columns(), failure_rows(groups))
    tables.section("joined again", rejoin_columns(), rows_of(groups, "rejoins"))
    if options.group:
        tables.section("partitions", partition_columns(), rows_of(groups, "partitions"))
