"""`idle-connection-reset`: connections no longer work after a silence."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, clients_text, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.idle_resets import IdleReset
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import BROKER, Claim, SymptomKind
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.report.quantities import duration

_LEAST = 3


class IdleConnectionReset(Cause):
    """Resets that answer the first request after a silence, while shorter silences do no harm."""

    id = "idle-connection-reset"
    title = "Idle connections are reset"
    severity = Severity.DELAYS
    help = (
        "Raise the idle timeout of the load balancer, NAT or firewall between, let it close connections"
        " instead of forgetting them, or set connections.max.idle.ms of the clients below that timeout. TCP"
        " keepalives keep a connection known."
    )
    cites = ("org.apache.kafka.clients.CommonClientConfigs#CONNECTIONS_MAX_IDLE_MS_CONFIG",)
    claims = (Claim(SymptomKind.UNANSWERED, details={BROKER}),)
    explains = ("broker-closes", "connection-churn", "duplicate-writes", "unanswered-requests")
    explains_by = frozenset({"client", "broker"})

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each broker."""
        served_after = seen.gathering.stalls.silences.served_after
        for found in seen.gathering.idle_resets.by_broker():
            of = [one for one in found if served_after(one.route) < one.silent_ns]
            if len(of) < _LEAST or not _come_again(of):
                continue
            served_ns = max(served_after(one.route) for one in of)
            shortest_ns = min(one.silent_ns for one in of)
            at, broker = Seen(), of[0].route[2]
            for one in of:
                at.add(one.packets)
            clients = list(dict.fromkeys(one.client for one in of))
            works = ""
            if 0 < served_ns < shortest_ns:  # routes may differ
                works = f"; after {duration(served_ns)} of silence at most they still worked"
            yield self.found(
                f"Connections to {broker} were reset {times(len(of))} as soon as {clients_text(clients)} sent"
                f" a request after {duration(shortest_ns)} of silence or more{works}: a load balancer, NAT or"
                " firewall between has forgotten them, or the broker has.",
                clients_text(clients),
                parties_of(clients) | {Party("broker", broker)},
                at,
                Cost(),  # `broker-closes`, its effect, has the errors
                "connections {files} --problems",
                "who resets them, the packets do not show",
            )


def _come_again(of: list[IdleReset]) -> bool:
    """Return whether new connections end so, too: a machine that was restarted resets each of the old ones
    once.
    """
    return any(one.start_ns > of[0].reset_ns for one in of)
