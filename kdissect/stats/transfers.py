"""Produces and Fetches as the compiled part counts them (native/src/transfers), and what it counts them by.

It takes an exchange as far as it can, and leaves the others to Python before anything is counted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.listed_partitions import partition_lists
from kdissect.history.topic_names import TopicNames
from kdissect.model.native import native
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.group_links import ClientKey, client_key
from kdissect.stats.client import Client, client_of

LEFT, COUNTED, ENOUGH, NEW_TOPICS = 0, 1, 2, 4  # of native/src/transfers/mod.rs
SENDERS_KEPT = 10_000
_VERSIONS = 64  # of both APIs

# What is wanted of bodies beside topics, partitions and records: numbers of a partition, and of the body, of
# which each version has one of those that stand together.
_VALUES: dict[tuple[int, bool], tuple[str, ...]] = {
    (apis.PRODUCE, False): (),
    (apis.PRODUCE, True): ("error_code",),
    (apis.FETCH, False): ("fetch_offset",),
    (apis.FETCH, True): ("error_code", "high_watermark"),
}
_REPLICA_ID, _REPLICA_STATE = "replica_id", "replica_state"  # in a tag since version 15 (KIP-903)

Place = tuple["native.PartitionRows", bytes, int]
"""How a body is read, the frame, and where in it the body begins."""
Sender = tuple[ConnectionInfo, str | None, str | None, str | None, str | None]


class Rows(NamedTuple):
    """How the bodies of an API in one version are read."""

    request: native.PartitionRows
    response: native.PartitionRows


@lru_cache(maxsize=_VERSIONS)
def _rows(api_key: int, version: int) -> Rows | None:
    sides = [_rows_of(api_key, version, is_response) for is_response in (False, True)]
    request, response = sides
    return None if request is None or response is None else Rows(request, response)


def _rows_of(api_key: int, version: int, is_response: bool) -> native.PartitionRows | None:
    message = known_body(api_key, version, is_response)
    lists = None if message is None else partition_lists(message, version)
    if message is None or lists is None:
        return None
    fields = [field.name for field in message.root.fields if version in field.versions]
    facts = [_REPLICA_ID] if _REPLICA_ID in fields else []
    if _REPLICA_STATE in fields:
        facts = [f"{_REPLICA_STATE}.{_REPLICA_ID}"]
    layout = native_layout(message, version)[0]
    return native.PartitionRows(layout, lists, list(_VALUES[api_key, is_response]), facts)


def places(exchange: Exchange) -> tuple[Place, Place | None] | None:
    """Where both bodies of a Produce or Fetch stand; None for an exchange that is Python's: not whole."""
    # Hot, once an exchange.
    request, response = exchange.request, exchange.response
    if exchange.api_key is None or exchange.api_version is None or request is None:
        return None
    rows = _rows(exchange.api_key, exchange.api_version)
    if rows is None or request.is_cut:
        return None
    asked = rows.request, request.data, exchange.request_body_offset
    if response is None:
        return asked, None
    return None if response.is_cut else (asked, (rows.response, response.data, exchange.response_body_offset))


class Named(NamedTuple):
    """A topic as a body names it, by name or id, and its name where that is known."""

    topic: str | bytes
    name: str | None

    @property
    def text(self) -> str:
        """Its name, or its id as Kafka prints it where the name is unknown."""
        return self.name if self.name is not None else topic_id_text(self.topic_id or b"")

    @property
    def topic_id(self) -> bytes | None:
        """Its id, if it is named by that."""
        return self.topic if isinstance(self.topic, bytes) else None


class Numbers:
    """The clients, brokers and topics of what is counted, by number, until `clear`."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._changes = names.changes
        self._senders: dict[Sender, tuple[int, int]] = {}
        self._brokers: dict[tuple[str, str], int] = {}
        self._infos: list[ConnectionInfo] = []
        """A connection to each broker."""
        self.clients: list[tuple[Client, ClientKey]] = []
        self.topics: list[Named] = []

    @property
    def are_old(self) -> bool:
        """Whether what was counted should be taken now: a topic may have another name, or there are many."""
        return self._names.changes != self._changes or len(self._senders) >= SENDERS_KEPT

    def of(self, exchange: Exchange) -> tuple[int, int]:
        """The numbers of the client that sent a request and of the broker."""
        info, client_id = exchange.connection, exchange.client_id
        sender = info, client_id, info.principal, info.software_name, info.software_version
        found = self._senders.get(sender)
        if found is None:
            broker = self._brokers.setdefault((info.capture_set, info.broker_address), len(self._infos))
            if broker == len(self._infos):
                self._infos.append(info)
            found = self._senders[sender] = len(self.clients), broker
            view = ExchangeView(exchange)
            self.clients.append((client_of(view), client_key(view)))
        return found

    def name(self, new: list[tuple[int, str | bytes]]) -> None:
        """Take topics that are new, each with the number of the broker; their names are those known now."""
        for broker, topic in new:
            name = self._names.name(self._infos[broker], topic) if isinstance(topic, bytes) else topic
            self.topics.append(Named(topic, name))

    def clear(self) -> None:
        """Forget all numbers."""
        self._changes = self._names.changes
        self._senders.clear()
        self._brokers.clear()
        self._infos.clear()
        self.clients.clear()
        self.topics.clear()
