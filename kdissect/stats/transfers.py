"""What the compiled part counts Produces and Fetches by (native/src/transfers): clients, brokers, topics.

It takes exchanges as far as it can, and leaves the others to Python before anything is counted.
"""

from __future__ import annotations

from typing import NamedTuple

from kdissect.engine.exchange_rows import topic_id_text
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topic_names import TopicNames
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.group_links import ClientKey, client_key
from kdissect.stats.client import Client, Sender, client_of, sender_of

LEFT, COUNTED, ENOUGH, NEW_TOPICS = 0, 1, 2, 4  # of native/src/transfers/mod.rs
SENDERS_KEPT = 10_000


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
        sender = sender_of(exchange)
        found = self._senders.get(sender)
        if found is None:
            info = exchange.connection
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
