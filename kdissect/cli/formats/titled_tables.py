"""Commands that print several tables, or one JSON document: their options and their printing."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from kdissect.cli.colour import paint, wants_colour
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.options.output_options import add_output, add_time, positive
from kdissect.cli.output import Output, folded, terminal_width

if TYPE_CHECKING:
    from kdissect.report.cells import TableColumn

SUGGESTED = "suggested"  # the attribute of an option that has values to offer, and takes others
ROW_FORMATS = ("tsv", "csv", "json", "jsonl", "parquet")


def add_tables(
    parser: ArgumentParser,
    *names: str,
    text: str = "table",
    sort: str = "order of the rows",
    orders: Iterable[str] = (),
    reports: Iterable[str] = (),
    times: bool = False,
) -> None:
    """Add the options of buffered rows: `--format`, `--table`, `-e`, `--sort`, `--limit` and similar ones.

    `names` are the tables' names, `text` is the name of the form for people, `orders` are completions for
    `--sort`, `reports` are formats with more than rows. With `times` there is `--time`.
    """
    add = parser.add_argument_group("how to print them").add_argument
    formats = tuple(dict.fromkeys((text, *reports, "table", *ROW_FORMATS)))
    add("--format", choices=formats, help=f"default: {text}, or what -o FILE ends with")
    add("--json", dest="format", action="store_const", const="json", help="short for --format json")
    add("--no-header", dest="header", action="store_false", help="no line with the names of the columns")
    if len(names) > 1:
        add(
            "--table", choices=names, help=f"one table alone. Default of tsv, csv, jsonl, parquet: {names[0]}"
        )
    add("-e", dest="fields", metavar="FIELD,...", action="append", default=[], help=(
        "columns of that table: names of its JSON by their dotted names. +FIELD: the default columns, "
        "and this one"
    ))  # fmt: skip
    action = add("--sort", metavar="FIELD", help=(
        f"{sort}: numbers the largest first, texts in ascending order; FIELD:asc, FIELD:desc"
    ))  # fmt: skip
    setattr(action, SUGGESTED, tuple(orders) or None)
    add("--limit", metavar="N", type=positive, help="no more than N rows")
    add_output(add)
    if times:
        add_time(parser)
        parser.set_defaults(start_of=None)
    parser.set_defaults(table=None, formats=formats)


def write_tables(
    options: Namespace,
    output: Output,
    facts: Facts,
    tables: Sequence[RowTable],
    write_text: Callable[[], None],
) -> None:
    """Write in the chosen format: everything with `write_text` or as JSON, or one table."""
    is_all = not (options.fields or options.table or options.sort or options.limit)
    style = options.format or ("table" if is_all or output.is_terminal else "tsv")
    if is_all and style == "json":
        write_json(output, facts)
    elif is_all and style in ("table", "text"):
        write_text()
    else:
        from kdissect.cli.formats.held_rows import write_rows  # start-up: few choose rows

        named = {table.name: table for table in tables}
        write_rows(
            named[options.table or tables[0].name], "table" if style == "text" else style, options, output
        )


def write_json(output: Output, facts: Facts) -> None:
    """Write one JSON document: an object with its version, as every `--format json` prints."""
    from kdissect.report.json_pages import json_document  # start-up: most print no JSON

    output.write(json_document(facts))


class Tables:
    """Writes tables with headings, an empty line between them."""

    def __init__(self, options: Namespace, output: Output) -> None:
        self._options = options
        self._output = output
        self._colour = wants_colour(options.color, output.is_terminal)
        self._begun = False

    def line(self, text: str, style: str = "") -> None:
        """Write a line of text, which has to be printable."""
        if self._output.is_terminal:
            text = folded(text, terminal_width())
        shown = paint(text, style) if self._colour else text
        self._output.write(shown.encode("utf-8", "replace") + b"\n")
        self._begun = True

    def left_out(self, facts: Facts) -> None:
        """Write a line if there was more than the limits allow."""
        if facts["forgotten"]:
            self.line(f"{facts['forgotten']} more are left out: there are more than fit", "odd")

    def heading(self, text: str) -> None:
        """Write the heading of what follows."""
        if self._begun:
            self._output.write(b"\n")
        self.line(text, "bold")

    def section(self, title: str, columns: Sequence[TableColumn], rows: Sequence[Facts]) -> None:
        """Write a table under a heading, if there are rows."""
        if rows:
            self.heading(title)
            self.table(columns, rows)

    def lines(self, title: str, lines: Sequence[str]) -> None:
        """Write lines under a heading, if there are lines."""
        if lines:
            self.heading(title)
        for line in lines:
            self.line(line)

    def table(self, columns: Sequence[TableColumn], rows: Iterable[Facts]) -> None:
        """Write a table of rows, if there are rows."""
        held = list(rows)
        if not held:
            return
        from kdissect.cli.formats.text_table import table  # start-up: rich
        from kdissect.report.cells import used_columns  # start-up: rows need none

        shown = used_columns(columns, held)
        if any(column.moment for column in shown):
            from kdissect.cli.formats.clock import clocked_report  # start-up: of tables with times

            shown = clocked_report(shown, self._options.time, self._options.start_of)
        form = table(shown, self._options, self._output, live=False)
        self._output.write(form.head())
        for row in held:
            self._output.write(form.line(row))
        self._output.write(form.tail())
        self._begun = True
