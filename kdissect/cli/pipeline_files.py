"""`kdissect pipeline files`: the files that belong to tables, and none of those that only lie beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kdissect.cli.committed_tables import add_directory, with_tables
from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.cli.printable import printable

if TYPE_CHECKING:
    from kdissect.pipeline.sink.entry import Entry
    from kdissect.pipeline.sink.table_directory import StreamDirectory


def run(arguments: Sequence[str]) -> int:
    """List committed files; gives the exit code."""
    parser = command_parser(
        "pipeline files",
        "List the files that belong to tables, in the order of their rows (docs/tables-at-rest.md).",
    )
    add_directory(parser)
    parser.add_argument("--table", metavar="NAME", help="only those of one table")
    parser.add_argument("--format", choices=("text", "json"), default="text", help=(
        "text: path, rows, bytes, batch, with tabs between them; json: one document; default: text"
    ))  # fmt: skip
    options = parser.parse_args(arguments)

    def listed(place: StreamDirectory) -> None:
        entries = place.entries(options.table)
        form = _json if options.format == "json" else _text
        with Output() as output:
            output.write(form(options.directory.rstrip("/"), entries, place).encode("utf-8", "replace"))

    return with_tables(options.directory, 0, listed)


def _text(directory: str, entries: Iterable[Entry], _: StreamDirectory) -> str:
    rows = (
        (printable(f"{directory}/{e.path}"), e.rows, e.bytes, "-" if e.batch is None else e.batch)
        for e in entries
    )
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def _json(directory: str, entries: Iterable[Entry], place: StreamDirectory) -> str:
    from json import dumps

    manifest = place.manifest() or {}
    facts = {name: manifest.get(name) for name in ("run", "batch", "tables_version", "kdissect")}
    files = [{**e._asdict(), "path": f"{directory}/{e.path}"} for e in entries]
    return dumps({**facts, "files": files}, indent=2, ensure_ascii=True) + "\n"
