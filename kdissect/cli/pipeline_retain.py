"""`kdissect pipeline retain`: deletes days of tables that are not kept any longer."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from kdissect.cli.committed_tables import add_directory, add_grace, with_tables
from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.model.wording import plural

if TYPE_CHECKING:
    from kdissect.pipeline.sink.table_directory import StreamDirectory


def run(arguments: Sequence[str]) -> int:
    """Delete old days; gives the exit code."""
    parser = command_parser(
        "pipeline retain",
        "Delete rows of old days from tables: whole partitions where days have their own, else the files are "
        "written again without them (docs/tables-at-rest.md).",
    )
    add_directory(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--days", metavar="N", type=_count, help="keep the last N days, today among them (UTC)"
    )
    which.add_argument("--before", metavar="DAY", type=_day, help="delete what is older than DAY: 2026-05-01")
    add_grace(parser)
    options = parser.parse_args(arguments)

    def retained(place: StreamDirectory) -> None:
        from kdissect.pipeline.sink.retention import retain

        before = first_day(options, datetime.now(UTC).date())
        done = retain(place, before)
        with Output() as output:
            line = (
                f"{plural(done.rows, 'row', spec=',')} before {before} went: "
                f"{plural(done.files, 'file', spec=',')} as a whole, "
                f"{done.rewritten:,} written again\n"
            )
            output.write(line.encode())

    return with_tables(options.directory, options.grace, retained)


def first_day(options: Namespace, today: date) -> date:
    """The first day that is kept."""
    found: date | None = options.before
    return found or today - timedelta(days=options.days - 1)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no day such as 2026-05-01") from None


def _count(text: str) -> int:
    # As many as `date` has; people who mean more keep everything.
    if not (text.isascii() and text.isdigit() and 0 < int(text[:8]) < 700_000):
        raise ArgumentTypeError(f"{text!r} is no number of days")
    return int(text)
