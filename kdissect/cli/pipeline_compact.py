"""`kdissect pipeline compact`: joins small files of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kdissect.cli.committed_tables import add_directory, add_grace, with_tables
from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.model.wording import plural

if TYPE_CHECKING:
    from kdissect.pipeline.sink.table_directory import StreamDirectory


def run(arguments: Sequence[str]) -> int:
    """Join small files; gives the exit code."""
    parser = command_parser(
        "pipeline compact",
        "Join the small files of tables, also while `pipeline watch` writes there (docs/tables-at-rest.md).",
    )
    add_directory(parser)
    add_grace(parser)
    options = parser.parse_args(arguments)

    def compacted(place: StreamDirectory) -> None:
        from kdissect.pipeline.sink.compaction import compact

        done = compact(place)
        with Output() as output:
            line = (
                f"{plural(done.before, 'file', spec=',')} became {done.after:,} "
                f"of {done.bytes / 1e6:,.1f} MB together\n"
            )
            output.write(line.encode())

    return with_tables(options.directory, options.grace, compacted)
