"""Small captures that a test makes: connections with requests of any API, answered or not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.model.cause import Diagnosis
from tests.causes.diagnosing import diagnosed
from tests.support.messages.traffic import START_NS, Conversation
from tests.support.packets.pcaps import write_pcap

SECOND = 1_000_000_000


class Talk:
    """One connection of a client to the broker; it begins `begins` seconds after the capture."""

    def __init__(
        self, client_id: str = "app", port: int = 40000, broker: str = "10.0.0.2", begins: float = 0
    ) -> None:
        self.client_id = client_id
        start_ns = START_NS + int(begins * SECOND)
        self.talk = Conversation(broker=broker, ports=(port, 9092), start_ns=start_ns).handshake()
        self._next = 0

    def ask(self, key: int, version: int, body: Mapping[str, Any]) -> Talk:
        """Return a request."""
        self._next += 1
        self.talk.client(encode_request(key, version, self._next, self.client_id, body))
        return self

    def answer(self, key: int, version: int, body: Mapping[str, Any]) -> Talk:
        """Return the response to the last request."""
        self.talk.broker(encode_response(key, version, self._next, body))
        return self

    def heartbeats(self, times: int, member: str = "m") -> Talk:
        """Heartbeats that are answered, one a second: what a healthy client does."""
        for _ in range(times):
            self.beat(member)
            self.answer(12, 0, {"error_code": 0}).wait(1)
        return self

    def beat(self, member: str = "m") -> Talk:
        """Return a heartbeat."""
        return self.ask(12, 0, {"group_id": "g", "generation_id": 1, "member_id": member})

    def wait(self, seconds: float) -> Talk:
        """Let time pass."""
        self.talk.wait(int(seconds * SECOND))
        return self


def what_is_wrong(folder: Path, *talks: Talk) -> Diagnosis:
    """Return the diagnosis of a capture with these connections."""
    packets = sorted((packet for talk in talks for packet in talk.talk.packets), key=lambda one: one.time_ns)
    return diagnosed(write_pcap(folder / "made.pcap", packets))
