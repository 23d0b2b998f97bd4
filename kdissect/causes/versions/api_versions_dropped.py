"""`version-refused`: a broker ends connections behind ApiVersions itself, which Kafka's brokers never do."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import client_text, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.ledger.symptom import BROKER
from kdissect.causes.versions.version_removed_by_upgrade import VersionNeverThere
from kdissect.history.api_keys import API_VERSIONS
from kdissect.model.cause import Cost, FoundCause, Party
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import State
from kdissect.session.problem import Reason

_LEAST = 3
_LONG_KNOWN = 3  # since Kafka 2.4 (KIP-511)


class ApiVersionsDropped(VersionNeverThere):
    """Each ApiVersions of a client ends its connection.

    It is the first request: the client cannot work without it.
    """

    help = (
        "Limit the client to an ApiVersions version that the broker has: franz-go: MaxVersions, librdkafka:"
        " api.version.request=false with broker.version.fallback, Java: an older client. See also whether the"
        " listener wants TLS (security.protocol)."
    )
    cites = ("KIP-511 Proposed Changes", "KIP-35 Motivation")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client, broker and version, if the broker answers no ApiVersions at all."""
        silent = {one.connection.id for one in seen.problems(Reason.CLOSED_AT_ONCE)}
        for key, at in seen.unanswered():
            what = at.evidence[0].what
            text = what.rpartition(" v")[2]
            version = int(text) if text.isdigit() else 0
            if key.api_key != API_VERSIONS or key.closed_by != BROKER or version <= _LONG_KNOWN:
                continue
            # Of others the broker sent bytes, though no response: it speaks another protocol.
            if at.times < _LEAST or not at.connections <= silent or _answers(seen, key.broker):
                continue
            who = client_text(key.client)
            yield self.found(
                f"{key.broker} ends the connection behind {what} of {who} without a response,"
                f" {times(at.times)}, and answers no ApiVersions at all. Kafka's brokers answer a version"
                " that they do not have in version 0. This broker, or a proxy before it, may not know version"
                f" {version}: ask for version {version - 1} or less.",
                who,
                parties_of([key.client]) | {Party("broker", key.broker)},
                at,
                Cost(errors=at.times),
                "connections {files} --problems",
                "a listener that wants TLS, or that limits connections, may look the same",
            )


def _answers(seen: Evidence, broker: str) -> bool:
    return any(
        tally.states[State.COMPLETE] > 0  # also with an error
        for (api, _, _, to), tally in seen.background
        if to == broker and api == api_name(API_VERSIONS)
    )
