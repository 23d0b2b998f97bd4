"""Rules: requests that wait: many at once, or long."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import BOTH_FRAMES, REQUEST, RESPONSE, Once, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange, State

_DEFAULT = 5  # max.in.flight.requests.per.connection (ProducerConfig)
_PRODUCE = 0
_SLOW_NS = 30_000_000_000  # request.timeout.ms of Java clients
# They wait on purpose: Fetch, JoinGroup, SyncGroup, ShareFetch, FetchSnapshot.
_WAITING = frozenset({1, 11, 14, 78, 59})


class DeepPipeline(ExchangeRule):
    """More Produce requests in flight than Java's default of 5.

    Legal: the number is the client's configuration. librdkafka allows a million. With retries and without
    idempotence records may change their order.

    Example: a sixth Produce request before the first is answered.

    What to do: know that retries change the order. Set `max.in.flight.requests.per.connection`.
    """

    code = "PAI006"
    name = "deep-pipeline"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = (
        "spec/004 Pipelining",
        "org.apache.kafka.clients.producer.ProducerConfig#MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION",
    )
    needs_whole = True
    once = Once.PARTY
    guard = ExchangeFact.MANY_IN_FLIGHT

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Produce alone."""
        return api_key == _PRODUCE

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield Produce requests that wait when another is sent."""
        if exchange.api_key != _PRODUCE or exchange.state is not State.COMPLETE:
            return
        waiting = sum(e.api_key == _PRODUCE and e.response is not None for e in view.in_flight) + 1
        if waiting > _DEFAULT:
            yield Violation(f"at most {_DEFAULT}", f"{waiting} in flight", side=REQUEST)


class SlowResponse(ExchangeRule):
    """A response that took longer than a Java client waits.

    After `request.timeout.ms`, by default 30 s, a Java client closes the connection and asks again. APIs
    that wait on purpose are left out.

    Example: a Metadata response after 41 s.

    What to do: look at the broker's request queue at that time.
    """

    code = "PAI007"
    name = "slow-response"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = (
        "org.apache.kafka.clients.NetworkClient#handleTimedOutRequests",
        "org.apache.kafka.clients.producer.ProducerConfig#REQUEST_TIMEOUT_MS_CONFIG",
    )
    once = Once.PARTY
    guard = ExchangeFact.SLOW

    def concerns(self, api_key: int | None, api_version: int | None) -> bool:
        """Return True for APIs that do not wait on purpose."""
        return api_key not in _WAITING

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """First byte of the response against last byte of the request."""
        latency = exchange.latency_ns
        if latency is not None and latency > _SLOW_NS and exchange.api_key not in _WAITING:
            yield Violation("less than 30 s", f"{latency / 1e9:.1f} s", side=RESPONSE)
