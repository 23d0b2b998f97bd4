"""`kdissect fields`: what a filter can name, and how one could go on."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import add_tables, write_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.output_options import writing
from kdissect.cli.options.wanted_names import near_names
from kdissect.cli.output import Output
from kdissect.query.complete import Completion, complete
from kdissect.query.fields.field_list import FieldInfo, fields

_BODIES = "Fields of bodies: kdissect fields request. and kdissect fields response."


def run(arguments: Sequence[str]) -> int:
    """Print the fields and return the exit code."""
    parser = command_parser(
        "fields",
        f"List the fields that a filter (-Y) can name (docs/filter.md). {_BODIES}, or longer beginnings.",
    )
    add = parser.add_argument
    add("prefix", metavar="PREFIX", nargs="?", default="", help="only names that begin so")
    add("--complete", metavar="EXPR", help=(
        "print completions for EXPR, an incomplete filter, instead of fields: text, kind and help of "
        "what can replace its"
        "last word"
    ))  # fmt: skip
    add_tables(parser, "fields", text="text")
    options = parser.parse_args(arguments)
    found, completion = [], None
    if options.complete is not None:
        completion = complete(options.complete, len(options.complete))
    else:
        found = fields(options.prefix)
        if not found:
            near = near_names(options.prefix, [info.name for info in fields()])
            hint = f"; did you mean {near[0]}?" if near else ""
            parser.error(f"no field begins with {options.prefix!r}{hint}")

    def body(output: Output) -> None:
        def write_text() -> None:
            text = _text(found) if completion is None else _lines(completion)
            output.write_text(text)

        facts = {"fields": _listed(found)} if completion is None else _completed(completion)
        rows = facts["fields" if completion is None else "candidates"]
        write_tables(options, output, facts, [RowTable("fields", lambda: rows)], write_text)

    return writing(parser, options, body)


def _listed(found: list[FieldInfo]) -> list[Facts]:
    return [info._asdict() for info in found]


def _completed(found: Completion) -> Facts:
    candidates = [candidate._asdict() for candidate in found.candidates]
    return {"start": found.start, "end": found.end, "candidates": candidates}


def _lines(found: Completion) -> str:
    return "".join("\t".join(candidate) + "\n" for candidate in found.candidates)


def _text(found: list[FieldInfo]) -> str:
    names = max(len(info.name) for info in found)
    types = max(len(info.type) for info in found)
    return "".join(f"{info.name:{names}}  {info.type:{types}}  {_meaning(info)}\n" for info in found)


def _meaning(info: FieldInfo) -> str:
    return f"{info.doc} (numbers: {info.unit})" if info.unit else info.doc
