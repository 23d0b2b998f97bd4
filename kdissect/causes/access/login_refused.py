"""`login-refused`: the broker refuses the credentials."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, joined, times
from kdissect.causes.evidence.evidence import Errors
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.ledger.symptom import Claim, SymptomKind
from kdissect.model.cause import Severity
from kdissect.session.problem import Reason

_SASL_AUTHENTICATION_FAILED = 58  # org.apache.kafka.common.protocol.Errors
_SASL_AUTHENTICATE = 36


class LoginRefused(ErrorCause):
    """SaslAuthenticate refused."""

    id = "login-refused"
    title = "The broker refuses the login"
    severity = Severity.STOPS
    codes = frozenset({_SASL_AUTHENTICATION_FAILED})
    apis = frozenset({_SASL_AUTHENTICATE})
    help = (
        "Check user and password (sasl.jaas.config), or the token, against what the broker has. For SCRAM: "
        "kafka-configs.sh --describe --entity-type users."
    )
    cites = ("KIP-152 Motivation", "org.apache.kafka.common.protocol.Errors#SASL_AUTHENTICATION_FAILED")

    claims = (Claim(SymptomKind.CONNECTION, details={str(Reason.LOGIN_REFUSED)}),)
    explains = ("connection-churn", "metadata-storm", "broker-closes")

    def alike(self, key: ErrorKey) -> Hashable:
        """Return a client, whichever broker it asks."""
        return key.client.address, key.client.client_id

    def sentence(self, errors: Errors) -> str:
        """Return who, and where."""
        return (
            f"{clients_text(errors.clients)} cannot log in: {joined(errors.brokers)} refused its credentials"
            f" {times(errors.seen.times)}."
        )

    def command(self, errors: Errors) -> str:
        """Logins."""
        return "logins {files}"
