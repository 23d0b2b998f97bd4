"""What every history is."""

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, runtime_checkable

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact
from kdissect.history.producing.produce_parts import ProduceParts, produce_parts
from kdissect.history.sessions.fetch_parts import FetchParts, fetch_parts
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo


def nothing_lent() -> None:
    """What the compiled part goes on with is handed over: there is nothing (`Producers.have_back`)."""


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
    """A machine that sees by a few values that there is nothing to tell of an exchange."""

    reads_parts: ClassVar[bool]
    """Whether `passes` looks at the values. If not, it is called without any."""

    def passes(self, exchange: Exchange, parts: Any) -> bool:
        """Whether `feed` would tell nothing of an exchange; what it would learn is learned then.

        `parts` are those values, which `PARTS` reads of an exchange whose bodies fit; None for any other one.
        """


class Again(Protocol):
    """A machine that tells by its state whether an answer that was given before is nothing to it now."""

    def stated(self, view: ExchangeView) -> Any:
        """What an exchange whose bodies fit tells: for later ones with the same bodies."""

    def stands(self, info: ConnectionInfo, stated: Any) -> bool:
        """Whether all of that is as it was told last: no fact, and nothing new, comes of being told again."""

    def repeat(self, info: ConnectionInfo, stated: Any, evidence: Evidence) -> None:
        """Take it, if it `stands`."""


Parts = FetchParts | ProduceParts
PARTS: dict[int, Callable[[Exchange], Parts | None]] = {
    apis.PRODUCE: produce_parts,
    apis.FETCH: fetch_parts,
}
"""Readers of the values by which machines skip exchanges, by API; None for one that has to be fed."""
