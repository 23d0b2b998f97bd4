"""`broker-restarted`: a broker went, and all its clients with it."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.brokers.effects_of_absence import EFFECTS, PARTIES
from kdissect.causes.cause import SECOND_NS, Cause, clients_text, quoted, times
from kdissect.causes.evidence.absences import Absence
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import MOVING_ERRORS, Claim, SymptomKind, errors
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import duration
from kdissect.session.problem import Reason
from kdissect.stats.client import Client
from kdissect.stats.times.stalls import AWAY

# A broker moves its leaders, asks, and ends its connections once it may (controlled.shutdown in KIP-631).
_ANNOUNCED_NS = 60 * SECOND_NS
_WHILE_AWAY = frozenset(map(str, (*AWAY, Reason.CLOSED_AT_ONCE, Reason.PROBE, Reason.TLS_TO_PLAINTEXT)))


class BrokerRestarted(Cause):
    """Connections that a broker ended all at once, and attempts that were refused then."""

    id = "broker-restarted"
    title = "A broker stopped or was restarted"
    severity = Severity.DELAYS
    help = (
        "See the broker's log and its supervisor: a deployment, a crash, out of memory, a lost disk."
        " Controlled shutdown moves"
        " leaders away before it stops, and clients then notice little."
    )
    cites = (
        "org.apache.kafka.common.protocol.Errors#NOT_LEADER_OR_FOLLOWER",
        "spec/000 ControlledShutdown API",
    )
    claims = (
        Claim(SymptomKind.UNANSWERED),
        Claim(SymptomKind.CONNECTION, details=_WHILE_AWAY),
        Claim(SymptomKind.LATE),
        errors(MOVING_ERRORS),
    )
    explains = (
        *EFFECTS,
        "broker-closes",
        "advertised-address",
        "rolling-restart",
        "capture-too-poor",
    )
    explains_by = PARTIES

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each time that a broker was away."""
        for absence in seen.absences:
            broker, went, refused = absence.place[1], absence.ended, absence.refused
            at = Seen()
            for one in went:
                at.add(Packets(one.connection, -1, f"closed by {broker} ({one.how})", one.time_ns))
            at.last_ns = absence.until_ns
            keys = [key for key, _ in absence.links]
            clients = [Client(None, key.client_id, None, key.host) for key in keys]
            away_ns = at.last_ns - at.first_ns
            moved = seen.gathering.mixups.moved_after(absence.place, absence.from_ns)
            if not absence.back_ns:
                then = "it did not come back in the capture"
            elif moved is not None:
                then = (
                    f"{duration(away_ns)} later a broker of another cluster answered at its address:"
                    f" {quoted(moved[1:])} instead of {quoted(moved[:1])}"
                )
            else:
                then = f"it was away for {duration(away_ns)}"
            ended = "all " * (not refused) + plural(len(went), "connection")
            refuses = f" and refused new ones {times(len(refused))}" if refused else ""
            yield self.found(
                f"Broker {broker} ended {ended} within {duration(went[-1].time_ns - went[0].time_ns)}"
                f"{refuses}: it stopped, and {then}.{_announced(seen, absence)}",
                clients_text(clients),
                parties_of(clients) | {Party("broker", broker)},
                at,
                Cost(time_ns=away_ns * len({key.client_id for key in keys}), errors=len(refused)),
                "connections {files} --problems",
                "" if refused else "no client tried to connect while it was away",
            )


def _announced(seen: Evidence, absence: Absence) -> str:
    """Return whether the broker had asked its controller to shut down when its first connection ended."""
    for scope, node in seen.gathering.racks.nodes_at(*absence.place):
        packets = seen.gathering.log.shutdowns.peek((scope, node))
        if packets is not None and abs(absence.from_ns - packets.time_ns) <= _ANNOUNCED_NS:
            return (
                f" Node {node} had asked its controller to shut down ({packets.what}, exchange"
                f" {packets.connection}/{packets.exchange}): a controlled shutdown, no crash."
            )
    return ""
