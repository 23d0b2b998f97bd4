"""`broker-reports-trouble`: a broker reports trouble in words, in responses without an error code."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import quoted, times
from kdissect.causes.general.general_cause import GeneralCause, Together
from kdissect.causes.ledger.symptom import Symptom, SymptomKind
from kdissect.model.cause import Cost, Severity


class BrokerReportsTrouble(GeneralCause):
    """Statuses of Streams groups, and challenges of SASL that are a refusal."""

    id = "broker-reports-trouble"
    title = "A broker reports trouble in words"
    severity = Severity.STOPS
    kind = SymptomKind.TROUBLE
    explains = ("requests-unanswered", "connection-churn", "broker-closes")
    help = (
        "Correct what the broker names: create the topics that are missing, or check the token and its"
        " issuer. The response has no error code, so that clients may not log it."
    )
    cites = ("KIP-1071 Motivation", "RFC 7628 section 3.2.2")

    def alike(self, symptom: Symptom) -> Hashable:
        """Return the same words to one client."""
        return symptom.client, symptom.group, symptom.message

    def sentence(self, found: Together) -> str:
        """Return the clients, and the message that they receive."""
        first = found.first
        groups = found.names("group")
        where = f" of group {quoted(groups)}" if groups else ""
        what = " the login was refused:" if first.code is None else ""
        return (
            f"{found.brokers} responded {times(found.seen.times)} to {first.api} of {found.who}"
            f"{where} without an error code, but with a report of trouble:{what} {found.messages}."
        )

    def cost(self, found: Together) -> Cost:
        """Return each response."""
        return Cost(errors=found.seen.times)

    def command(self, found: Together) -> str:
        """Return the statuses of the group, or the exchanges of a login."""
        if found.first.code is not None:
            return "groups {files} --table statuses"
        return f"inspect {{files}} --bodies -Y 'api == {found.first.api}'"
