"""`kdissect pipeline files`, `compact` and `retain`: what is done with tables that are written."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from kdissect.capture.filesystems import filesystem_of
from kdissect.cli.diagnostics import OK, UNREADABLE, USAGE, say
from kdissect.cli.formats.row_table import Facts
from kdissect.cli.formats.titled_tables import write_json
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.time_options import seconds
from kdissect.cli.output import Output
from kdissect.model.extras import are_installed, how_to_install
from kdissect.model.wording import plural
from kdissect.report.printable import printable

if TYPE_CHECKING:
    from kdissect.pipeline.sink.entry import Entry
    from kdissect.pipeline.sink.table_directory import StreamDirectory

# pyarrow is optional: what needs it, `pipeline.sink`, is imported behind the look for it
INSTALL = f"this needs the extra arrow: {how_to_install('arrow')}"


def run_files(arguments: Sequence[str]) -> int:
    """List committed files and return the exit code."""
    parser = command_parser(
        "pipeline files",
        "List the files that belong to tables, in the order of their rows (docs/tables-at-rest.md).",
    )
    _add_directory(parser)
    parser.add_argument("--table", metavar="NAME", help="only the files of one table")
    parser.add_argument("--format", choices=("text", "json"), default="text", help=(
        "text: path, rows, bytes, batch, with tabs between them. json: one document (default: text)"
    ))  # fmt: skip
    options = parser.parse_args(arguments)

    def listed(tables: StreamDirectory) -> None:
        entries = tables.entries(options.table)
        directory = options.directory.rstrip("/")
        with Output() as output:
            if options.format == "json":
                write_json(output, _facts(directory, entries, tables))
            else:
                output.write(_text(directory, entries).encode("utf-8", "replace"))

    return _with_tables(options.directory, 0, listed)


def _text(directory: str, entries: Iterable[Entry]) -> str:
    rows = (
        (printable(f"{directory}/{e.path}"), e.rows, e.bytes, "-" if e.batch is None else e.batch)
        for e in entries
    )
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def _facts(directory: str, entries: Iterable[Entry], tables: StreamDirectory) -> Facts:
    manifest = tables.manifest() or {}
    facts = {name: manifest.get(name) for name in ("run", "batch", "tables_version", "kdissect")}
    files = [{**e._asdict(), "path": f"{directory}/{e.path}"} for e in entries]
    return {**facts, "files": files}


def run_compact(arguments: Sequence[str]) -> int:
    """Join small files and return the exit code."""
    parser = command_parser(
        "pipeline compact",
        "Join the small files of tables, also while `pipeline watch` writes there (docs/tables-at-rest.md).",
    )
    _add_directory(parser)
    add_grace(parser)
    options = parser.parse_args(arguments)

    def compacted(tables: StreamDirectory) -> None:
        from kdissect.pipeline.sink.compaction import compact  # an extra: pyarrow

        done = compact(tables)
        with Output() as output:
            line = (
                f"{plural(done.before, 'file', spec=',')} became {done.after:,} "
                f"of {done.bytes / 1e6:,.1f} MB together\n"
            )
            output.write(line.encode())

    return _with_tables(options.directory, options.grace, compacted)


def run_retain(arguments: Sequence[str]) -> int:
    """Delete old days and return the exit code."""
    parser = command_parser(
        "pipeline retain",
        "Delete rows of old days from tables: whole partitions where days have their own, else the files are "
        "written again without them (docs/tables-at-rest.md).",
    )
    _add_directory(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--days", metavar="N", type=_count, help="keep the last N days, today among them (UTC)"
    )
    which.add_argument("--before", metavar="DAY", type=_day, help="delete what is older than DAY: 2026-05-01")
    add_grace(parser)
    options = parser.parse_args(arguments)

    def retained(tables: StreamDirectory) -> None:
        from kdissect.pipeline.sink.retention import retain  # an extra: pyarrow

        before = first_day(options, datetime.now(UTC).date())
        done = retain(tables, before)
        with Output() as output:
            line = (
                f"{plural(done.rows, 'row', spec=',')} before {before} went: "
                f"{plural(done.files, 'file', spec=',')} as a whole, "
                f"{done.rewritten:,} written again\n"
            )
            output.write(line.encode())

    return _with_tables(options.directory, options.grace, retained)


def first_day(options: Namespace, today: date) -> date:
    """Return the first remaining day."""
    found: date | None = options.before
    return found or today - timedelta(days=options.days - 1)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no day such as 2026-05-01") from None


def _count(text: str) -> int:
    # The number of days that `date` supports. A larger number means all days.
    if not (text.isascii() and text.isdigit() and 0 < int(text[:8]) < 700_000):
        raise ArgumentTypeError(f"{text!r} is not a day count")
    return int(text)


def _add_directory(parser: ArgumentParser) -> None:
    """Add the directory of tables."""
    parser.add_argument("directory", metavar="DIR", help="directory of tables: a path, or s3://, hdfs:// ...")


def add_grace(parser: ArgumentParser) -> None:
    """Add `--grace`."""
    parser.add_argument("--grace", metavar="SECONDS", type=seconds, default=300.0, help=(
        "how long files that are no longer part of the tables stay for readers (default: 300)"
    ))  # fmt: skip


def _with_tables(directory: str, grace_s: float, act: Callable[[StreamDirectory], None]) -> int:
    """Do something with the tables of a directory and return the exit code.

    Faults of the directory, and errors, go to stderr.
    """
    if not are_installed("pyarrow"):
        say(INSTALL)
        return USAGE
    from kdissect.pipeline.sink.table_directory import StreamDirectory  # an extra: pyarrow

    try:
        tables = StreamDirectory(*filesystem_of(directory), grace_s)
        if tables.manifest() is None:
            say(f"{directory}: no tables are there")
            return UNREADABLE
        act(tables)
    except (OSError, ValueError, ImportError) as error:
        say(f"{directory}: {getattr(error, 'strerror', None) or error}")
        return UNREADABLE
    return OK
