"""What was said while a fault was played, as packets, and what `check` reports of it."""

import threading
import time
from collections.abc import Iterable

from kdissect.model.packets.packet import Packet, packet_ref
from kdissect.rules.judge import Judge
from tests.support.messages.traffic import BROKER, CLIENT, Conversation
from tests.support.run import events_of

__all__ = ["BROKER", "CLIENT", "Tape", "Wire", "reported"]
_FIRST_PORT = 20_000  # of clients: one for each connection


class Tape:
    """Connections that are recorded; threads may say something at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._talks: list[Conversation] = []

    def connection(self) -> "Wire":
        """Return a connection that has just been made."""
        with self._lock:
            talk = Conversation(ports=(_FIRST_PORT + len(self._talks), 9092), start_ns=time.time_ns())
            self._talks.append(talk.handshake())
        return Wire(self._lock, talk)

    def packets(self) -> list[Packet]:
        """Return all packets, by their time."""
        with self._lock:
            found = sorted((one for talk in self._talks for one in talk.packets), key=lambda one: one.time_ns)
        return [one._replace(ref=packet_ref(0, number)) for number, one in enumerate(found, 1)]


class Wire:
    """One connection of a tape."""

    def __init__(self, lock: threading.Lock, talk: Conversation) -> None:
        self._lock = lock
        self._talk = talk

    def say(self, side: int, data: bytes) -> None:
        """Bytes that the client or the broker sends now."""
        with self._lock:
            self._talk.now = max(self._talk.now, time.time_ns())
            (self._talk.client if side == CLIENT else self._talk.broker)(data)

    def end(self, side: int) -> None:
        """Record that the client or the broker closes now."""
        with self._lock:
            self._talk.now = max(self._talk.now, time.time_ns())
            self._talk.fin(side)


def reported(packets: Iterable[Packet]) -> set[str]:
    """Return the codes of the rules that have a finding."""
    judge = Judge()
    for event in events_of(packets, (9092,)):
        judge.add(event)
    judge.finish()
    return {finding.code for finding in judge.findings.all()}
