"""`kdissect fields`: what a filter can name, and how one could go on."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.cli.printing import writing
from kdissect.query.complete import complete
from kdissect.query.fields.field_list import FieldInfo, fields

_BODIES = "Fields of bodies: kdissect fields request. and kdissect fields response."


def run(arguments: Sequence[str]) -> int:
    """Print the fields; gives the exit code."""
    parser = command_parser(
        "fields", f"What a filter (-Y) can name; docs/filter.md explains. {_BODIES}, or longer beginnings."
    )
    add = parser.add_argument
    add("prefix", metavar="PREFIX", nargs="?", default="", help="only names that begin so")
    add("--complete", metavar="EXPR", help=(
        "instead: what could come behind EXPR, the beginning of a filter; lines of text, kind and help, in "
        "place of its last word"
    ))  # fmt: skip
    add("--format", choices=("text", "json"), default="text", help="default: text")
    add("-o", "--output", metavar="FILE", help="write to FILE instead of standard output")
    options = parser.parse_args(arguments)
    if options.complete is not None:
        text = _completion(options)
    else:
        found = fields(options.prefix)
        if not found:
            parser.error(f"no field begins with {options.prefix!r}")
        text = _json([info._asdict() for info in found]) if options.format == "json" else _text(found)

    def body(output: Output) -> None:
        output.write(text.encode("utf-8", "replace"))

    return writing(parser, options, body)


def _completion(options: Namespace) -> str:
    found = complete(options.complete, len(options.complete))
    if options.format == "json":
        candidates = [candidate._asdict() for candidate in found.candidates]
        return _json({"start": found.start, "end": found.end, "candidates": candidates})
    return "".join("\t".join(candidate) + "\n" for candidate in found.candidates)


def _json(value: object) -> str:
    from json import dumps

    return dumps(value, indent=2) + "\n"


def _text(found: list[FieldInfo]) -> str:
    names = max(len(info.name) for info in found)
    types = max(len(info.type) for info in found)
    return "".join(f"{info.name:{names}}  {info.type:{types}}  {_meaning(info)}\n" for info in found)


def _meaning(info: FieldInfo) -> str:
    return f"{info.doc} (numbers: {info.unit})" if info.unit else info.doc
