"""`mechanism-refused`: the broker does not have the SASL mechanism that the client asks for."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, joined, times
from kdissect.causes.evidence.evidence import Errors
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.ledger.symptom import Claim, SymptomKind
from kdissect.model.cause import Severity
from kdissect.session.problem import Reason

UNSUPPORTED_SASL_MECHANISM = 33  # org.apache.kafka.common.protocol.Errors


class MechanismRefused(ErrorCause):
    """SaslHandshake refused for its mechanism."""

    id = "mechanism-refused"
    title = "The broker does not offer the SASL mechanism"
    severity = Severity.STOPS
    codes = frozenset({UNSUPPORTED_SASL_MECHANISM})
    help = (
        "Set sasl.mechanism of the client to one that the listener has, or add it to"
        " sasl.enabled.mechanisms of "
        "the brokers. SaslHandshake's answer lists the enabled mechanisms."
    )
    cites = ("KIP-43 Motivation", "KIP-152 Motivation")

    claims = (Claim(SymptomKind.CONNECTION, details={str(Reason.MECHANISM_REFUSED)}),)
    explains = ("connection-churn", "metadata-storm", "broker-closes")

    def alike(self, key: ErrorKey) -> Hashable:
        """Return a client, whichever broker it asks."""
        return key.client

    def sentence(self, errors: Errors) -> str:
        """Return who, and where."""
        return (
            f"{clients_text(errors.clients)} cannot log in: it asked {times(errors.seen.times)} for a SASL"
            " mechanism"
            f" that {joined(errors.brokers)} does not offer."
        )

    def command(self, errors: Errors) -> str:
        """Logins."""
        return "logins {files}"
