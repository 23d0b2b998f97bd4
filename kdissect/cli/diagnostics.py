"""Reports of the process besides its data: lines on stderr, and exit codes."""

import sys
from collections.abc import Sequence

from kdissect.model.faults import Listener, use

# Exit codes.
OK = 0
FINDINGS = 1  # `check` found something at or above the threshold
USAGE = 2
# An input could not be read, or the output not be written. Everything else was printed first.
UNREADABLE = 3
# `check` and `upgrade`: no traffic to judge, or clients unread. Such a capture must not be green for ever.
NOTHING = 4
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
# Signals that end a command that goes on until it is stopped; Windows has the first two.
ENDING_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
DEBUG = "--debug"


def say(text: str) -> None:
    """One line on stderr, behind the program's name."""
    if sys.stderr is not None:
        from kdissect.report.printable import printable  # start-up: mostly there is no error

        write_error(f"kdissect: {printable(text)}\n")


def write_error(text: str) -> None:
    """Write to stderr. If that fails, close it."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        sys.stderr = None  # as Python has it if it is closed


# Faults of kdissect's own, in the command line: `--debug` shows where they occur.
def bound_faults(arguments: Sequence[str]) -> None:
    """From now on a fault ends what it is met in, and not everything."""
    use(listener_of(arguments))


def listener_of(arguments: Sequence[str]) -> Listener:
    """Return the listener for faults. The code that catches a fault prints the line."""
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
