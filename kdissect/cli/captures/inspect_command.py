"""`kdissect inspect`: the exchanges of captures, one line each."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from kdissect.api import Dissection
from kdissect.cli.captures.exchange_writers import Writer, writer_of
from kdissect.cli.options.exchange_options import inspect_options
from kdissect.cli.options.filter_option import open_filtered, selected
from kdissect.cli.options.output_options import printing
from kdissect.cli.output import Output
from kdissect.cli.progress_line import progress_of
from kdissect.model.native import is_compiled, native
from kdissect.session.events import Events
from kdissect.session.exchange import Exchange


def run(arguments: Sequence[str]) -> int:
    """Print the exchanges of the captures and return the exit code."""
    parser, options = inspect_options(arguments)
    if options.jobs > 1 and (options.output or not os.isatty(1)):  # a terminal is not what is waited for
        from kdissect.cli.jobs.parallel_listing import list_in_jobs  # start-up: processes

        return list_in_jobs(parser, options, arguments)
    return list_exchanges(parser, options)


def list_exchanges(
    parser: ArgumentParser,
    options: Namespace,
    counting: Callable[[Namespace, Dissection], AbstractContextManager[None]] | None = None,
) -> int:
    """Print the exchanges of the inputs, within `counting`, and return the exit code. Also for `live`."""
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        with nullcontext() if counting is None else counting(options, dissection):
            _print(dissection, options, output)

    return printing(parser, options, dissection, body)


def _print(dissection: Dissection, options: Namespace, output: Output) -> None:
    progress = progress_of(dissection)
    if progress is not None and output.is_terminal:
        output.before_write = progress.clear
    writer = writer_of(dissection, options, output)
    output.write(writer.head())
    try:
        _copy(dissection, options, output, writer, progress.tick if progress else None)
    except KeyboardInterrupt:
        output.write(writer.tail())
        raise
    finally:
        if progress is not None:
            progress.clear()
    output.write(writer.tail())


def _copy(
    dissection: Dissection,
    options: Namespace,
    output: Output,
    writer: Writer,
    tick: Callable[[], None] | None,
) -> None:
    accepts = selected(options, dissection)
    left = options.limit or -1
    write, line, pass_by = output.write, writer.line, dissection.topics.pass_by
    each = dissection.guard.each
    filler = getattr(writer, "filler", None)
    if accepts is None and not options.limit and is_compiled and isinstance(filler, native.LineFiller):
        _copy_held(dissection, output, filler, tick)
        return

    def take(exchange: Exchange) -> bool:
        nonlocal left
        if tick is not None:
            tick()
        if accepts is not None and not accepts(exchange):
            writer.skip()
            pass_by(exchange)
            return False
        write(line(exchange))
        left -= 1
        return not left

    each(dissection, take)


def _copy_held(
    dissection: Dissection, output: Output, filler: native.LineFiller, tick: Callable[[], None] | None
) -> None:
    """Copy all exchanges with a filler that buffers lines, up to the output's own limit."""
    hold, take, most = filler.hold, filler.take, output.most_held

    def fill(events: Events) -> None:
        if tick is not None:
            tick()
        if hold(events) > most:
            output.write(take())

    try:
        dissection.guard.each(dissection.batches(), fill)
    finally:  # also what came before an interrupt
        output.write(take())
