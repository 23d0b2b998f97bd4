"""`session-expired`: a client goes on after the end of its SASL session, and the broker closes."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, clients_text, joined, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen, packets_of
from kdissect.causes.ledger.symptom import BROKER, Claim, SymptomKind
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.report.quantities import duration
from kdissect.stats.client import Client

_MS = 1_000_000


class SessionExpired(Cause):
    """Requests later than the lifetime that the broker gave, on connections that the broker then closed."""

    id = "session-expired"
    title = "A client does not authenticate again before its session ends"
    severity = Severity.DELAYS
    help = (
        "Use a client that re-authenticates, or raise connections.max.reauth.ms of the brokers above the time"
        " that a connection lives."
    )
    cites = ("KIP-368 Proposed Changes",)
    claims = (Claim(SymptomKind.UNANSWERED, details={BROKER}),)
    explains = ("broker-closes", "connection-churn", "duplicate-writes", "unanswered-requests")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Each broker."""
        found: dict[str, tuple[Seen, dict[Client, None], dict[int, None]]] = {}
        closed = {
            connection
            for key, at in seen.unanswered()
            if key.closed_by == BROKER
            for connection in at.connections
        }
        for fact, client, broker in seen.facts("SaslFact.session_expired"):
            if client is None or not fact.sure or fact.evidence.connection not in closed:
                continue
            at, clients, lifetimes = found.setdefault(broker, (Seen(), {}, {}))
            at.add(packets_of(fact.evidence))
            clients[client] = None
            lifetimes[fact.expected] = None
        for broker, (at, clients, lifetimes) in found.items():
            who = clients_text(list(clients))
            given = joined([duration(lifetime * _MS) for lifetime in sorted(lifetimes)])
            yield self.found(
                f"{who} did not authenticate again within the lifetime of its session ({given}): {broker}"
                f" closed the connection at the next request, {times(at.times)}.",
                who,
                parties_of(list(clients)) | {Party("broker", broker)},
                at,
                Cost(errors=at.times),
                "logins {files}",
            )
