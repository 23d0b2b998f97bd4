"""What is wrong with the files of a command that reads files one after the other."""

from collections.abc import Iterable, Iterator
from itertools import islice

from kdissect.cli.diagnostics import say
from kdissect.cli.exits import OK, UNREADABLE
from kdissect.engine.exchange_rows import Row
from kdissect.model.faults import told

# An index of 10 MiB has 1.3 million entries, and people look at the first few.
MAX_LINES = 20


class Troubles:
    """Tells them on stderr; `code` is the exit code that follows. `opened`: any file could be read at all."""

    def __init__(self) -> None:
        self.code = OK
        self.opened = False

    def tell(self, text: str) -> None:
        """One line."""
        say(text)
        self.code = UNREADABLE

    def tell_error(self, error: OSError) -> None:
        """What the system says of a file."""
        self.tell(f"{error.filename}: {error.strerror}")

    def bounded(self, path: str, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows of a file, up to where it cannot be read, or where kdissect itself fails."""
        try:
            yield from rows
        except OSError as error:
            self.tell(f"{path}: {error.strerror}")
        except Exception as error:
            self.tell(f"{path}: {told(error)}")

    def tell_some(self, path: str, faults: Iterable[str]) -> None:
        """A line for each of the first faults of a file."""
        for fault in islice(faults, MAX_LINES):
            self.tell(f"{path}: {fault}")
