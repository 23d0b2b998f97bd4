"""What goes to stderr: inputs that cannot be read, captures that end early."""

import sys


def say(text: str) -> None:
    """One line on stderr, behind the program's name."""
    if sys.stderr is not None:
        from kdissect.cli.printable import printable  # mostly there is nothing to say

        sys.stderr.write(f"kdissect: {printable(text)}\n")
        sys.stderr.flush()
