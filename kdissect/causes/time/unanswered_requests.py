"""`unanswered-requests`: clients gave up waiting for an answer."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import SECOND_NS, Cause, clients_text, joined
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import CLIENT, NOBODY, Claim, SymptomKind
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import duration
from kdissect.schema.protocol_messages import api_name
from kdissect.stats.client import Client
from kdissect.stats.times.waited import WAITING

_WAITED_NS = SECOND_NS  # less is a client that ends


class UnansweredRequests(Cause):
    """Requests for which a client waited, and closed the connection without an answer."""

    id = "unanswered-requests"
    title = "Requests are not answered"
    severity = Severity.STOPS
    help = (
        "See whether the broker is stopped, overloaded or unreachable at that time. A client waits"
        " request.timeout.ms,"
        " closes the connection and sends again what may be sent again."
    )
    cites = (
        "org.apache.kafka.clients.NetworkClient#handleTimedOutRequests",
        "org.apache.kafka.clients.CommonClientConfigs#REQUEST_TIMEOUT_MS_CONFIG",
    )
    claims = (Claim(SymptomKind.UNANSWERED, details={CLIENT, NOBODY}),)
    explains = ("connection-churn", "sequence-gap")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each broker."""
        by_broker: dict[str, tuple[Seen, dict[Client, None], dict[str, None]]] = {}
        for key, times in seen.unanswered():
            is_given_up = (
                key.closed_by == "client" and times.longest_ns >= _WAITED_NS and key.api_key not in WAITING
            )
            if not is_given_up:
                continue
            at, clients, apis = by_broker.setdefault(key.broker, (Seen(), {}, {}))
            at.merge(times)
            clients[key.client] = None
            apis[api_name(key.api_key) or str(key.api_key)] = None
        for broker, (at, clients, apis) in by_broker.items():
            yield self.found(
                f"Broker {broker} did not answer {plural(at.times, 'request')} ({joined(apis)}):"
                f" {clients_text(clients)}"
                f" waited up to {duration(at.longest_ns)}, gave up and closed the connection.",
                clients_text(clients),
                parties_of(list(clients)) | {Party("broker", broker)},
                at,
                Cost(time_ns=at.time_ns, errors=at.times),
                "inspect {files} -Y 'state == unanswered'",
            )
