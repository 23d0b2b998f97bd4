"""`kdissect connections --problems`: why connections came to nothing."""

from __future__ import annotations

from argparse import Namespace

from kdissect.api import Dissection
from kdissect.cli.diagnostics import say
from kdissect.cli.filters import EventFilter, filter_of
from kdissect.cli.formats import Format, delimited
from kdissect.cli.output import Output
from kdissect.cli.problem_packets import packets_of
from kdissect.cli.turns import Reading, read_all
from kdissect.history.connection_problems import ConnectionProblem
from kdissect.model.wording import plural
from kdissect.session.events import ConnectionClosed, Event
from kdissect.stats.diagnosis import Diagnosis
from kdissect.stats.problem_rows import PROBLEM_FIELDS, problem_row

MOST_TOLD = 10_000  # of 3 KB each until the end of the input
COLUMNS = tuple(field.name for field in PROBLEM_FIELDS if field.name not in ("start_ns", "capture_set"))


def print_problems(dissection: Dissection, options: Namespace, output: Output) -> None:
    """Write a line for each of them, in the order in which they began, once the input is over."""
    accepts = filter_of(options, dissection)
    takes = None if accepts is None else EventFilter(accepts)
    diagnosis, reading = Diagnosis(), Reading()
    found: list[ConnectionProblem] = []
    connections = 0

    def take(event: Event) -> None:
        nonlocal connections
        is_taken = takes is None or takes(event)
        connections += isinstance(event, ConnectionClosed) and is_taken
        keep(diagnosis.add(event, is_taken))

    more = 0

    def keep(problems: list[ConnectionProblem]) -> None:
        nonlocal more
        room = MOST_TOLD - len(found)
        found.extend(problems[:room])
        more += len(problems[room:])

    with reading:
        read_all(dissection, take)
    keep(diagnosis.finish())
    _write(dissection, options, output, sorted(found, key=_when))
    if more:
        say(f"left out: {plural(more, 'more connection')} that came to nothing")
    elif not found:
        say(f"none of {plural(connections, 'connection')} came to nothing")
    reading.over()


def _write(dissection: Dissection, options: Namespace, output: Output, told: list[ConnectionProblem]) -> None:
    packets, files = packets_of(dissection, told), dissection.file_names
    form = _format(options, output)
    output.write(form.head())
    for number, one in enumerate(told, 1):
        output.write(form.line(problem_row(number, one, packets[one.connection.id], files)))
    output.write(form.tail())


def _when(found: ConnectionProblem) -> tuple[int, str]:
    return found.connection.start_ns, found.connection.id


def _format(options: Namespace, output: Output) -> Format:
    name = options.format or ("table" if output.is_terminal else "tsv")
    if name != "table":
        return delimited(name, () if name == "jsonl" else COLUMNS, options.header, output.is_terminal)
    from kdissect.cli.formats.table import table
    from kdissect.report.columns.problems import problem_columns

    return table(problem_columns(), options, output, live=False)
