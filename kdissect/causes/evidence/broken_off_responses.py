"""Responses that the client ends its connection at, and what was captured of them."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.causes.evidence.seen import Seen, packets_of
from kdissect.history.fact import evidence_of
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.cause import Packets
from kdissect.model.finding import Who
from kdissect.model.frame import is_cut_by_end
from kdissect.model.packets.stream import CloseKind
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange
from kdissect.session.identities import plain_name
from kdissect.session.info import Close, ConnectionInfo
from kdissect.stats.by_group.refetches import LastFetch
from kdissect.stats.client import Client, client_named
from kdissect.stats.transfers import topic_key

KEYS_KEPT = 2_000
_OPEN_KEPT = 10_000  # connections with such a response that are not over
_AT_ONCE_NS = 1_000_000_000  # from a whole response to the end of its connection


class BrokenOffKey(NamedTuple):
    """Responses of one API, to one client, from one broker."""

    client: Client
    broker: str
    api: str


class BrokenOff:
    """The number of such responses, the size of the smallest one in bytes, its sent part, and the sum of all
    sizes.
    """

    __slots__ = ("seen", "sent", "size", "sum")

    def __init__(self) -> None:
        self.seen = Seen()
        self.size = self.sent = self.sum = 0


class SameRecords(NamedTuple):
    """Records that a client fetched from a broker as the last thing on several connections."""

    client: Client
    broker: str
    topic: str
    partition: int
    offset: int


class Refused:
    """The number of such responses, how often the client reset the connection, and the bytes of the fewest
    records in a response.
    """

    __slots__ = ("resets", "seen", "size")

    def __init__(self) -> None:
        self.seen = Seen()
        self.resets = self.size = 0


class _Cut(NamedTuple):
    api_key: int
    size: int
    sent: int
    packets: Packets


class BrokenOffResponses:
    """Takes exchanges as they end, and connections as they are over."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._open: Table[str, _Cut] = Table(_OPEN_KEPT)
        self.found: Table[BrokenOffKey, BrokenOff] = Table(KEYS_KEPT)
        """Responses without their end."""
        self.refused: Table[SameRecords, Refused] = Table(KEYS_KEPT)
        """Whole responses with records after which the client ended the connection at once."""
        self.accepted: Table[tuple[Client, str], int] = Table(KEYS_KEPT)
        """Bytes of the largest response's records after which a client fetched again on that connection."""

    def add(self, exchange: Exchange) -> None:
        """Take an exchange."""
        response = exchange.response
        if response is None or not response.is_cut or exchange.api_key is None or not is_cut_by_end(response):
            return
        packets = packets_of(evidence_of(exchange))
        cut = _Cut(exchange.api_key, response.size, len(response.data), packets)
        self._open.put(exchange.connection.id, cut)

    def close(self, info: ConnectionInfo, last: LastFetch | None) -> None:
        """Count a connection that is over; `last` is its last Fetch."""
        cut, close = self._open.pop(info.id), info.close
        client = client_named(info, info.client_id)
        if last is not None and last.accepted:
            place = client, info.broker_text
            self.accepted.put(place, max(last.accepted, self.accepted.peek(place) or 0))
        if close is None or close.by != Who.CLIENT:
            return
        if cut is None:
            self._refuse(info, client, close, last)
            return
        api = api_name(cut.api_key) or f"API key {cut.api_key}"
        found = self.found.get_or(BrokenOffKey(client, info.broker_text, api), BrokenOff)
        found.seen.add(cut.packets)
        found.sum += cut.size
        if not found.size or cut.size < found.size:
            found.size, found.sent = cut.size, cut.sent

    def _refuse(self, info: ConnectionInfo, client: Client, close: Close, last: LastFetch | None) -> None:
        """Count a connection that a client ended although all responses on it are whole."""
        if last is None or not last.size or last.offset is None:
            return
        if not 0 <= close.time_ns - last.answered_ns < _AT_ONCE_NS:
            return
        topic = plain_name(topic_key(self._names, info, last.topic))
        key = SameRecords(client, info.broker_text, topic, last.partition, last.offset)
        found = self.refused.get_or(key, Refused)
        found.seen.add(Packets(info.id, -1, f"closed ({close.how}) after a Fetch", close.time_ns))
        found.resets += close.how is CloseKind.RST
        found.size = min(found.size, last.size) if found.size else last.size
