"""Client metrics: what a broker asked for, and what clients push (KIP-714).

Key: capture set, client instance id. Order: that of completion. A client takes its subscription and pushes on
one connection at a time, but may change brokers in between. It keeps its id, so that a connection has one.
"""

from enum import StrEnum
from typing import Any, ClassVar

from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact
from kdissect.history.state_table import Table

CLIENTS_KEPT = 50_000  # client instances of 400 bytes each
# A client waits half to one and a half intervals before its first push, and brokers accept one that comes a
# little early by the network's jitter. Only pushes that come in half the time are reported (KIP-714).
EARLIEST = 0.5
NO_ID = bytes(16)  # of a client that has none yet (KIP-714)
_NO_COMPRESSION = 0  # org.apache.kafka.common.record.internal.CompressionType
_MS = 1_000_000


class TelemetryFact(StrEnum):
    """Facts about client metrics."""

    SUBSCRIBED = "subscribed"  # seen: the subscription's id
    PUSHED = "pushed"  # seen: bytes of metrics
    REFUSED = "refused"  # seen: the error code
    OTHER_SUBSCRIPTION = "other_subscription"  # differs from the id of the last subscription
    TOO_EARLY = "too_early"  # milliseconds: the interval, the time since the last push
    TOO_LARGE = "too_large"  # bytes
    CODEC_NOT_ACCEPTED = "codec_not_accepted"  # codecs
    AFTER_TERMINATING = "after_terminating"  # a push behind the client's last one
    OTHER_INSTANCE = "other_instance"  # ids of client instances: the one of the connection, the one named


class TelemetryClient:
    """One client instance. Everything is None before a subscription was seen."""

    __slots__ = (
        "bytes", "client_id", "codecs", "given_by", "interval_ms", "last_push_ns", "max_bytes", "metrics",
        "pushes", "subscription_id", "terminated_by",
    )  # fmt: skip

    def __init__(self) -> None:
        self.client_id: str | None = None
        self.subscription_id: int | None = None
        self.given_by: Evidence | None = None
        self.interval_ms = 0
        self.max_bytes = 0
        self.codecs: tuple[int, ...] = ()
        self.metrics: tuple[str, ...] = ()
        self.last_push_ns = 0
        self.terminated_by: Evidence | None = None
        self.pushes = self.bytes = 0


ClientKey = tuple[str, bytes]


class Telemetry:
    """Clients by instance id."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset(
        {apis.GET_TELEMETRY_SUBSCRIPTIONS, apis.PUSH_TELEMETRY}
    )

    def __init__(self) -> None:
        self.clients: Table[ClientKey, TelemetryClient] = Table(CLIENTS_KEPT)
        self._instances: Table[str, tuple[bytes, Evidence]] = Table(CLIENTS_KEPT)
        """The id that a connection named first."""

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next GetTelemetrySubscriptions or PushTelemetry."""
        return [*self._other_instance(view), *self._next(view)]

    def _other_instance(self, view: ExchangeView) -> list[Fact]:
        """Return whether a request names another client instance than its connection did before."""
        asked, given = (getattr(body, "client_instance_id", NO_ID) for body in (view.request, view.response))
        known = self._instances.get(view.info.id)
        if given not in (NO_ID, asked):  # the client takes it, also if it had an id (TEL007)
            self._instances.put(view.info.id, (given, view.evidence))
        elif known is None and asked != NO_ID:
            self._instances.put(view.info.id, (asked, view.evidence))
        if known is None or asked in (NO_ID, known[0]):
            return []
        first, by = known
        key: ClientKey = view.info.capture_set, asked
        expected, seen = first.hex(), asked.hex()
        path = "client_instance_id"
        return [view.fact(TelemetryFact.OTHER_INSTANCE, key, path, expected=expected, seen=seen, earlier=by)]

    def _next(self, view: ExchangeView) -> list[Fact]:
        request, answer = view.request, view.response
        if view.key == apis.PUSH_TELEMETRY:
            return [] if request is None else self._push(view)
        if answer is None or answer.error_code:
            return []
        key: ClientKey = view.info.capture_set, answer.client_instance_id
        known = self.clients.get_or(key, TelemetryClient)
        before, known.subscription_id = known.subscription_id, answer.subscription_id
        known.client_id, known.given_by = view.exchange.client_id, view.evidence
        known.interval_ms, known.max_bytes = answer.push_interval_ms, answer.telemetry_max_bytes
        known.codecs = tuple(answer.accepted_compression_types or ())
        known.metrics = tuple(map(str, answer.requested_metrics or ()))
        known.last_push_ns = 0  # the interval starts again
        kind, path = TelemetryFact.SUBSCRIBED, "subscription_id"
        return [Fact(kind, key, view.evidence, "response", path, before, known.subscription_id)]

    def _push(self, view: ExchangeView) -> list[Fact]:
        request, answer = view.request, view.response
        key: ClientKey = view.info.capture_set, request.client_instance_id
        known = self.clients.get_or(key, TelemetryClient)
        facts = [] if known.given_by is None else _against(view, key, known)
        known.client_id = view.exchange.client_id
        known.last_push_ns = view.sent_ns
        size = len(request.metrics)
        if request.terminating:
            known.terminated_by = view.evidence
        if answer is None:
            return facts
        if answer.error_code:
            kind, path, seen = TelemetryFact.REFUSED, "error_code", answer.error_code
            return [*facts, Fact(kind, key, view.evidence, "response", path, 0, seen, known.given_by)]
        known.pushes += 1
        known.bytes += size
        return [*facts, Fact(TelemetryFact.PUSHED, key, view.evidence, "request", "metrics", None, size)]


def _against(view: ExchangeView, key: ClientKey, known: TelemetryClient) -> list[Fact]:
    request = view.request
    facts = []

    def differs(kind: TelemetryFact, path: str, expected: Any, seen: Any) -> None:
        facts.append(
            Fact(
                kind, key, view.evidence, "request", path, expected, seen,
                known.terminated_by if kind is TelemetryFact.AFTER_TERMINATING else known.given_by,
                view.all_whole,
            )
        )  # fmt: skip

    if request.subscription_id != known.subscription_id:
        differs(
            TelemetryFact.OTHER_SUBSCRIPTION,
            "subscription_id",
            known.subscription_id,
            request.subscription_id,
        )
    if len(request.metrics) > known.max_bytes > 0:
        differs(TelemetryFact.TOO_LARGE, "metrics", known.max_bytes, len(request.metrics))
    if request.compression_type not in (_NO_COMPRESSION, *known.codecs):
        differs(TelemetryFact.CODEC_NOT_ACCEPTED, "compression_type", known.codecs, request.compression_type)
    waited_ms = (view.sent_ns - known.last_push_ns) // _MS
    if known.last_push_ns and not request.terminating and 0 <= waited_ms < EARLIEST * known.interval_ms:
        differs(TelemetryFact.TOO_EARLY, "", known.interval_ms, waited_ms)
    if known.terminated_by is not None:
        differs(TelemetryFact.AFTER_TERMINATING, "", None, None)
    return facts
