"""Exchanges made by hand: bytes from the encoder, in frames as the session would hand them on."""

from typing import Any

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.decoders.headers import parse_request_header, response_body_offset
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Fact
from kdissect.history.machine import Machine
from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo
from tests.support.messages.batches import batch_bytes, record_bytes

MS = 1_000_000
START_NS = 1_700_000_000_000_000_000


class Talk:
    """One connection. Times are milliseconds after its start; every request takes a millisecond."""

    def __init__(self, client: str = "10.0.0.1", broker: str = "10.0.0.2", capture_set: str = "set") -> None:
        name = f"{client}-{broker}"
        self.info = ConnectionInfo(
            name, capture_set, Endpoint(client, 40000), Endpoint(broker, 9092), START_NS
        )
        self.now = 0
        self._next = 0

    def ask(
        self, key: int, version: int, body: dict[str, Any], answer: dict[str, Any] | None = None,
        at: int | None = None, client_id: str = "client", answer_version: int | None = None, took: int = 1,
    ) -> Exchange:  # fmt: skip
        """Return a request and its answer; None for no answer."""
        self.now = self.now + 2 if at is None else at
        exchange = Exchange(self.info, self._next)
        self._next += 1
        frame = encode_request(key, version, exchange.ordinal, client_id, body)[4:]
        exchange.request = self._frame(frame, self.now)
        exchange.api_key, exchange.api_version = key, version
        exchange.correlation_id, exchange.client_id = exchange.ordinal, client_id
        exchange.request_body_offset = parse_request_header(frame).body_offset
        if answer is not None:
            written = version if answer_version is None else answer_version
            data = encode_response(key, written, exchange.ordinal, answer)[4:]
            exchange.response = self._frame(data, self.now + took)
            exchange.response_body_offset = response_body_offset(data, key, version)
            exchange.state = State.COMPLETE
        return exchange

    def token(self, sent: bytes, answer: bytes | None = b"") -> Exchange:
        """Return a raw SASL frame."""
        self.now += 2
        exchange = Exchange(self.info, self._next)
        self._next += 1
        exchange.kind = ExchangeKind.SASL_TOKEN
        exchange.request = self._frame(sent, self.now)
        if answer is not None:
            exchange.response = self._frame(answer, self.now + 1)
            exchange.state = State.COMPLETE
        return exchange

    def _frame(self, data: bytes, at: int) -> Frame:
        time_ns = START_NS + at * MS
        return Frame(data, len(data), at * 2 + 1, at * 2 + 1, time_ns, time_ns)


def feed(machine: Machine, *exchanges: Exchange) -> list[Fact]:
    """Return the facts of exchanges in their order."""
    return [fact for exchange in exchanges for fact in machine.feed(ExchangeView(exchange))]


def kinds(facts: list[Fact]) -> list[str]:
    """Return their kinds."""
    return [str(fact.kind) for fact in facts]


def brief(facts: list[Fact]) -> list[tuple[str, Any, Any]]:
    """Return their kinds and values."""
    return [(str(fact.kind), fact.expected, fact.seen) for fact in facts]


def batch(
    producer_id: int, epoch: int, sequence: int, records: int = 1, transactional: bool = False
) -> bytes:
    """Return a record batch of so many records; written without kdissect's code."""
    held = b"".join(record_bytes(offset_delta=index, value=b"v") for index in range(records))
    return batch_bytes(
        held, records, attributes=0x10 if transactional else 0, base_timestamp=0, max_timestamp=0,
        producer_id=producer_id, epoch=epoch, sequence=sequence,
    )  # fmt: skip
