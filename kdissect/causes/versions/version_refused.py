"""`version-refused`: a broker does not know the version, or the feature, that a client asks for."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from kdissect.causes.cause import Cause, ErrorCause, clients_text, joined, times
from kdissect.causes.evidence.evidence import Errors, Evidence, parties_of
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.evidence.seen import Seen, packets_of
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.schema.protocol_messages import api_name
from kdissect.stats.client import Client

_UNSUPPORTED_VERSION = 35  # org.apache.kafka.common.protocol.Errors
_API_VERSIONS = 18  # what it refuses is asked for again in version 0 (KIP-511)
_HELP = (
    "Use a client that asks for versions (ApiVersions) and keeps to them, or a broker of a release that"
    " has what "
    "it asks for. `kdissect upgrade --target RELEASE` lists what breaks."
)


class VersionRefused(ErrorCause):
    """Answers with UNSUPPORTED_VERSION."""

    id = "version-refused"
    title = "The broker does not have the version that a client asks for"
    severity = Severity.STOPS
    codes = frozenset({_UNSUPPORTED_VERSION})
    help = _HELP
    cites = (
        "org.apache.kafka.common.protocol.Errors#UNSUPPORTED_VERSION",
        "KIP-35 Motivation",
        "KIP-511 Motivation",
    )

    def alike(self, key: ErrorKey) -> Hashable:
        """A client and what it asks for."""
        return key.client, key.api_key == _API_VERSIONS

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """The first question for versions may be refused: it is asked again."""
        return any(key.api_key != _API_VERSIONS for key in errors.keys)

    def sentence(self, errors: Errors) -> str:
        """Who, and what."""
        apis = dict.fromkeys(api_name(key.api_key) or str(key.api_key) for key in errors.keys)
        return (
            f"{clients_text(errors.clients)} asked {times(errors.seen.times)} for {joined(list(apis))} in"
            " a version that"
            f" {joined(errors.brokers)} does not have."
        )


class VersionRemoved(Cause):
    """Requests behind which the broker closes the connection, again and again."""

    id = "version-removed-by-upgrade"
    title = "A client uses a version that the broker does not have any more"
    severity = Severity.STOPS
    help = _HELP
    cites = ("KIP-896 Motivation", "KIP-35 Motivation")
    explains = ("broker-closes", "connection-churn", "unanswered-requests", "connection-closed-at-once")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Each broker and API: the client cannot know, it is cut off."""
        known: dict[tuple[str, int, int], Seen] = {}
        clients: dict[tuple[str, int, int], dict[Client, None]] = {}
        for fact, client, broker in seen.facts(
            "RefusalFact.closed_again", "VersionFact.outside", "VersionFact.not_offered"
        ):
            evidence = fact.evidence
            if evidence.response is not None or client is None:
                continue
            key = broker, evidence.api_key or 0, evidence.api_version or 0
            known.setdefault(key, Seen()).add(packets_of(evidence))
            clients.setdefault(key, dict.fromkeys([client]))[client] = None
        for key, what in known.items():
            broker, api, version = key
            who = clients_text(list(clients[key]))
            yield self.found(
                f"{who} asks {broker} for {api_name(api) or api} version {version}, and the broker closes"
                " the connection"
                f" behind it without an answer ({times(what.times)} in a row or more): it does not have"
                " that version.",
                who,
                parties_of(list(clients[key])) | {Party("broker", broker)},
                what,
                Cost(errors=what.times),
                "upgrade {files} --target 4.0",
                "the broker says nothing: that it closes each time behind this request is all that shows it",
            )
