"""`coordinator-unavailable`: groups or transactions have no coordinator."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import SECOND_NS, ErrorCause, clients_text, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.model.cause import Cost, Severity
from kdissect.report.quantities import duration

_COORDINATOR = frozenset({14, 15, 16})  # loading, not available, not the coordinator (Errors)
_EVERY_NS = 30 * SECOND_NS  # clients ask again within seconds: more seldom, and the clock was set between
_SPAN_NS = 10 * SECOND_NS  # a cluster that starts needs seconds
_LEAST = 10


class CoordinatorUnavailable(ErrorCause):
    """Errors about coordinators that do not end."""

    id = "coordinator-unavailable"
    title = "Groups or transactions have no coordinator"
    severity = Severity.STOPS
    codes = _COORDINATOR
    help = (
        "See the partitions of __consumer_offsets and __transaction_state: without a leader, or with fewer"
        " replicas than"
        " they ask for (offsets.topic.replication.factor with too few brokers), there is no coordinator."
    )
    cites = ("org.apache.kafka.common.protocol.Errors#COORDINATOR_NOT_AVAILABLE",)
    explains = ("endless-rebalances", "stuck-consumer")

    def alike(self, key: ErrorKey) -> Hashable:
        """Return a client."""
        return key.client

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """For long, and often."""
        span_ns, count = errors.seen.span_ns, errors.seen.times
        return count >= _LEAST and _SPAN_NS <= span_ns <= count * _EVERY_NS

    def sentence(self, errors: Errors) -> str:
        """Return who, and for how long."""
        return (
            f"{clients_text(errors.clients)} found no coordinator for {duration(errors.seen.span_ns)}: it"
            " asked"
            f" {times(errors.seen.times)} and received a request to ask again."
        )

    def cost(self, errors: Errors) -> Cost:
        """Return all that time nothing goes on."""
        return Cost(time_ns=errors.seen.span_ns, errors=errors.seen.times)
