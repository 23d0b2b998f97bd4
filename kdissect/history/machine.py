"""What every history is."""

from typing import Any, ClassVar, Protocol, runtime_checkable

from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Fact
from kdissect.session.exchange import Exchange


class Machine(Protocol):
    """A state machine over exchanges. Between calls its state is plain and picklable."""

    api_keys: ClassVar[frozenset[int] | None]
    """The APIs it watches; None: every exchange, orphans and SASL tokens too."""

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next exchange in canonical order; gives what it shows. Raises nothing."""


@runtime_checkable
class Choosy(Protocol):
    """A machine that learns from some versions of its APIs only."""

    def concerns(self, api_key: int, api_version: int) -> bool:
        """Whether exchanges of this version can tell it anything."""


@runtime_checkable
class Passing(Protocol):
    """A machine that sees at a glance that there is nothing to tell of an exchange."""

    def passes(self, exchange: Exchange, request: Any, response: Any) -> bool:
        """Whether `feed` would tell nothing of an exchange; what it would learn is learned then.

        `request` and `response` are values of bodies that fit, `response` None where there is no answer.
        """
