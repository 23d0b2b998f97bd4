"""Keys by which the native engine counts Produces and Fetches (native/src/transfers): clients, brokers,
topics.

The engine takes exchanges as far as it can, and leaves the other ones to Python before it counts them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from kdissect.engine.exchange_rows import topic_id_text
from kdissect.engine.transfer_rows import TransferRows
from kdissect.history.history import History
from kdissect.history.lent_connections import LentConnections
from kdissect.history.member_rows import MemberRows
from kdissect.history.topics.topic_names import ANNOUNCING, TopicNames, tells_names
from kdissect.model.native import native
from kdissect.session.info import ConnectionInfo, KnownIdentities
from kdissect.stats.by_group.group_links import ClientKey, client_key_of
from kdissect.stats.client import Client, Sender, client_named, sender_of

LEFT, COUNTED, ENOUGH, NEW_TOPICS, NEW_CODECS = 0, 1, 2, 4, 8  # of native/src/transfers/mod.rs
SENDERS_KEPT = 10_000


Way: TypeAlias = "TransferRows | MemberRows | native.ToldNames | native.Layout | bool"
"""How exchanges of a kind are counted from a block. True: they are skipped. False: they are for Python.

Exchanges with names of topics are skipped if the names were known before. With the layout of responses,
exchanges are skipped if their response has no error.
"""
WayOf = Callable[[int, int], Way]
NumbersOf = Callable[[ConnectionInfo, str | None], tuple[int, int] | None]


def way_past(names: TopicNames, api_key: int) -> Way:
    """Return the way of exchanges that only matter for their names of topics."""
    if api_key in ANNOUNCING:
        told = names.told_before
        return False if told is None else told  # without known names yet it is an empty object
    return not tells_names(api_key)


class Named(NamedTuple):
    """A topic as a body names it, by name or id, and its name if that is known.

    `identity` distinguishes topics of one name, and `scope` clusters (`session.identities`). `info` is a
    connection to the cluster, which may have another cluster later.
    """

    topic: str | bytes
    name: str | None
    identity: str
    scope: str
    info: ConnectionInfo

    @classmethod
    def of(cls, names: TopicNames, info: ConnectionInfo, topic: str | bytes) -> Named:
        """Return a topic of the cluster that a connection leads to."""
        name = names.name(info, topic) if isinstance(topic, bytes) else topic
        return cls(topic, name, topic_key(names, info, topic), info.scope, info)

    @property
    def topic_id(self) -> bytes | None:
        """Its id, if it is named by that."""
        return self.topic if isinstance(self.topic, bytes) else None


def topic_key(names: TopicNames, info: ConnectionInfo, topic: str | bytes) -> str:
    """Return the key of a topic in states: topics of one name are distinguished (`session.identities`).

    An id without a known name is as Kafka prints it. `info` is a connection to the topic's cluster.
    """
    identities, topic_id = info.identities, topic if isinstance(topic, bytes) else None
    name = topic if isinstance(topic, str) else names.name(info, topic)
    if name is None:
        return topic_id_text(topic_id or b"")
    return name if identities is None else identities.topic(info, name, topic_id)


class Connections(LentConnections):
    """The connections of what is counted, and what is due on them."""

    def __init__(self, history: History) -> None:
        super().__init__()
        self._history = history

    def due_of(self, number: int) -> int | None:
        """Return the ordinal of the exchange that is next, or None if exchanges are for Python."""
        info = self.infos[number]
        return None if info.anomaly_counts else self._history.due_on(info.id)

    def pass_to(self, due: list[tuple[int, int]]) -> None:
        """Go on after the exchanges that the engine took."""
        for number, ordinal in due:
            self._history.go_on(self.infos[number].id, ordinal)


class Numbers:
    """The clients, brokers and topics of what is counted, by number, until `clear`."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._identities: KnownIdentities | None = None
        self._changes = self._changes_now()
        self._senders: dict[tuple[Sender, str, str, str], tuple[int, int]] = {}
        self._brokers: dict[tuple[str, str], int] = {}
        self._infos: list[ConnectionInfo] = []
        """A connection to each broker."""
        self.clients: list[tuple[Client, ClientKey]] = []
        self.topics: list[Named] = []

    def _changes_now(self) -> tuple[int, int]:
        identities = self._identities
        return self._names.changes, 0 if identities is None else identities.changes

    @property
    def are_old(self) -> bool:
        """Whether it is time to read the counts: a topic may have another name, or there are too many."""
        return self._changes_now() != self._changes or len(self._senders) >= SENDERS_KEPT

    def of(self, info: ConnectionInfo, client_id: str | None) -> tuple[int, int]:
        """Return the number of the client that sends on a connection, and the broker's number."""
        scope = info.scope  # an address may become another cluster's
        sender = sender_of(info, client_id), info.client.host, info.broker_address, scope
        found = self._senders.get(sender)
        if found is None:
            if self._identities is not info.identities:
                self._identities = info.identities
                self._changes = self._changes_now()
            broker = self._brokers.setdefault((scope, info.broker_address), len(self._infos))
            if broker == len(self._infos):
                self._infos.append(info)
            found = self._senders[sender] = len(self.clients), broker
            self.clients.append((client_named(info, client_id), client_key_of(info, client_id)))
        return found

    def scope_of(self, broker: int) -> str:
        """Return the scope of a broker by its number."""
        return self._infos[broker].scope

    def name(self, new: list[tuple[int, str | bytes]]) -> None:
        """Take new topics, each with the number of the broker. Their names are those known now."""
        self.topics += [Named.of(self._names, self._infos[broker], topic) for broker, topic in new]

    def clear(self) -> None:
        """Forget all numbers."""
        self._changes = self._changes_now()
        self._senders.clear()
        self._brokers.clear()
        self._infos.clear()
        self.clients.clear()
        self.topics.clear()
