"""One of two captures that are compared: what each client does, API by API."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.history.exchange_view import ExchangeView
from kdissect.model.packets.packet import ref_number
from kdissect.model.record_batch import CODEC_NAMES, NO_PRODUCER_ID, RecordBatch
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import api_name
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo, ConnectionKind
from kdissect.sketches.distribution import Distribution
from kdissect.stats.comparison.body_values import body_values
from kdissect.stats.failed_connections import Diagnosis

NO_CLIENT_ID = "(no client id)"
OTHERS = "(others)"
CLIENT_LEFT = "the client left first"
CLOSED_BY = "closed by"
RESPONSE_TIME = "response time"
BODY_SIZES = "size of requests", "size of responses"
BATCH_SIZE = "size of batches"
CLIENTS_KEPT = 1_000
_VALUES_KEPT = 16
"""Of a field with more values it is only known that it varies."""
_ASPECTS_KEPT = 4_000  # for one API of a client: brokers have some 400 configs, a topic some 40
_LEFT_NS = 500_000_000  # of waiting: less is a client that ends
_READ_WHOLE = 300
"""Bodies of a client in one version of an API that are decoded, while all are counted."""
_BEGINNING = 8  # requests of a connection before its work
_PRELIMINARY = ("ApiVersions", "SaslHandshake", "SaslAuthenticate", str(ExchangeKind.SASL_TOKEN))


class Kind(StrEnum):
    """Kind of a client's difference. Names are output."""

    OUTCOME = "outcome"  # errors, missing answers, throttling, connections that come to nothing
    CLIENT = "client"  # one that is in one capture alone, its software, its TLS and SASL
    VERSION = "version"  # of an API; one that is used in one capture alone
    ORDER = "order"  # in which a connection begins
    REQUEST = "request"  # a field
    BATCH = "batch"  # of records that are produced
    RESPONSE = "response"
    SIZE = "size"
    TIME = "time"
    RATE = "rate"


class Example(NamedTuple):
    """The first exchange that shows something: its connection, its number in it, and its first packet."""

    connection: str
    exchange: int
    packet: int


class Values:
    """Values of a property with their counts, for properties of few values."""

    __slots__ = ("counts", "examples", "total", "varies")

    def __init__(self) -> None:
        self.counts: Counter[Any] = Counter()
        self.examples: dict[Any, Example | None] = {}
        self.total = 0
        self.varies = False
        """Whether there were more values than the bound."""

    def add(self, value: Any, example: Example | None) -> None:
        """Count one."""
        self.total += 1
        if value not in self.counts:
            if len(self.counts) >= _VALUES_KEPT:
                self.varies = True
                return
            self.examples[value] = example
        self.counts[value] += 1

    def share(self, value: Any) -> float:
        """Return the part of all that has a value."""
        return self.counts[value] / self.total if self.total else 0.0


Aspect = tuple[Kind, str]


class Step:
    """A client's activity with one API, or, without an API, its connections."""

    def __init__(self) -> None:
        self.count = 0
        self.errors = 0
        self.values: dict[Aspect, Values] = {}
        self.numbers: dict[Aspect, Distribution] = {}

    def see(self, kind: Kind, name: str, value: Any, example: Example | None) -> None:
        """Count a value."""
        found = self.values.get((kind, name))
        if found is None:
            if len(self.values) >= _ASPECTS_KEPT:
                return
            found = self.values[kind, name] = Values()
        found.add(value, example)

    def measure(self, kind: Kind, name: str, value: int | None) -> None:
        """Count a number."""
        if value is not None:
            self.numbers.setdefault((kind, name), Distribution()).add(value)


class ClientSide:
    """A client in one of the captures, all its connections together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.connections = 0
        self.connecting = Step()
        self.steps: dict[str, Step] = {}
        """By API."""
        self.read: Counter[tuple[str, int | None]] = Counter()
        """Bodies that were decoded, by API and version."""


class Side:
    """Collector of one capture's events. Only wanted exchanges count.

    `clients` are by client id. Clients of connections that never named one are under `NO_CLIENT_ID`.
    """

    def __init__(self) -> None:
        self.clients: dict[str, ClientSide] = {}
        self.exchanges = 0
        self.first_ns: int | None = None
        self.last_ns = 0
        self._diagnosis = Diagnosis()
        self._begun: dict[str, list[str]] = {}
        """The beginnings of connections with wanted exchanges, before their work."""

    @property
    def duration_ns(self) -> int:
        """From the first exchange to the last."""
        return 0 if self.first_ns is None else self.last_ns - self.first_ns

    def add(self, event: Event, wanted: bool = True) -> None:
        """Take the analyzer's next event."""
        for problem in self._diagnosis.add(event):
            self._came_to_nothing(problem.connection, str(problem.problem.reason))
        if isinstance(event, Exchange):
            if wanted:
                self._exchange(event)
        elif isinstance(event, ConnectionClosed):
            self._closed(event.connection, wanted)

    def finish(self) -> None:
        """End the input."""
        for problem in self._diagnosis.finish():
            self._came_to_nothing(problem.connection, str(problem.problem.reason))

    def _client(self, name: str | None) -> ClientSide:
        key = name or NO_CLIENT_ID
        if key not in self.clients and len(self.clients) >= CLIENTS_KEPT:
            key = OTHERS
        found = self.clients.get(key)
        if found is None:
            found = self.clients[key] = ClientSide(key)
        return found

    def _came_to_nothing(self, info: ConnectionInfo, reason: str) -> None:
        step = self._client(info.client_id).connecting
        step.errors += 1
        step.see(Kind.OUTCOME, "connections that failed", reason, None)

    def _closed(self, info: ConnectionInfo, wanted: bool) -> None:
        begun = self._begun.pop(info.id, None)
        if begun is None and not (wanted and info.kind is ConnectionKind.TLS):
            return
        client = self._client(info.client_id)
        client.connections += 1
        step = client.connecting
        step.count += 1
        carried = "plaintext" if info.tls is None else info.tls.version or "TLS"
        step.see(Kind.CLIENT, "transport", carried, None)
        if info.close is not None:
            step.see(Kind.OUTCOME, CLOSED_BY, f"{info.close.by or 'nobody'} ({info.close.how})", None)
        if begun is None:
            return
        if not info.middle_start:
            step.see(Kind.ORDER, "begins with", ", ".join(begun), None)
        step.see(Kind.CLIENT, "SASL mechanism", info.mechanism, None)
        step.see(Kind.CLIENT, "software", info.software, None)

    def _exchange(self, exchange: Exchange) -> None:
        self.exchanges += 1
        frame = exchange.request or exchange.response
        if frame is not None:
            self.first_ns = frame.time_ns if self.first_ns is None else min(self.first_ns, frame.time_ns)
            self.last_ns = max(self.last_ns, frame.time_ns)
        info = exchange.connection
        name = _step_name(exchange)
        begun = self._begun.get(info.id)
        if begun is None:
            begun = self._begun[info.id] = []
        if name in _PRELIMINARY and exchange.ordinal == len(begun) < _BEGINNING:
            begun.append(name)
        client = self._client(exchange.client_id or info.client_id)
        step = client.steps.setdefault(name, Step())
        step.count += 1
        example = Example(info.id, exchange.ordinal, 0 if frame is None else ref_number(frame.first_ref))
        self._outcome(exchange, step, example)
        step.see(Kind.VERSION, "version", exchange.api_version, example)
        step.measure(Kind.TIME, RESPONSE_TIME, exchange.latency_ns)
        for what, part in zip(BODY_SIZES, (exchange.request, exchange.response), strict=True):
            if part is not None:
                step.measure(Kind.SIZE, what, len(part.data))
        read = name, exchange.api_version
        if client.read[read] < _READ_WHOLE:
            client.read[read] += 1
            _bodies(ExchangeView(exchange), step, example)

    def _outcome(self, exchange: Exchange, step: Step, example: Example) -> None:
        codes = exchange.response_summary().errors
        is_unanswered = exchange.state in (State.UNANSWERED, State.INCOMPLETE)
        has_left = is_unanswered and _has_left(exchange)
        step.errors += bool(codes) or (is_unanswered and not has_left)
        if has_left:
            step.see(Kind.OUTCOME, "answer", CLIENT_LEFT, example)
        elif is_unanswered:
            step.see(Kind.OUTCOME, "answer", "no answer", example)
        elif codes:
            for code in dict.fromkeys(codes):
                step.see(Kind.OUTCOME, "answer", error_name(code), example)
        elif exchange.state is State.COMPLETE:
            step.see(Kind.OUTCOME, "answer", "no error", example)
        else:
            step.see(Kind.OUTCOME, "answer", "none asked for", example)


def _step_name(exchange: Exchange) -> str:
    if exchange.kind is not ExchangeKind.KAFKA or exchange.api_key is None:
        return str(exchange.kind)
    return api_name(exchange.api_key) or f"key {exchange.api_key}"


def _has_left(exchange: Exchange) -> bool:
    """Return whether a client ended before an answer could be expected: it has not waited for one."""
    waited_ns = exchange.given_up_ns
    return waited_ns is not None and waited_ns < _LEFT_NS


def _bodies(view: ExchangeView, step: Step, example: Example) -> None:
    """Fields of both bodies, and of the batches that are produced."""
    for kind, body in ((Kind.REQUEST, view.request), (Kind.RESPONSE, view.response)):
        if body is None:
            continue
        seen: dict[tuple[str, Any], None] = {}
        for path, value in body_values(body):
            seen[path, value] = None
        for path, value in seen:
            step.see(kind, path, value, example)
    throttle = sent(view.response, "throttle_time_ms")
    if throttle is not None:
        step.see(Kind.OUTCOME, "throttled", throttle > 0, example)
    if view.key == _PRODUCE:
        for _, batch in view.batches:
            _batch(batch, step, example)
    view.exchange.forget_bodies()


_PRODUCE = 0  # org.apache.kafka.common.protocol.ApiKeys


def _batch(batch: RecordBatch, step: Step, example: Example) -> None:
    codec = CODEC_NAMES[batch.codec] if batch.codec < len(CODEC_NAMES) else f"codec {batch.codec}"
    step.see(Kind.BATCH, "codec", codec, example)
    step.see(Kind.BATCH, "magic", batch.magic, example)
    step.see(Kind.BATCH, "idempotent", batch.producer_id != NO_PRODUCER_ID, example)
    step.see(Kind.BATCH, "transactional", batch.is_transactional, example)
    step.measure(Kind.BATCH, "records in a batch", batch.count)
    step.measure(Kind.BATCH, BATCH_SIZE, batch.size)
