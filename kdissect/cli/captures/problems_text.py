"""`kdissect connections --problems`: why connections failed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter

from kdissect.api import Dissection
from kdissect.capture.files import open_captures
from kdissect.cli.diagnostics import say
from kdissect.cli.event_loop import Reading, read_all
from kdissect.cli.formats import format_of
from kdissect.cli.formats.clock import Clock, clocked
from kdissect.cli.options.filter_option import EventFilter, filter_of
from kdissect.cli.options.input_options import start_ns
from kdissect.cli.output import Output
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.model.packets.packet import packet_ref, ref_file, ref_number
from kdissect.model.packets.segment import flow_endpoints
from kdissect.model.wording import plural
from kdissect.net.parser import SegmentParser
from kdissect.report.columns.connections import problem_columns
from kdissect.session.events import ConnectionClosed, Event
from kdissect.stats.failed_connections import PROBLEM_FIELDS, Diagnosis, problem_row

MAX_PROBLEMS = 10_000  # of 3 KB each until the end of the input
_COLUMNS = tuple(field.name for field in PROBLEM_FIELDS if field.name not in ("start_ns", "capture_set"))


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
        room = MAX_PROBLEMS - len(found)
        found.extend(problems[:room])
        more += len(problems[room:])

    with reading:
        read_all(dissection, take)
    keep(diagnosis.finish())
    _write(dissection, options, output, sorted(found, key=_when))
    if more:
        say(f"left out: {plural(more, 'more connection')} that failed")
    elif not found:
        say(f"{plural(connections, 'connection')}, and no failed one")
    reading.over()


def _write(
    dissection: Dissection, options: Namespace, output: Output, problems: list[ConnectionProblem]
) -> None:
    packets, files = packets_of(dissection, problems), dissection.file_names
    clock = Clock(options.time, lambda: start_ns(dissection))
    columns = partial(clocked, problem_columns(), "start", itemgetter("start_ns"), clock)
    types = {field.name: field.type for field in PROBLEM_FIELDS}
    form = format_of(options, output, _COLUMNS, columns, types=types)
    output.write(form.head())
    for number, one in enumerate(problems[: options.limit], 1):
        output.write(form.line(problem_row(number, one, packets[one.connection.id], files)))
    output.write(form.tail())


def _when(found: ConnectionProblem) -> tuple[int, str]:
    return found.connection.start_ns, found.connection.id


MAX_PROBLEM_PACKETS = 100  # of one connection: a failed one has a dozen
# flows whose relevance is cached, 200 bytes each. Past this number it is determined again
FLOWS_KEPT = 100_000

Found = Mapping[str, Sequence[int]]
_Wanted = list[tuple[ConnectionProblem, list[int]]]


def packets_of(dissection: Dissection, problems: Iterable[ConnectionProblem]) -> Found:
    """Return references of packets by connection, without inputs that cannot be read again."""
    by_ends: dict[tuple[str, frozenset[str]], _Wanted] = {}
    found: dict[str, list[int]] = {}
    for problem in problems:
        info = problem.connection
        refs = found[info.id] = []
        ends = info.capture_set, frozenset((str(info.client), str(info.broker)))
        by_ends.setdefault(ends, []).append((problem, refs))
    if by_ends:
        _read(dissection, by_ends)
    return found


def _read(dissection: Dissection, by_ends: Mapping[tuple[str, frozenset[str]], _Wanted]) -> None:
    files = dissection.captures.files
    numbers = {
        file.path: number for number, file in enumerate(files) if not file.is_stream and not file.error
    }
    if not numbers:
        return
    again, parser = open_captures(list(numbers)), SegmentParser()
    known: dict[tuple[str, bytes], _Wanted | None] = {}
    for packets in again.batches():
        for packet, segment in zip(packets, parser.parse_batch(packets), strict=True):
            if segment is None:
                continue
            ref, time_ns = packet[0], packet[1]
            number = numbers[again.files[ref_file(ref)].path]
            flow = files[number].capture_set, segment[0]
            if flow not in known:
                if len(known) >= FLOWS_KEPT:
                    known.clear()
                ends = flow[0], frozenset(map(str, flow_endpoints(flow[1])))
                known[flow] = by_ends.get(ends)
            for problem, refs in known[flow] or ():
                info = problem.connection
                if info.start_ns <= time_ns <= info.end_ns and len(refs) < MAX_PROBLEM_PACKETS:
                    refs.append(packet_ref(number, ref_number(ref)))
