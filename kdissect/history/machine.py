"""What every history is."""

from typing import ClassVar, Protocol, runtime_checkable

from kdissect.history.fact import Fact
from kdissect.history.turn import Turn


class Machine(Protocol):
    """A state machine over exchanges. Between calls its state is plain and picklable."""

    api_keys: ClassVar[frozenset[int] | None]
    """The APIs it watches; None: every exchange, orphans and SASL tokens too."""

    def feed(self, turn: Turn) -> list[Fact]:
        """Take the next exchange in canonical order; gives what it shows. Raises nothing."""


@runtime_checkable
class Choosy(Protocol):
    """A machine that learns from some versions of its APIs only."""

    def concerns(self, api_key: int, api_version: int) -> bool:
        """Whether exchanges of this version can tell it anything."""
