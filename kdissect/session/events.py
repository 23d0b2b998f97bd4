"""What an analyzer reports: exchanges, and connections that begin and end."""

from typing import NamedTuple

from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo


class ConnectionOpened(NamedTuple):
    """A connection was recognised (its kind is known now)."""

    connection: ConnectionInfo


class ConnectionClosed(NamedTuple):
    """A connection ended, was evicted, or the capture ended; its info does not change any more."""

    connection: ConnectionInfo


Event = Exchange | ConnectionOpened | ConnectionClosed
