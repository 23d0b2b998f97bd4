"""`kdissect fields`: what a filter can name."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.cli.printing import writing
from kdissect.query.listing import FieldInfo, fields

_BODIES = "Fields of bodies: kdissect fields request. and kdissect fields response."


def run(arguments: Sequence[str]) -> int:
    """Print the fields; gives the exit code."""
    parser = command_parser(
        "fields",
        f"What a filter (-Y) can name; docs/filter.md explains. {_BODIES}, or longer beginnings.",
    )
    parser.add_argument("prefix", metavar="PREFIX", nargs="?", default="", help="only names that begin so")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of standard output")
    options = parser.parse_args(arguments)
    found = fields(options.prefix)
    if not found:
        parser.error(f"no field begins with {options.prefix!r}")
    text = _json(found) if options.format == "json" else _text(found)

    def body(output: Output) -> None:
        output.write(text.encode("utf-8", "replace"))

    return writing(parser, options, body)


def _json(found: list[FieldInfo]) -> str:
    from json import dumps

    return dumps([info._asdict() for info in found], indent=2) + "\n"


def _text(found: list[FieldInfo]) -> str:
    names = max(len(info.name) for info in found)
    types = max(len(info.type) for info in found)
    return "".join(f"{info.name:{names}}  {info.type:{types}}  {_meaning(info)}\n" for info in found)


def _meaning(info: FieldInfo) -> str:
    return f"{info.doc} (numbers: {info.unit})" if info.unit else info.doc
