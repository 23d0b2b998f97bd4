"""`session-expired`: a client goes on after the end of its SASL session, and the broker closes."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, clients_text, joined, times
from kdissect.causes.evidence.evidence import Evidence, refusals
from kdissect.causes.ledger.symptom import BROKER, Claim, SymptomKind
from kdissect.model.cause import Cost, FoundCause, Severity
from kdissect.report.quantities import duration

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
        """Yield each broker."""
        closed = {
            connection
            for key, at in seen.unanswered()
            if key.closed_by == BROKER
            for connection in at.connections
        }
        expired = [
            known
            for known in seen.facts("SaslFact.session_expired")
            if known.fact.sure and known.fact.evidence.connection in closed
        ]
        for found in refusals(expired):
            who = clients_text(found.clients)
            lifetimes = sorted({fact.expected for fact in found.facts})
            given = joined([duration(lifetime * _MS) for lifetime in lifetimes])
            yield self.found(
                f"{who} did not authenticate again within the lifetime of its session ({given}):"
                f" {found.broker} closed the connection at the next request, {times(found.seen.times)}.",
                who,
                found.parties,
                found.seen,
                Cost(errors=found.seen.times),
                "logins {files}",
            )
