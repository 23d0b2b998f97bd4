"""`kdissect connections --one-way`: how long each way took between two captures of the same connections."""

from __future__ import annotations

from argparse import Namespace
from itertools import islice

from kdissect.api import Dissection
from kdissect.cli.diagnostics import say
from kdissect.cli.event_loop import read_all, read_shown
from kdissect.cli.formats import format_name, format_of
from kdissect.cli.options.filter_option import EventFilter, filter_of
from kdissect.cli.output import Output
from kdissect.report.columns.one_way import clock_lines, connection_columns
from kdissect.session.events import Event
from kdissect.stats.one_way_connections import ONE_WAY_FIELDS, OneWayConnections

_COLUMNS = tuple(field.name for field in ONE_WAY_FIELDS)


def print_one_way(dissection: Dissection, options: Namespace, output: Output) -> None:
    """Write a line for each connection that two captures have, once the input is over."""
    sets = len({file.capture_set for file in dissection.captures.files})
    found = OneWayConnections(sets, options.clocks_within)
    accepts = filter_of(options, dissection)
    takes = None if accepts is None else EventFilter(accepts)

    def take(event: Event) -> None:
        found.add(event, takes is None or takes(event))

    types = {field.name: field.type for field in ONE_WAY_FIELDS}

    def show(output: Output) -> None:
        form = format_of(options, output, _COLUMNS, connection_columns, types=types)
        output.write(form.head())
        for row in islice(found.rows(), options.limit):
            output.write(form.line(row))
        output.write(form.tail())
        if format_name(options, output) == "table":
            for line in clock_lines(found.ways.clock_facts()):
                output.write(line.encode("utf-8", "replace") + b"\n")

    reading = read_shown(dissection, options, output, lambda: read_all(dissection, take), show)
    show(output)
    if not found.ways.clock_facts():
        hint = "" if sets > 1 else ": name the files of both places to find them (docs/inputs.md)"
        say(f"no exchange is in two captures{hint}")
    reading.over()
