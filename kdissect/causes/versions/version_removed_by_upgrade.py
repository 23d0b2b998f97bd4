"""`version-removed-by-upgrade`: a broker closes behind requests in a version that it dropped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from kdissect.causes.cause import Cause, client_text, clients_text, times
from kdissect.causes.evidence.evidence import Evidence, parties_of, refusals
from kdissect.causes.evidence.old_versions import is_gone
from kdissect.causes.ledger.symptom import BROKER, Claim, SymptomKind
from kdissect.causes.versions.version_refused import HELP
from kdissect.history.api_keys import PRODUCE
from kdissect.history.fact import Fact
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import State
from kdissect.stats.client import Client

_AGAIN = 2  # once may be a broker that stops
_NOT_SURE = "the broker says nothing: that it closes each time behind this request is all that shows it"


class VersionRemoved(Cause):
    """Requests after which the broker closes the connection, for an API that it answered before."""

    has_worked: ClassVar[bool] = True

    id = "version-removed-by-upgrade"
    title = "A client uses a version that the broker does not have any more"
    severity = Severity.STOPS
    help = HELP
    cites = ("KIP-896 Motivation", "KIP-35 Motivation")
    claims = (Claim(SymptomKind.UNANSWERED, details={BROKER}),)
    explains = ("broker-closes", "connection-churn", "unanswered-requests", "metadata-storm", "old-client")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each broker and API: the client cannot know, it is cut off."""
        cut_off = [
            known
            for known in seen.facts(
                "RefusalFact.closed_again", "VersionFact.outside", "VersionFact.not_offered"
            )
            if known.client is not None
            and known.fact.evidence.response is None
            and _has_worked(seen, known.client, known.fact.evidence.api_key or 0) is self.has_worked
            and (is_gone(*_asked(known.fact)) or _responds(seen, known.broker))
        ]
        for found in refusals(cut_off, _asked):
            who, (api, version) = clients_text(found.clients), _asked(found.facts[0])
            yield self.found(
                f"{who} asks {found.broker} for {api_name(api) or api} version {version}, and the broker"
                " closes the connection"
                f" after it without an answer ({times(found.seen.times)} in a row or more): it does not have"
                " that version.",
                who,
                found.parties,
                found.seen,
                Cost(errors=found.seen.times),
                "upgrade {files} --target 4.0",
                _NOT_SURE,
            )


class VersionNeverThere(VersionRemoved):
    """The same of an API that the broker never answered the client."""

    id = "version-refused"
    title = "The broker does not have the version that a client asks for"
    has_worked = False

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Also closes after a version that Kafka dropped, on connections without ApiVersions."""
        named = set()
        for found in super().find(seen):
            named |= {(packets.what, party.name) for packets in found.evidence for party in found.parties}
            yield found
        for (client, broker, kind), at in seen.gathering.versions.cut_off.items():
            what = at.evidence[0].what
            if at.times < _AGAIN or (what, broker) in named or _has_worked(seen, client, kind[0]):
                continue
            yield self.found(
                f"{client_text(client)} asks {broker} for {what}, which Kafka 4.0 dropped, and the broker"
                f" closes the connection after it without an answer ({times(at.times)})"
                f"{'. A broker that dropped it does not write the records' if kind[0] == PRODUCE else ''}.",
                client_text(client),
                parties_of([client]) | {Party("broker", broker)},
                at,
                Cost(errors=at.times),
                "upgrade {files} --target 4.0",
                _NOT_SURE,
            )


def _asked(fact: Fact) -> tuple[int, int]:
    """Return the API key and version of the request."""
    return fact.evidence.api_key or 0, fact.evidence.api_version or 0


def _has_worked(seen: Evidence, client: Client, api_key: int) -> bool:
    """Return whether requests of an API were answered to a client in the capture."""
    return any(
        tally.exchanges > tally.failed
        for (api, client_id, host, _), tally in seen.background
        if (api, client_id, host) == (api_name(api_key), client.client_id or "", client.address)
    )


def _responds(seen: Evidence, broker: str) -> bool:
    """Return True if an end sent any response: otherwise it may be no broker."""
    return any(key[3] == broker and tally.states[State.COMPLETE] > 0 for key, tally in seen.background)
