"""`reauthentication-refused`: a broker refuses to authenticate a connection again."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.access.mechanism_refused import UNSUPPORTED_SASL_MECHANISM
from kdissect.causes.cause import Cause, clients_text, quoted, times
from kdissect.causes.evidence.evidence import Evidence, refusals
from kdissect.causes.ledger.symptom import Claim, SymptomKind, errors
from kdissect.history.fact import Fact
from kdissect.model.cause import Cost, FoundCause, Severity
from kdissect.session.problem import Reason


class ReauthenticationRefused(Cause):
    """SaslHandshake refused for a mechanism that the same response lists."""

    id = "reauthentication-refused"
    title = "A broker refuses a SASL mechanism that it offers"
    severity = Severity.STOPS
    help = (
        "Have the broker re-authenticate (Kafka 2.2 or later, KIP-368), or set"
        " connections.max.reauth.ms so that it gives no session lifetime. If neither is possible, use a "
        "client that does not"
        " re-authenticate. The client's mechanism is right."
    )
    cites = ("KIP-368 Proposed Changes",)
    claims = (
        errors({UNSUPPORTED_SASL_MECHANISM}),
        Claim(SymptomKind.CONNECTION, details={str(Reason.MECHANISM_REFUSED)}),
    )
    explains = ("connection-churn", "metadata-storm", "broker-closes")
    may_be_missing_packets = False

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each broker."""
        begun: dict[str, int] = {}
        for known in seen.facts("SaslFact.handshake"):
            begun.setdefault(known.fact.evidence.connection, known.fact.evidence.sent_ns)

        def is_again(fact: Fact) -> bool:
            at = fact.evidence
            return begun.get(at.connection, at.sent_ns) < at.sent_ns

        listed = [
            known
            for known in seen.facts("SaslFact.mechanism_refused")
            if known.fact.seen in known.fact.expected
        ]
        for found in refusals(listed, is_again):
            who = clients_text(found.clients)
            what = "to authenticate again on its connection" if is_again(found.facts[0]) else "to log in"
            mechanisms = quoted(sorted({fact.seen for fact in found.facts}))
            yield self.found(
                f"{who} asked {found.broker} {times(found.seen.times)} {what} with {mechanisms}. The broker"
                " refused the mechanism, though the same response lists it.",
                who,
                found.parties,
                found.seen,
                Cost(errors=found.seen.times),
                "logins {files}",
            )
