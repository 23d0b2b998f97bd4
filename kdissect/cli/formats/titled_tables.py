"""Commands that print several tables, or one JSON document: their options and their printing."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kdissect.cli.colour import paint, wants_colour
from kdissect.cli.options.output_options import add_output
from kdissect.cli.output import Output

if TYPE_CHECKING:
    from kdissect.report.cells import TableColumn

Facts = dict[str, Any]


def add_tables(parser: ArgumentParser) -> None:
    """Add `--format table|json`, `-o` and `--color`."""
    add = parser.add_argument_group("how to print them").add_argument
    add("--format", choices=("table", "json"), default="table", help="default: table")
    add("--no-header", dest="header", action="store_false", help="no line with the names of the columns")
    add_output(add)


def write_json(output: Output, facts: object) -> None:
    """One JSON document: what every `--format json` prints."""
    from json import dumps  # start-up: most print no JSON

    text = dumps(facts, indent=2, ensure_ascii=True)
    output.write(text.encode("utf-8", "replace") + b"\n")


class Tables:
    """Writes tables with headings, an empty line between them."""

    def __init__(self, options: Namespace, output: Output) -> None:
        self._options = options
        self._output = output
        self._colour = wants_colour(options.color, output.is_terminal)
        self._begun = False

    def line(self, text: str, style: str = "") -> None:
        """A line of text, which has to be printable."""
        shown = paint(text, style) if self._colour else text
        self._output.write(shown.encode("utf-8", "replace") + b"\n")
        self._begun = True

    def heading(self, text: str) -> None:
        """The heading of what follows."""
        if self._begun:
            self._output.write(b"\n")
        self.line(text, "bold")

    def section(self, title: str, columns: Sequence[TableColumn], rows: Sequence[Facts]) -> None:
        """A table under a heading; nothing where there are no rows."""
        if rows:
            self.heading(title)
            self.table(columns, rows)

    def table(self, columns: Sequence[TableColumn], rows: Iterable[Facts]) -> None:
        """A table of rows; nothing where there are none."""
        held = list(rows)
        if not held:
            return
        from kdissect.cli.formats.text_table import table  # start-up: rich

        form = table(used(columns, held), self._options, self._output, live=False)
        self._output.write(form.head())
        for row in held:
            self._output.write(form.line(row))
        self._output.write(form.tail())
        self._begun = True


def used(columns: Sequence[TableColumn], rows: Sequence[Facts]) -> list[TableColumn]:
    """The columns in which any row has something."""
    return [column for column in columns if any(column.cell(row).text for row in rows)]
