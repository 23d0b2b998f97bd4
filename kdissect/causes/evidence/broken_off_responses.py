"""Responses that end because the client ends its connection, with what was captured of them."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.causes.evidence.seen import Seen, packets_of
from kdissect.history.fact import evidence_of
from kdissect.history.state_table import Table
from kdissect.model.cause import Packets
from kdissect.model.finding import Who
from kdissect.model.frame import is_cut_by_end
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import Client, client_named

KEYS_KEPT = 2_000
_OPEN_KEPT = 10_000  # connections with such a response that are not over


class BrokenOffKey(NamedTuple):
    """Responses of one API, to one client, from one broker."""

    client: Client
    broker: str
    api: str


class BrokenOff:
    """How often; the size of the smallest of these responses in bytes, what was sent of it, and all sizes."""

    __slots__ = ("seen", "sent", "size", "sum")

    def __init__(self) -> None:
        self.seen = Seen()
        self.size = self.sent = self.sum = 0


class _Cut(NamedTuple):
    api_key: int
    size: int
    sent: int
    packets: Packets


class BrokenOffResponses:
    """Takes exchanges as they end, and connections as they are over."""

    def __init__(self) -> None:
        self._open: Table[str, _Cut] = Table(_OPEN_KEPT)
        self.found: Table[BrokenOffKey, BrokenOff] = Table(KEYS_KEPT)

    def add(self, exchange: Exchange) -> None:
        """Take an exchange."""
        response = exchange.response
        if response is None or not response.is_cut or exchange.api_key is None or not is_cut_by_end(response):
            return
        packets = packets_of(evidence_of(exchange))
        cut = _Cut(exchange.api_key, response.size, len(response.data), packets)
        self._open.put(exchange.connection.id, cut)

    def close(self, info: ConnectionInfo) -> None:
        """A connection is over."""
        cut, close = self._open.pop(info.id), info.close
        if cut is None or close is None or close.by != Who.CLIENT:
            return
        api = api_name(cut.api_key) or f"API key {cut.api_key}"
        key = BrokenOffKey(client_named(info, info.client_id), info.broker_text, api)
        found = self.found.get_or(key, BrokenOff)
        found.seen.add(cut.packets)
        found.sum += cut.size
        if not found.size or cut.size < found.size:
            found.size, found.sent = cut.size, cut.sent
