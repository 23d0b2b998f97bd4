"""PAI007: A response that took longer than a Java client waits."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Once, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange

_SLOW_NS = 30_000_000_000  # request.timeout.ms of Java clients
# They wait on purpose: Fetch, JoinGroup, SyncGroup, ShareFetch, FetchSnapshot.
_WAITING = frozenset({1, 11, 14, 78, 59})


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
        """APIs that do not wait on purpose."""
        return api_key not in _WAITING

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """First byte of the response against last byte of the request."""
        latency = exchange.latency_ns
        if latency is not None and latency > _SLOW_NS and exchange.api_key not in _WAITING:
            yield Violation("less than 30 s", f"{latency / 1e9:.1f} s", side=RESPONSE)
