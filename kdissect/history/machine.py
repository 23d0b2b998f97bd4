"""What every history is."""

from typing import ClassVar, Protocol

from kdissect.history.fact import Fact
from kdissect.history.turn import Turn


class Machine(Protocol):
    """A state machine over exchanges. Between calls its state is plain and picklable."""

    api_keys: ClassVar[frozenset[int] | None]
    """The APIs it watches; None: every exchange, orphans and SASL tokens too."""

    def feed(self, turn: Turn) -> list[Fact]:
        """Take the next exchange in canonical order; gives what it shows. Raises nothing."""
