"""`-Y`, `--filter`: which exchanges a command takes, in the filter language."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.cli.diagnostics import say
from kdissect.cli.options.exchange_selection import add_times, is_selection_by_kind, selection_of
from kdissect.cli.options.input_options import (
    check_inputs,
    is_live,
    open_inputs,
    start_ns,
    wants_live,
)
from kdissect.cli.options.wanted_names import EXCHANGE, watch_for
from kdissect.engine.times import SECOND_NS
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from kdissect.query import Context
    from kdissect.query.predicate import Predicate, RecordTest
    from kdissect.query.values.points_in_time import Moment

Test = Callable[[Exchange], bool]
_TWICE = (
    "a filter with 'has finding' reads its inputs twice: standard input, pipes and live captures cannot be"
)


def add_filter(
    parser: ArgumentParser, what: str = "only exchanges for which EXPR holds", times: bool = True
) -> None:
    """Add the option; `options.filter` is a Predicate, or None. With `times` also `--since` and `--until`,
    which become part of the filter (`open_filtered`): not where `add_selection` adds them.
    """
    _add(parser, what, "store", "filter")
    add_schemas(parser)
    if times:
        add_times(parser.add_argument)
    parser.set_defaults(times_filter=times)


def add_filters(parser: ArgumentParser, what: str) -> None:
    """Add `-Y` for several inputs: `options.filters` has one Predicate for each `-Y`."""
    _add(parser, what, "append", "filters")
    add_times(parser.add_argument)
    parser.set_defaults(times_filter=True, filters=[])


def _add(parser: ArgumentParser, what: str, action: str, dest: str) -> None:
    parser.add_argument(
        "-Y",
        "--filter",
        metavar="EXPR",
        action=action,
        dest=dest,
        type=_predicate,
        help=f"{what}, such as 'api == Produce and latency > 50ms' (docs/filter.md, kdissect fields)",
    )


def add_schemas(parser: ArgumentParser) -> None:
    """Add the option; `schema_option.schemas_of` returns the schemas."""
    parser.add_argument(
        "--schemas",
        metavar="PATH",
        action="append",
        default=[],
        help="decode keys and values with schemas of a file or directory: saved responses of a registry, "
        ".avsc, .proto, JSON Schema, or .toml that maps topics; or of a registry at http(s)://... "
        "(docs/schemas.md)",
    )
    parser.set_defaults(loaded_schemas=None)


def _with_times(options: Namespace) -> None:
    """Make `--since` and `--until` part of the filter."""
    bounds = [
        f"time {operator} {_written(moment)}"
        for operator, moment in ((">=", options.since), ("<=", options.until))
        if moment is not None
    ]
    options.since = options.until = None
    if options.filter is not None:
        bounds.append(f"({options.filter.text})")
    options.filter = _predicate(" and ".join(bounds))


def _written(moment: Moment) -> str:
    """Return a moment as a filter has it."""
    if moment.since == "start":
        return f"+{moment.ns}ns"
    if not moment.since:
        return str(moment.ns)
    seconds, ns = divmod(moment.ns, SECOND_NS)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ns:09}"


def _predicate(text: str) -> Predicate:
    from kdissect.query import FilterError, compile_filter  # only with a filter

    try:
        return compile_filter(text)
    except FilterError as error:
        raise ArgumentTypeError(error.render()) from None


def open_filtered(
    parser: ArgumentParser, options: Namespace, make: Callable[..., Dissection] = Dissection
) -> Dissection:
    """`open_inputs`. Leaves with exit code 2 where the filter needs what the inputs cannot give."""
    check_inputs(parser, options)
    if getattr(options, "schemas", None):
        from kdissect.cli.options.schema_option import check_schemas  # start-up: of --schemas

        check_schemas(parser, options)
    if getattr(options, "times_filter", False) and (options.since or options.until):
        _with_times(options)
    twice = options.filter is not None and options.filter.needs_findings
    if twice and wants_live(options):
        parser.error(_TWICE)  # before the capture begins
    dissection = open_inputs(options, make)
    if twice and is_live(dissection):
        parser.error(_TWICE)
    if hasattr(options, "start_of"):  # of reports with times
        options.start_of = partial(start_ns, dissection)
    return dissection


def filter_of(options: Namespace, dissection: Dissection) -> Test | None:
    """Return the test of the filter, or None without a filter. May read the inputs once, for the findings."""
    predicate: Predicate | None = options.filter
    return None if predicate is None else predicate.bind(_context(options, dissection))


def _context(options: Namespace, dissection: Dissection) -> Context:
    from kdissect.cli.options.schema_option import values_of  # start-up: without a filter
    from kdissect.query import Context  # start-up: the same

    return Context(
        start_ns=lambda: start_ns(dissection),
        topics_of=dissection.topics.topics_of,
        findings_of=findings_of(options) if options.filter.needs_findings else None,
        file_names=dissection.file_names,
        topic_name=dissection.topics.of_records,
        values=values_of(options),
    )


def reporting_filter(options: Namespace, dissection: Dissection) -> Test | None:
    """Return `filter_of` for tables: at its end the command reports a filter that takes no exchange."""
    accepts = filter_of(options, dissection)
    if accepts is None:
        return None
    asked = watch_for(options, "-Y", EXCHANGE, [options.filter.text], exact=True)

    def test(exchange: Exchange) -> bool:
        is_taken = accepts(exchange)
        if is_taken and not asked.is_met:
            asked.see(options.filter.text)
        return is_taken

    return test


def takes(accepts: Test | None, event: Event) -> bool:
    """Return whether an event is an exchange that the filter takes. Without a filter all are."""
    return isinstance(event, Exchange) and (accepts is None or accepts(event))


def selected(options: Namespace, dissection: Dissection) -> Test | None:
    """Return the filter and the other options that select exchanges, as one test; None if there are none."""
    accepts = filter_of(options, dissection)
    chosen = selection_of(options, lambda: start_ns(dissection), dissection.topics.topics_of)
    if accepts is None or chosen is None:
        return accepts or chosen
    if options.filter.needs_all:  # and so do the other options, which look out for names
        return lambda exchange: bool(accepts(exchange)) & bool(chosen(exchange))
    return lambda exchange: chosen(exchange) and accepts(exchange)


def selected_records(options: Namespace, dissection: Dissection) -> tuple[Test | None, RecordTest | None]:
    """Return `selected`, and a test of each exchange's records if the filter is about records."""
    predicate: Predicate | None = options.filter
    if predicate is None or not predicate.needs_records:
        return selected(options, dissection), None
    see, accepts = predicate.bind_records(_context(options, dissection))
    chosen = selection_of(options, lambda: start_ns(dissection), dissection.topics.topics_of)
    return (see if chosen is None else lambda exchange: see(exchange) & bool(chosen(exchange))), accepts


def is_by_kind(options: Namespace) -> bool:
    """Return whether `selected` answers the same for exchanges of one connection, API, version and
    client id.
    """
    return (options.filter is None or options.filter.is_by_kind) and is_selection_by_kind(options)


def findings_of(options: Namespace) -> Callable[[Exchange], Collection[str]]:
    """Return codes of the findings about an exchange. Reads the inputs once, and judges them."""
    from kdissect.stages.codes_by_exchange import MAX_EXCHANGES, codes_by_exchange  # start-up: the rules

    found = codes_by_exchange(open_inputs(options))
    if found.is_full:
        say(f"warning: more than {MAX_EXCHANGES} exchanges have findings: the filter knows the first of them")
    return found.of


class EventFilter:
    """Lets through exchanges that a test takes, and the connections that had one of them."""

    def __init__(self, test: Test) -> None:
        self._test = test
        self._connections: set[str] = set()

    def __call__(self, event: Event) -> bool:
        """Return whether an event is let through."""
        if isinstance(event, Exchange):
            taken = self._test(event)
            if taken:
                self._connections.add(event.connection.id)
            return taken
        if not isinstance(event, ConnectionClosed):
            return True
        taken = event.connection.id in self._connections
        self._connections.discard(event.connection.id)
        return taken
