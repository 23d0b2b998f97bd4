"""Laws about logins."""

from __future__ import annotations

from kdissect.causes.evidence.evidence import Evidence
from kdissect.model.cause import FoundCause


def mechanism_is_listed(cause: FoundCause, seen: Evidence) -> str:
    """Object if the broker lists the mechanism: it offers it, even if it refuses it on this connection."""
    places = {(packets.connection, packets.exchange) for packets in cause.evidence}
    refused = [
        known.fact
        for known in seen.facts("SaslFact.mechanism_refused")
        if (known.fact.evidence.connection, known.fact.evidence.ordinal) in places
    ]
    if refused and all(fact.seen in fact.expected for fact in refused):
        return f"the response that refuses {refused[0].seen} lists it"
    return ""
