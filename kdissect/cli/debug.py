"""Faults of kdissect's own, in the command line: `--debug` shows where they are."""

import sys
from collections.abc import Sequence

from kdissect.cli.diagnostics import write_error
from kdissect.model.faults import Listener, use

DEBUG = "--debug"


def bound_faults(arguments: Sequence[str]) -> None:
    """From now on a fault ends what it is met in, and not everything."""
    use(listener_of(arguments))


def listener_of(arguments: Sequence[str]) -> Listener:
    """What gets each fault; whoever catches it says the line."""
    return _show if DEBUG in arguments else _pass


def _pass(_error: Exception) -> None:
    return None


def _show(error: Exception) -> None:
    # start-up: seldom anything fails
    from traceback import format_exception

    from kdissect.report.printable import printable

    text = "".join(format_exception(error))
    if sys.stderr is not None:
        write_error("".join(f"{printable(line)}\n" for line in text.splitlines()))
