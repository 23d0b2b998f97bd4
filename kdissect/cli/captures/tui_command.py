"""`kdissect tui`: exchanges on a screen, while they are read."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from kdissect.capture.files import refusal
from kdissect.capture.input_paths import find_inputs
from kdissect.cli.diagnostics import OK, UNREADABLE, USAGE, say
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import add_filter
from kdissect.cli.options.input_options import add_inputs, add_topic_ids, check_inputs, port, wants_live
from kdissect.cli.options.live.live_options import settings_of
from kdissect.cli.options.schema_option import check_schemas
from kdissect.model.endpoint import Ports
from kdissect.model.extras import how_to_install
from kdissect.model.http_access import LOOPBACK, authority
from kdissect.report.printable import printable
from kdissect.tui.processes.worker_messages import Order

# Set by the server of a browser's pages.
_DRIVER = "TEXTUAL_DRIVER"
# Each page reads the captures in processes of its own.
_MAX_SESSIONS = 64


def run(arguments: Sequence[str]) -> int:
    """Open the screen and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    check_inputs(parser, options)
    troubles = _nothing_opens(options.paths)
    if troubles:
        for trouble in troubles:
            say(printable(trouble))
        return UNREADABLE
    if options.web:
        return _web(parser, options, arguments)
    if not sys.stdout.isatty() and _DRIVER not in os.environ:
        parser.error("it needs a terminal: kdissect inspect prints")
    from kdissect.tui.session import Session, terminal_for_keys  # for the start-up of --help and --web

    order = _order(parser, options)
    if "-" in options.paths:
        try:
            order = order._replace(stdin=terminal_for_keys())
        except OSError as error:
            say(f"the standard input is the capture, and there is no terminal for keys: {error.strerror}")
            return USAGE
    session = Session(order)
    session.log.schemas = options.loaded_schemas
    session.coloring = getattr(options, "coloring", ())
    session.start()
    # at first use: the worker reads while the screen's modules load
    from kdissect.tui.app import KdissectApp
    from kdissect.tui.user_state import KeptState

    # A process of a browser's page has a driver of its own. Its user is not always who started the server.
    may_use_files = options.web_files or _DRIVER not in os.environ
    app = KdissectApp(session, KeptState(is_saved=may_use_files), may_use_files)
    if options.filter is not None:
        session.set_filter(options.filter.text)
    app.run()
    for trouble in session.troubles:
        say(printable(trouble))
    for line in session.unread:
        say(f"warning: {printable(line)}")
    return app.return_code or (UNREADABLE if session.troubles else OK)


def _nothing_opens(paths: Sequence[str]) -> list[str]:
    """Return why no input can be shown, a line for each input, or no lines if one can be opened."""
    troubles = []
    for file in find_inputs(paths):
        error = refusal(file)
        if error is None:
            return []
        troubles.append(str(error))
    return troubles


def _web(parser: ArgumentParser, options: Namespace, arguments: Sequence[str]) -> int:
    """Serve it to a browser until Ctrl-C."""
    if "-" in options.paths:
        parser.error("--web cannot read the standard input: each page reads the captures for itself")
    try:
        from kdissect.cli.captures.browser_page import serve  # an optional package

        shown = [argument for argument in arguments if argument != "--web"]
        serve(shown, options.web_host, options.web_port, options.web_sessions)
    except ModuleNotFoundError:
        say(f"--web needs textual-serve, which is not installed: {how_to_install('web')}")
        return USAGE
    except OSError as error:
        say(f"{authority(options.web_host, options.web_port)}: {error.strerror or error}")
        return UNREADABLE
    return OK


def _order(parser: ArgumentParser, options: Namespace) -> Order:
    check_schemas(parser, options)
    return Order(
        tuple(options.paths),
        Ports(options.port, options.only_port),
        tuple(options.keylog),
        options.topic_ids,
        None if options.numeric else options.hosts,
        live=settings_of(parser, options) if wants_live(options) else None,
        limits=options.limits,
        schemas=tuple(options.schemas),
    )


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) <= _MAX_SESSIONS:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to {_MAX_SESSIONS}")
    return int(text)


def _parser() -> ArgumentParser:
    parser = command_parser("tui", "Browse the exchanges of captures in a terminal, while they are read.")
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "begin with only exchanges for which EXPR holds", times=False)
    add = parser.add_argument_group("in a browser").add_argument
    add(
        "--web",
        action="store_true",
        help="serve it to a browser, at a URL with a token (needs the extra web)",
    )
    add("--web-host", metavar="HOST", default=LOOPBACK, help="listen on HOST (default: 127.0.0.1)")
    add("--web-port", metavar="N", type=port, default=8018, help="listen on port N (default: 8018)")
    add("--web-sessions", metavar="N", type=_count, default=1, help="allow N open pages (default: 1)")
    add("--web-files", action="store_true", help="let the browser save files on this machine")
    return parser
