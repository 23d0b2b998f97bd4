"""`session-expired`: a client goes on after the end of its SASL session, and the broker closes."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, clients_text, joined, times
from kdissect.causes.evidence.evidence import Evidence, parties_of, refusals
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import BROKER, Claim, SymptomKind
from kdissect.model.cause import Cost, FoundCause, Party, Severity
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
        for found in refusals(seen.expired_sessions):
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
        for lifetime in seen.inferred_lifetimes:
            at, broker = Seen(), lifetime.ends[0].listener[0][1]
            for one in lifetime.ends:
                at.add(one.packets)
            clients = list(dict.fromkeys(one.client for one in lifetime.ends))
            who = clients_text(clients)
            unprocessed = ""
            if seen.is_unprocessed_after(lifetime):
                unprocessed = " The broker does not process the request for which it closes."
            yield self.found(
                f"{broker} closed connections of {who} {times(at.times)} at the first request after the end"
                f" of the session: {duration(lifetime.asked_ns)} after the login or later. It answered"
                f" requests until {duration(lifetime.served_ns)} after the login. The client logs in with a"
                " version that does not carry the session's lifetime, so that it cannot authenticate again"
                " in time." + unprocessed,
                who,
                parties_of(clients) | {Party("broker", broker)},
                at,
                Cost(),  # `broker-closes`, its effect, has the errors
                "logins {files}",
                "the lifetime is inferred from the age at which each of these connections ended",
            )
