"""`kdissect diff`: what differs between two captures, or between two parts of one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from kdissect.api import Dissection
from kdissect.causes.compared import compared
from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.gathering import Gathering
from kdissect.cli.diagnostics import FINDINGS, OK
from kdissect.cli.findings.cause_reading import read_causes, with_path
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import Tables, add_tables, write_tables
from kdissect.cli.input_states import report
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import add_filters, filter_of, open_filtered, takes
from kdissect.cli.options.input_options import add_inputs, add_topic_ids, is_input
from kdissect.cli.options.output_options import printing
from kdissect.cli.output import Output
from kdissect.model.cause import Diagnosis
from kdissect.model.wording import path_text, plural
from kdissect.report.cells import text_column
from kdissect.report.columns.comparison import cause_columns, difference_columns, step_columns
from kdissect.report.columns.stalls import STALLS_TITLE, stall_columns
from kdissect.report.quantities import duration
from kdissect.session.events import ConnectionClosed, Event
from kdissect.stats.comparison.comparison_rows import comparison_facts
from kdissect.stats.comparison.sides import Side

_TABLES = ("differences", "steps", "causes", "stalls")
_STEPS_SHOWN = 40
_ALL = 1_000  # causes


def run(arguments: Sequence[str]) -> int:
    """Print the differences, most significant first, and return the exit code."""
    parser = command_parser(
        "diff",
        "Compare two captures and list what clients and brokers do differently in BAD, most significant "
        "first: outcomes, software, versions, fields, batches, order, times, sizes.",
    )
    add_inputs(parser)
    add_topic_ids(parser)
    add_filters(parser, "only exchanges for which EXPR holds; twice: one for GOOD, one for BAD")
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 where anything differs")
    add_tables(parser, *_TABLES)
    options = parser.parse_args(arguments)
    sides = _sides(parser, options)
    opened = [open_filtered(parser, side) for side in sides]
    if options.output and is_input(opened[0], options.output):
        parser.error(f"{options.output} is one of the captures to be read")
    found: list[Facts] = []

    def body(output: Output) -> None:
        good, bad = (_read(side, dissection) for side, dissection in zip(sides, opened, strict=True))
        facts = comparison_facts(good.side, bad.side)
        facts["causes"] = [cause.facts() for cause in compared(good.diagnosis, bad.diagnosis)]
        facts["stalls"] = [*_stalls("good", good.stalls), *_stalls("bad", bad.stalls)]
        found.extend(facts["differences"])
        tables = [RowTable(name, partial(facts.__getitem__, name)) for name in _TABLES]
        write_tables(options, output, facts, tables, lambda: _write_text(facts, sides, options, output))

    code = printing(parser, options, opened[1], body)
    code = report(opened[0], sides[0]) or code
    return code or (FINDINGS if options.exit_code and found else OK)


def _sides(parser: ArgumentParser, options: Namespace) -> list[Namespace]:
    """Return the options of either side: its path, and its filter."""
    paths, filters = options.paths, options.filters
    if len(paths) == 1 and len(filters) == 2:
        paths = [*paths, *paths]
    if len(paths) != 2 or len(filters) > 2:
        parser.error("two captures are compared: GOOD BAD; or two parts of one: FILE -Y EXPR -Y EXPR")
    if "-" in paths and paths[0] == paths[1]:
        parser.error("standard input can be read once")
    both = filters or [None]
    return [
        Namespace(**{**vars(with_path(options, path)), "filter": both[min(number, len(both) - 1)]})
        for number, path in enumerate(paths)
    ]


class _Read(NamedTuple):
    side: Side
    diagnosis: Diagnosis
    stalls: list[Facts]
    """When brokers stood still, as `stats` has it."""


def _read(options: Namespace, dissection: Dissection) -> _Read:
    """Take all of a capture in one pass."""
    side = Side()
    accepts = filter_of(options, dissection)
    gathering = Gathering(dissection.topics, accepts)

    def take(event: Event) -> None:
        if event.connection.same_as is not None:
            return
        is_wanted = accepts is None if isinstance(event, ConnectionClosed) else takes(accepts, event)
        side.add(event, is_wanted)

    read_causes(dissection, gathering, lambda events: dissection.guard.each(events, take))
    side.finish()
    gathering.finish()
    stalls = gathering.stalls.facts(gathering.traffic.throttled)
    return _Read(side, diagnose(gathering, dissection.file_names, most=_ALL), stalls)


def _stalls(side: str, rows: Sequence[Facts]) -> list[Facts]:
    return [{"side": side, **row} for row in rows]


def _write_text(facts: Facts, sides: Sequence[Namespace], options: Namespace, output: Output) -> None:
    tables = Tables(options, output)
    for name, side in zip(("good", "bad"), sides, strict=True):
        seen = facts[name]
        of = f" -Y {side.filter.text!r}" if side.filter is not None else ""
        counts = (plural(seen["clients"], "client"), plural(seen["exchanges"], "exchange"))
        lasted = duration(seen["duration_ns"])
        tables.line(f"{name}: {path_text(side.paths[0])}{of}: {', '.join(counts)}, {lasted}")
    tables.section("what differs, most telling first", difference_columns(), facts["differences"])
    if not facts["differences"]:
        tables.line("nothing differs but what differs between any two runs", "dim")
    tables.section(
        "causes of trouble", cause_columns(), [row for row in facts["causes"] if row["state"] != "same"]
    )
    tables.section(
        STALLS_TITLE,
        [text_column("in", "side"), text_column("since", "from"), *stall_columns()],
        facts["stalls"],
    )
    steps = facts["steps"]
    tables.section("side by side", step_columns(), steps[:_STEPS_SHOWN])
    if len(steps) > _STEPS_SHOWN:
        tables.line(f"{plural(len(steps) - _STEPS_SHOWN, 'more row')}: --table steps", "dim")
