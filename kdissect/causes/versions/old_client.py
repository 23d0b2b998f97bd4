"""`old-client`: a client uses versions of the protocol that Kafka 4.0 dropped."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, clients_text, joined
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Severity
from kdissect.model.wording import plural
from kdissect.schema.protocol_messages import api_name


class OldClient(Cause):
    """Connections that use such versions."""

    id = "old-client"
    title = "Old clients would not work with Kafka 4.0"
    severity = Severity.WASTES
    help = (
        "Upgrade these clients before the brokers: Java and Scala clients to 2.1 or later, librdkafka to"
        " 1.8, others to what"
        " KIP-896 says. Old formats cost brokers conversions meanwhile."
    )
    cites = ("KIP-896 Motivation", "KIP-724 Motivation")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield all of them together."""
        at = Seen()
        kinds: dict[tuple[int, int], None] = {}
        clients = []
        for client, old in seen.gathering.versions.clients.items():
            at.merge(old.seen)
            kinds.update(old.kinds)
            clients.append(client)
        if not clients:
            return
        names = joined([f"{api_name(key) or key} v{version}" for key, version in sorted(kinds)])
        yield self.found(
            f"Versions that Kafka 4.0 dropped ({names}) are used by {plural(len(clients), 'client')}:"
            f" {clients_text(clients)}.",
            clients_text(clients),
            parties_of(clients),
            at,
            Cost(),
            "upgrade {files} --target 4.0",
        )
