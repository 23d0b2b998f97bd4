"""A small client and broker for fixtures: what they say becomes packets of one TCP connection."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.engine.analyzer import Analyzer
from kdissect.model.finding import Finding
from kdissect.model.packets.packet import Packet
from kdissect.rules.judge import Judge
from kdissect.schema import protocol_messages
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from tests.support.messages.traffic import CLIENT, Conversation

Fields = Mapping[str, Any]
RANGES = [(0, 0, 13), (1, 4, 18), (3, 0, 13), (18, 0, 5), (21, 0, 2)]


class ScriptedConnection:
    """One connection. `ask` and `answer` take fields; correlation ids count up by themselves."""

    def __init__(self, negotiate: bool = True, handshake: bool = True) -> None:
        self.talk = Conversation()
        if handshake:
            self.talk.handshake()
        self._id = 0
        if negotiate:
            self.exchange("ApiVersions", 3, SOFTWARE, VERSIONS)

    def ask(
        self, api: str, version: int, fields: Fields, client_id: str | None = "test", id_: int | None = None
    ) -> int:
        """Send a request; gives its correlation id."""
        self._id = self._id + 1 if id_ is None else id_
        self.talk.client(encode_request(key_of(api), version, self._id, client_id, fields))
        return self._id

    def answer(self, api: str, version: int, fields: Fields, id_: int | None = None) -> "ScriptedConnection":
        """Send a response to the last request, or to `id_`."""
        self.talk.broker(encode_response(key_of(api), version, self._id if id_ is None else id_, fields))
        return self

    def exchange(self, api: str, version: int, asked: Fields, answered: Fields) -> "ScriptedConnection":
        """Return a request and its response."""
        self.ask(api, version, asked)
        return self.answer(api, version, answered)

    def raw(self, side: int, content: bytes) -> "ScriptedConnection":
        """Return a frame of any bytes."""
        data = len(content).to_bytes(4) + content
        return self.send(side, data)

    def send(self, side: int, data: bytes) -> "ScriptedConnection":
        """Return bytes without a frame around them."""
        (self.talk.client if side == CLIENT else self.talk.broker)(data)
        return self

    def close(self, side: int = CLIENT) -> list[Packet]:
        """FIN from one side; gives the packets."""
        return self.talk.fin(side).packets


def key_of(api: str) -> int:
    """Return the key of an API by name."""
    found = protocol_messages.api_by_name(api)
    assert found is not None
    return found.key


def versions(*ranges: tuple[int, int, int], error: int = 0) -> Fields:
    """Return an ApiVersions answer."""
    keys = [{"api_key": key, "min_version": low, "max_version": high} for key, low, high in ranges]
    return {"error_code": error, "api_keys": keys}


SOFTWARE: Fields = {"client_software_name": "tester", "client_software_version": "1.0"}
VERSIONS = versions(*((api.key, *api.versions) for api in protocol_messages.all_apis()))


def judged(told: Sequence[Packet] | Sequence[Exchange], *, guards: bool = True) -> Judge:
    """Return the verdict of every rule on packets, or on exchanges made by hand."""
    judge = Judge(guards=guards)
    for event in events_of(told):
        judge.add(event)
    judge.finish()
    return judge


def events_of(told: Sequence[Packet] | Sequence[Exchange]) -> Iterator[Event]:
    """Yield what the analyzer reports of packets; exchanges as they are."""
    analyzer = Analyzer()
    for item in told:
        if isinstance(item, Exchange):
            yield item
        else:
            yield from analyzer.feed(item)
    yield from analyzer.close()


def findings(told: Sequence[Packet] | Sequence[Exchange]) -> list[Finding]:
    """Return the findings of every rule."""
    return judged(told).findings.all()
