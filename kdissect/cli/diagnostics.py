"""What goes to stderr: inputs that cannot be read, captures that end early."""

import sys

from kdissect.report.printable import printable


def say(text: str) -> None:
    """One line on stderr, behind the program's name."""
    if sys.stderr is not None:
        write_error(f"kdissect: {printable(text)}\n")


def write_error(text: str) -> None:
    """Write to stderr; where that takes nothing, nobody can be told."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        sys.stderr = None  # as Python has it where it is closed
