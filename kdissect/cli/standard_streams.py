"""The standard streams of the process: closed streams, full disks, and closed readers."""

import os
import sys

from kdissect.cli.output import OutputError

_WRITTEN = "standard output"


def hold_places() -> None:
    """Have something stand where the caller closed a standard stream.

    Else the next file that is opened, a report or a capture, would be what everything is printed to. Its
    replacement fails as a closed stream does: it cannot be read, or written.
    """
    for number, how in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            if os.open(os.devnull, how) != number:
                return  # one before it could not be filled
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  as Python opens it


def print_text(text: str) -> None:
    """Write to standard output. Raises OutputError, or BrokenPipeError."""
    try:
        sys.stdout.write(text)
    except OSError as error:
        raise _as_output_error(error) from error
    flush()


def flush() -> None:
    """Write what was printed. Raises OutputError, or BrokenPipeError."""
    try:
        sys.stdout.flush()
    except OSError as error:
        raise _as_output_error(error) from error


def forget_output() -> None:
    """Drop the output: it has no reader any more.

    Python flushes stdout once more at exit, which must go to the null device, silently.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _as_output_error(error: OSError) -> Exception:
    return error if isinstance(error, BrokenPipeError) else OutputError(f"{_WRITTEN}: {error.strerror}")
