"""`requests-unanswered`: requests without a response that no other cause explains."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.general.general_cause import GeneralCause, Together
from kdissect.causes.ledger.symptom import BROKER, CLIENT, Symptom, SymptomKind
from kdissect.model.cause import Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import duration

_MOST = 0.5  # of the requests with that API
_ENDS = {
    BROKER: "the broker closed the connection instead of responding",
    CLIENT: "the client closed the connection after it had waited",
}


class RequestsUnanswered(GeneralCause):
    """Requests that were ended by a close, or were open for long when the capture ended."""

    id = "requests-unanswered"
    title = "Requests receive no response"
    kind = SymptomKind.UNANSWERED
    may_be_missing_packets = True
    explains = ("connection-churn", "broker-closes")
    help = (
        "See the broker's log at that time: a listener that wants a login or TLS, a version"
        " that was removed, a session that expired and a request that is too large look equal on the wire."
    )
    cites = ("spec/000 Network", "org.apache.kafka.clients.CommonClientConfigs#REQUEST_TIMEOUT_MS_CONFIG")

    def alike(self, symptom: Symptom) -> Hashable:
        """Return a client, an API and how it ended."""
        return symptom.client, symptom.api_key, symptom.detail

    def sentence(self, found: Together) -> str:
        """Return how many of how many, and what ended them."""
        first, seen = found.first, found.seen
        ends = _ENDS.get(first.detail, "the broker sent no response until the capture ended")
        return (
            f"{seen.times:,} of {plural(found.total, f'{first.api} request', spec=',')} of {found.who} to"
            f" {found.brokers} received no response: {ends} (up to"
            f" {duration(seen.longest_ns)} after the request)."
        )

    def weight(self, found: Together) -> Severity:
        """By the share of requests."""
        return Severity.STOPS if found.seen.times >= _MOST * found.total else Severity.DELAYS

    def not_surer(self, found: Together) -> str:
        """Return the doubt: a close has no reason on the wire, and a response may follow after the
        capture.
        """
        if found.first.detail not in _ENDS:
            return "the capture ended before the client gave up the request: a response may have followed"
        return "the packets show the close, not its reason"

    def command(self, found: Together) -> str:
        """Return the exchanges."""
        return "inspect {files} -Y 'state == unanswered'"
