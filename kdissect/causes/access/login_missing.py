"""`login-missing`: a client sends requests without a login to a listener that wants SASL."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, clients_text, joined, times
from kdissect.causes.evidence.evidence import Evidence, refusals
from kdissect.causes.ledger.symptom import BROKER, Claim, SymptomKind
from kdissect.model.cause import Cost, FoundCause, Severity
from kdissect.schema.protocol_messages import api_name


class LoginMissing(Cause):
    """Requests in advertised versions on connections without a login, which the broker closes each time."""

    id = "login-missing"
    title = "A client does not log in"
    severity = Severity.STOPS
    help = (
        "Set security.protocol of the client to SASL_PLAINTEXT or SASL_SSL, with sasl.mechanism and"
        " sasl.jaas.config, or have it connect to a listener without SASL."
    )
    cites = (
        "org.apache.kafka.clients.CommonClientConfigs#SECURITY_PROTOCOL_CONFIG",
        "KIP-152 Motivation",
    )
    claims = (Claim(SymptomKind.UNANSWERED, details={BROKER}),)
    explains = ("broker-closes", "connection-churn", "metadata-storm", "unanswered-requests")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each broker."""
        for found in refusals(seen.facts("RefusalFact.closed_before_login")):
            wants, who = has_sasl(seen, found.broker), clients_text(found.clients)
            keys = dict.fromkeys(fact.evidence.api_key or 0 for fact in found.facts)
            apis = joined([api_name(key) or str(key) for key in keys])
            why = "as other connections to it show" if wants else "or closes for another reason"
            yield self.found(
                f"{who} sent {apis} to {found.broker} without a login, and each time the broker closed the"
                f" connection without a response ({times(found.seen.times)} in a row or more): the listener"
                f" wants SASL, {why}.",
                who,
                found.parties,
                found.seen,
                Cost(errors=found.seen.times),
                "connections {files} --problems",
                "" if wants else "no connection to the listener shows whether it wants SASL",
            )


def has_sasl(seen: Evidence, broker: str) -> bool:
    """Return whether a broker accepted a SaslHandshake. Without SASL it refuses with ILLEGAL_SASL_STATE
    (KIP-43).
    """
    return any(
        api == "SaslHandshake" and to == broker and tally.exchanges > tally.failed
        for (api, _, _, to), tally in seen.background
    )
