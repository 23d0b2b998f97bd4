"""`idle-connection-closed`: connections are closed after the same silence each time."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, clients_text, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.idle_closes import idle_closes
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.report.quantities import duration


class IdleConnectionClosed(Cause):
    """An idle timeout that is shorter than clients are silent."""

    id = "idle-connection-closed"
    title = "Idle connections are closed"
    severity = Severity.DELAYS
    help = (
        "Raise the idle timeout of the proxy or load balancer between, or connections.max.idle.ms of the"
        " brokers, above the time that clients are silent, or set connections.max.idle.ms of the clients"
        " below it, so that they close first. A client without retries loses the request that meets the"
        " close."
    )
    cites = (
        "org.apache.kafka.network.SocketServerConfigs#CONNECTIONS_MAX_IDLE_MS_CONFIG",
        "org.apache.kafka.clients.CommonClientConfigs#CONNECTIONS_MAX_IDLE_MS_CONFIG",
    )
    explains = ("broker-closes", "connection-churn", "duplicate-writes", "unanswered-requests")
    explains_by = frozenset({"client", "broker"})

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each broker."""
        for (_, broker), closes in idle_closes(seen).items():
            at = Seen()
            for one in closes:
                at.add(Packets(one.connection, -1, f"closed ({one.how}) after a silence", one.time_ns))
            clients = list(dict.fromkeys(one.client for one in closes))
            lengths = [one.silent_ns for one in closes]
            silences = list(dict.fromkeys(map(duration, (min(lengths), max(lengths)))))
            yield self.found(
                f"Connections of {clients_text(clients)} to {broker} were closed {times(len(closes))} after"
                f" {' to '.join(silences)} of silence, and none lasted through a"
                " longer silence: the broker, or a proxy or load balancer between, has an idle timeout.",
                clients_text(clients),
                parties_of(clients) | {Party("broker", broker)},
                at,
                Cost(),  # `broker-closes`, its effect, has the errors
                "connections {files} --problems",
                "whose timeout it is, the packets do not show",
            )
