"""Events of an analyzer: exchanges, and connections that begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

if TYPE_CHECKING:
    from kdissect.model.native import native
    from kdissect.session.problem import Problem


class ConnectionOpened(NamedTuple):
    """A connection was recognised (its kind is known now)."""

    connection: ConnectionInfo


class ConnectionClosed(NamedTuple):
    """A connection ended, was evicted, or the capture ended. Its info does not change any more.

    `problem`: the reason why it failed, if it did.
    """

    connection: ConnectionInfo
    problem: Problem | None = None


Event = Exchange | ConnectionOpened | ConnectionClosed
Events: TypeAlias = "list[Event] | native.ExchangeBlock"
"""Events in their order. A block makes an exchange on demand."""
