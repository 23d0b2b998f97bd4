"""`responses-late`: responses that come late, and no other cause explains them."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import joined
from kdissect.causes.general.general_cause import GeneralCause, Together
from kdissect.causes.ledger.symptom import Symptom, SymptomKind
from kdissect.model.cause import Cost, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import duration


class ResponsesLate(GeneralCause):
    """Waits for one broker, without network, throttle and waits by design."""

    id = "responses-late"
    title = "Responses come late"
    severity = Severity.DELAYS
    kind = SymptomKind.LATE
    may_be_missing_packets = True
    help = (
        "See what the broker did at that time: a pause of its JVM or machine, its disks, other replicas"
        " (acks=all). The metrics RequestQueueTimeMs, LocalTimeMs and RemoteTimeMs distinguish them."
    )
    cites = ("org.apache.kafka.clients.CommonClientConfigs#REQUEST_TIMEOUT_MS_CONFIG",)

    def alike(self, symptom: Symptom) -> Hashable:
        """Return a broker."""
        return symptom.broker

    def sentence(self, found: Together) -> str:
        """Return how many came late, the sum of their waits, and the longest time in which some waited."""
        seen = found.seen
        apis = joined(list(dict.fromkeys(one.api for one in found.symptoms)))
        took, longest = duration(seen.time_ns), duration(seen.longest_ns)
        return (
            f"{plural(seen.times, 'response', spec=',')} ({apis}) of broker {found.brokers} came late:"
            f" their waits add up to {took}, and last {longest} at most without a break."
        )

    def not_surer(self, found: Together) -> str:
        """From outside a busy broker and a stopped one look equal."""
        return "the packets show the wait, not what the broker waited for"

    def cost(self, found: Together) -> Cost:
        """Return the time."""
        return Cost(time_ns=found.seen.time_ns)

    def command(self, found: Together) -> str:
        """Return times by broker."""
        return "stats {files} --by broker,api --split"
