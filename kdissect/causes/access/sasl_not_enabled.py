"""`sasl-not-enabled`: a client logs in at a listener that has no SASL."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.access.login_missing import has_sasl
from kdissect.causes.cause import Cause, clients_text, times
from kdissect.causes.evidence.evidence import Evidence, refusals
from kdissect.causes.ledger.symptom import errors
from kdissect.history import api_keys as apis
from kdissect.history import error_codes as codes
from kdissect.model.cause import Cost, FoundCause, Severity


class SaslNotEnabled(Cause):
    """SaslHandshake refused for its state, on connections that did not log in before."""

    id = "sasl-not-enabled"
    title = "A client logs in at a listener without SASL"
    severity = Severity.STOPS
    help = (
        "Set security.protocol of the client to PLAINTEXT or SSL, or have it connect to a listener with SASL"
        " (listener.security.protocol.map of the brokers). User and password do not matter here."
    )
    cites = ("KIP-43 Motivation", "org.apache.kafka.clients.CommonClientConfigs#SECURITY_PROTOCOL_CONFIG")
    claims = (errors({codes.ILLEGAL_SASL_STATE}, {apis.SASL_HANDSHAKE}),)
    explains = ("connection-churn", "metadata-storm", "broker-closes")
    may_be_missing_packets = False

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each listener at which no connection logs in."""
        begun = {name for _, link in seen.gathering.links.items() for _, name in link.starts}
        facts = seen.facts("SaslFact.no_sasl")
        for found in refusals(known for known in facts if known.fact.evidence.connection in begun):
            if has_sasl(seen, found.broker):
                continue
            who = clients_text(found.clients)
            yield self.found(
                f"{who} cannot log in at {found.broker}: it refused SaslHandshake {times(found.seen.times)}"
                " with ILLEGAL_SASL_STATE, on connections that had not logged in before. A listener without"
                " SASL responds so.",
                who,
                found.parties,
                found.seen,
                Cost(errors=found.seen.times),
                "logins {files}",
            )
