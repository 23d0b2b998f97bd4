"""`kdissect limits`: the bounds on memory and time, as `--limits` names them."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import add_tables, write_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.output_options import writing
from kdissect.cli.output import Output
from kdissect.model.limit_notes import LIMIT_NOTES
from kdissect.model.limits import DEFAULT_LIMITS


def run(arguments: Sequence[str]) -> int:
    """Print the limits and return the exit code."""
    parser = command_parser(
        "limits",
        "List the bounds on memory and time that --limits NAME=VALUE,... sets: name, default, unit, and the"
        "message at the limit. docs/limits.md lists all bounds.",
    )
    add_tables(parser, "limits", text="text")
    options = parser.parse_args(arguments)

    def body(output: Output) -> None:
        facts = _facts()
        tables = [RowTable("limits", lambda: facts)]
        write_tables(options, output, {"limits": facts}, tables, lambda: output.write_text(_text()))

    return writing(parser, options, body)


def _text() -> str:
    names = max(map(len, LIMIT_NOTES))
    return "".join(
        f"{name:{names}}  {_amount(name):>9}  {note.what} ({note.told})\n"
        for name, note in LIMIT_NOTES.items()
    )


def _amount(name: str) -> str:
    value: int = getattr(DEFAULT_LIMITS, name)
    if LIMIT_NOTES[name].is_bytes and not value % (1 << 20):
        return f"{value >> 20}MiB"
    return str(value)


def _facts() -> list[Facts]:
    return [
        {"name": name, "default": getattr(DEFAULT_LIMITS, name), "unit": "bytes" if note.is_bytes else None,
         "what": note.what, "told": note.told}
        for name, note in LIMIT_NOTES.items()
    ]  # fmt: skip
