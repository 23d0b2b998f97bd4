"""What the compiled part counts Produces and Fetches by (native/src/transfers): clients, brokers, topics.

It takes exchanges as far as it can, and leaves the others to Python before anything is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from kdissect.engine.exchange_rows import topic_id_text
from kdissect.history.history import History
from kdissect.history.lent_connections import LentConnections
from kdissect.history.member_rows import MemberRows
from kdissect.history.topics.topic_names import ANNOUNCING, TopicNames, tells_names
from kdissect.history.transfer_rows import TransferRows
from kdissect.model.native import native
from kdissect.session.info import ConnectionInfo
from kdissect.stats.by_group.group_links import ClientKey, client_key_of
from kdissect.stats.client import Client, Sender, client_named, sender_of

LEFT, COUNTED, ENOUGH, NEW_TOPICS = 0, 1, 2, 4  # of native/src/transfers/mod.rs
SENDERS_KEPT = 10_000


Way: TypeAlias = "TransferRows | MemberRows | native.ToldNames | bool"
"""How exchanges of a kind are counted from a block; True: they are passed by; False: they are Python's.

Those that tell names of topics are passed by where these were told before.
"""
WayOf = Callable[[int, int], Way]
NumbersOf = Callable[[ConnectionInfo, str | None], tuple[int, int] | None]


def way_past(names: TopicNames, api_key: int) -> Way:
    """The way of exchanges of which nothing but names of topics is wanted."""
    if api_key in ANNOUNCING:
        told = names.told_before
        return False if told is None else told  # one of which nothing is known yet is empty
    return not tells_names(api_key)


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


class Connections(LentConnections):
    """The connections of what is counted, and what is due on them."""

    def __init__(self, history: History) -> None:
        super().__init__()
        self._history = history

    def due_of(self, number: int) -> int | None:
        """The ordinal of the exchange that is next; None where exchanges are Python's."""
        info = self.infos[number]
        return None if info.anomaly_counts else self._history.due_on(info.id)

    def pass_to(self, due: list[tuple[int, int]]) -> None:
        """Exchanges before these went by."""
        for number, ordinal in due:
            self._history.go_on(self.infos[number].id, ordinal)


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

    def of(self, info: ConnectionInfo, client_id: str | None) -> tuple[int, int]:
        """The numbers of the client that sends on a connection and of the broker."""
        sender = sender_of(info, client_id)
        found = self._senders.get(sender)
        if found is None:
            broker = self._brokers.setdefault((info.capture_set, info.broker_address), len(self._infos))
            if broker == len(self._infos):
                self._infos.append(info)
            found = self._senders[sender] = len(self.clients), broker
            self.clients.append((client_named(info, client_id), client_key_of(info, client_id)))
        return found

    def capture_set_of(self, broker: int) -> str:
        """Where the broker of a number is."""
        return self._infos[broker].capture_set

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
