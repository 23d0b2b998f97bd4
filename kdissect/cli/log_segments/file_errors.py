"""Faults of the files for a command that reads files one after the other."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from kdissect.cli.diagnostics import OK, UNREADABLE, say
from kdissect.model.faults import fault_text

_Read = TypeVar("_Read")
# An index of 10 MiB has 1.3 million entries, and people look at the first few.
MAX_LINES = 20


class FileErrors:
    """Reports them on stderr; `code` is the exit code that follows. `opened`: a file could be read."""

    def __init__(self) -> None:
        self.code = OK
        self.opened = False

    def report(self, text: str) -> None:
        """One line."""
        say(text)
        self.code = UNREADABLE

    def report_error(self, error: OSError) -> None:
        """Report an error of the system about a file."""
        self.report(f"{error.filename}: {error.strerror}")

    def bounded(self, path: str, rows: Iterable[_Read]) -> Iterator[_Read]:
        """Yield rows or batches of a file, up to where it cannot be read, or where kdissect itself fails."""
        try:
            yield from rows
        except OSError as error:
            self.report(f"{path}: {error.strerror}")
        except Exception as error:
            self.report(f"{path}: {fault_text(error)}")

    def report_some(self, path: str, faults: Iterable[str]) -> None:
        """Report a line for each of a file's first faults."""
        for fault in islice(faults, MAX_LINES):
            self.report(f"{path}: {fault}")
