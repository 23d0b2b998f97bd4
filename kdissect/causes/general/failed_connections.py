"""`connections-fail`: connections that failed for a reason that no other cause explains."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.access.failed_connection import LOOKS
from kdissect.causes.cause import times
from kdissect.causes.general.general_cause import GeneralCause, Together
from kdissect.causes.ledger.symptom import Symptom, SymptomKind
from kdissect.model.cause import Severity
from kdissect.session.problem import Reason

_WORDS = {
    Reason.REFUSED: "the broker's address refused the connection: no process listened there then",
    Reason.NO_ANSWER: "no answer came to the SYN",
    Reason.HTTP: "the client speaks HTTP",
    Reason.FOREIGN_ANSWER: "the end does not speak Kafka",
}


class ConnectionsFail(GeneralCause):
    """Connections that failed (`session.problem`)."""

    id = "connections-fail"
    title = "Connections fail"
    kind = SymptomKind.CONNECTION
    severity = Severity.STOPS
    explains = ("requests-unanswered", "broker-closes", "connection-churn", "metadata-storm")
    explains_by = frozenset({"host"})
    help = (
        "See whether the address and port belong to a broker (bootstrap.servers), which protocol the listener"
        " speaks, and whether something between closes connections."
    )
    cites = ("org.apache.kafka.clients.CommonClientConfigs#BOOTSTRAP_SERVERS_CONFIG",)

    def alike(self, symptom: Symptom) -> Hashable:
        """Return the two ends, and the reason."""
        return symptom.client.address, symptom.broker, symptom.detail

    def sentence(self, found: Together) -> str:
        """Return who, where, and why."""
        first = found.first
        words = _WORDS.get(Reason(first.detail))
        why = f"{words} ({first.message})" if words else first.message
        return f"{found.who} cannot use {first.broker}: {times(found.seen.times)} {why}."

    def weight(self, found: Together) -> Severity:
        """Return whether the client came through later."""
        return Severity.DELAYS if found.goes_on else Severity.STOPS

    def command(self, found: Together) -> str:
        """Return the connections."""
        return LOOKS
