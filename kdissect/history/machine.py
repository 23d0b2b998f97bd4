"""Interfaces of every history."""

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
    """Do nothing: the native engine owns no state (`Producers.have_back`)."""


class Machine(Protocol):
    """A state machine over exchanges. Between calls its state is plain and picklable."""

    api_keys: ClassVar[frozenset[int] | None]
    """The APIs it watches; None: every exchange, orphans and SASL tokens too."""

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next exchange in canonical order and return its facts. Raises nothing."""


@runtime_checkable
class Choosy(Protocol):
    """A machine that learns from some versions of its APIs only."""

    def concerns(self, api_key: int, api_version: int) -> bool:
        """Return whether the machine can learn from exchanges of this version."""


@runtime_checkable
class Passing(Protocol):
    """A machine that sees by a few values that an exchange has no fact to report."""

    reads_parts: ClassVar[bool]
    """Whether `passes` looks at the values. If not, it is called without any."""

    def passes(self, exchange: Exchange, parts: Any) -> bool:
        """Return True and update the state if `feed` would report no fact about an exchange.

        `parts` are those values, which `PARTS` reads of an exchange whose bodies fit; None for any other one.
        """


class Again(Protocol):
    """A machine that sees by its state whether a repeated response adds anything now."""

    def stated(self, view: ExchangeView) -> Any:
        """Return the statements of an exchange whose bodies fit, for later exchanges with the same bodies."""

    def stands(self, info: ConnectionInfo, stated: Any) -> bool:
        """Return whether all of that is as it was reported last, so that repeating it causes no fact and no
        change.
        """

    def repeat(self, info: ConnectionInfo, stated: Any, evidence: Evidence) -> None:
        """Take it, if it `stands`."""


Parts = FetchParts | ProduceParts
PARTS: dict[int, Callable[[Exchange], Parts | None]] = {
    apis.PRODUCE: produce_parts,
    apis.FETCH: fetch_parts,
}
"""Readers of the values by which machines skip exchanges, by API; None for one that has to be fed."""
