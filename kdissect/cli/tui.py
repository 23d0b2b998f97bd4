"""`kdissect tui`: exchanges on a screen, while they are read."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kdissect.cli.diagnostics import say
from kdissect.cli.exits import OK, UNREADABLE, USAGE
from kdissect.cli.filters import add_filter
from kdissect.cli.inputs import add_inputs, add_topic_ids, check_inputs, wants_live
from kdissect.cli.live_options import settings_of
from kdissect.cli.parser import command_parser
from kdissect.cli.printable import printable

if TYPE_CHECKING:
    from kdissect.tui.orders import Order


def run(arguments: Sequence[str]) -> int:
    """Open the screen; gives the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    check_inputs(parser, options)
    if not sys.stdout.isatty():
        parser.error("it needs a terminal; kdissect inspect prints")
    from kdissect.tui.session import Session, terminal_for_keys

    order = _order(parser, options)
    if "-" in options.paths:
        try:
            order = order._replace(stdin=terminal_for_keys())
        except OSError as error:
            say(f"the standard input is the capture, and there is no terminal for keys: {error.strerror}")
            return USAGE
    session = Session(order)
    session.start()  # the worker reads while the screen's modules load
    from kdissect.tui.app import KdissectApp

    app = KdissectApp(session)
    if options.filter is not None:
        session.set_filter(options.filter.text)
    app.run()
    for trouble in session.troubles:
        say(printable(trouble))
    return app.return_code or (UNREADABLE if session.troubles else OK)


def _order(parser: ArgumentParser, options: Namespace) -> Order:
    from kdissect.tui.orders import Order

    return Order(
        tuple(options.paths),
        tuple(options.port),
        tuple(options.keylog),
        options.topic_ids,
        None if options.numeric else options.hosts,
        live=settings_of(parser, options) if wants_live(options) else None,
    )


def _parser() -> ArgumentParser:
    parser = command_parser("tui", "Look at the exchanges of captures on the screen, while they are read.")
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "begin with only exchanges for which EXPR holds")
    return parser
