"""`broker-restarted`: a broker went, and all its clients with it."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.brokers.effects_of_absence import EFFECTS, PARTIES
from kdissect.causes.cause import SECOND_NS, Cause, clients_text, joined, quoted, times
from kdissect.causes.evidence.absences import Absence
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.evidence.stops import Stop
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
        for stop in seen.stops:
            went, refused = stop.ended, stop.refused
            absence = _first_named(seen, stop)
            broker = absence.place[1]
            brokers = list(dict.fromkeys([broker, *(one.place[1] for one in stop.listeners)]))
            at = Seen()
            for one, end in went:
                at.add(Packets(one.connection, -1, f"closed by {end} ({one.how})", one.time_ns))
            at.last_ns = stop.until_ns
            keys = [key for key, _ in stop.links]
            clients = [Client(None, key.client_id, None, key.host) for key in keys]
            away_ns = (stop.back_ns or at.last_ns) - at.first_ns
            moved = seen.gathering.mixups.moved_after(absence.place, absence.from_ns)
            if not stop.back_ns:
                then = "it did not come back in the capture"
            elif moved is not None:
                then = (
                    f"{duration(away_ns)} later a broker of another cluster answered at its address:"
                    f" {quoted(moved[1:])} instead of {quoted(moved[:1])}"
                )
            else:
                then = f"it was away for {duration(away_ns)}"
            ended = "all " * (not refused) + plural(len(went), "connection")
            took_ns = went[-1][0].time_ns - stop.from_ns
            refuses = f" and refused new ones {times(len(refused))}" if refused else ""
            others = f" (and {joined(brokers[1:])}, which stopped with it)" if brokers[1:] else ""
            yield self.found(
                f"Broker {broker}{others} ended {ended} within {duration(took_ns)}"
                f"{refuses}: it stopped, and {then}.{_announced(seen, stop)}",
                clients_text(clients),
                parties_of(clients) | {Party("broker", one) for one in brokers},
                at,
                Cost(time_ns=away_ns * len({key.client_id for key in keys}), errors=len(refused)),
                "connections {files} --problems",
                "" if refused else "no client tried to connect while it was away",
            )


def _first_named(seen: Evidence, stop: Stop) -> Absence:
    """Return the absence of the listener that brokers name to clients, or else the first one."""
    nodes_at = seen.gathering.racks.nodes_at
    return next((one for one in stop.listeners if nodes_at(*one.place)), stop.listeners[0])


def _announced(seen: Evidence, stop: Stop) -> str:
    """Return whether the broker had asked its controller to shut down when its first connection ended."""
    for scope, node in (of for one in stop.listeners for of in seen.gathering.racks.nodes_at(*one.place)):
        packets = seen.gathering.log.shutdowns.peek((scope, node))
        if packets is not None and abs(stop.from_ns - packets.time_ns) <= _ANNOUNCED_NS:
            return (
                f" Node {node} had asked its controller to shut down ({packets.what}, exchange"
                f" {packets.connection}/{packets.exchange}): a controlled shutdown, no crash."
            )
    return ""
