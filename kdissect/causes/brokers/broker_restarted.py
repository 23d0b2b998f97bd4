"""`broker-restarted`: a broker went, and all its clients with it."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.brokers.effects_of_absence import EFFECTS, PARTIES
from kdissect.causes.cause import SECOND_NS, Cause, clients_text, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.links import Ended, Link, LinkKey
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import MOVING_ERRORS, Claim, SymptomKind, errors
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import duration
from kdissect.session.identities import SEPARATOR
from kdissect.session.problem import Reason
from kdissect.stats.client import Client
from kdissect.stats.times.stalls import AWAY

_TOGETHER_NS = 8 * SECOND_NS  # a broker that shuts down ends its connections within seconds
_LEAST = 2  # connections
# Of a broker that nobody found away: connections, how far apart they end, and how long nobody came back.
_LEAST_UNSEEN = 3
_MOMENT_NS = SECOND_NS // 10
_AWAY_NS = 3 * SECOND_NS
# A broker moves its leaders, asks, and ends its connections once it may (controlled.shutdown in KIP-631).
_ANNOUNCED_NS = 60 * SECOND_NS
_WHILE_AWAY = frozenset(map(str, (*AWAY, Reason.CLOSED_AT_ONCE, Reason.PROBE)))


class BrokerRestarted(Cause):
    """Connections that a broker ended all at once, and attempts that were refused then."""

    id = "broker-restarted"
    title = "A broker stopped or was restarted"
    severity = Severity.DELAYS
    help = (
        "See the broker's log and its supervisor: a deployment, a crash, out of memory, a lost disk."
        " Controlled shutdown moves"
        " leaders away before it goes; clients then notice little."
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
        "connection-refused",
        "broker-closes",
        "advertised-address",
        "rolling-restart",
        "capture-too-poor",
    )
    explains_by = PARTIES

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Each broker."""
        places = {(key.capture_set, key.broker) for key, _ in seen.gathering.links.items()}
        for capture_set, broker in sorted(places):
            links = seen.gathering.links.of_broker(capture_set, broker)
            went = _together(links)
            if not went:
                continue
            refused = [
                one
                for one in seen.problems(*AWAY)
                if one.connection.broker_text == broker
                and one.connection.start_ns >= went[0].time_ns - SECOND_NS
            ]
            back_ns = min(
                (
                    start
                    for _, link in links
                    for start, _ in link.starts
                    if start > went[-1].time_ns + SECOND_NS
                ),
                default=0,
            )
            all_at_once = _all_at_once(links, went, back_ns)
            if not refused and not all_at_once:
                continue
            at = Seen()
            for one in went:
                at.add(Packets(one.connection, -1, f"closed by {broker} ({one.how})", one.time_ns))
            at.last_ns = back_ns or max([at.last_ns, *(one.connection.start_ns for one in refused)])
            clients = [Client(None, key.client_id, None, key.host) for key, _ in links]
            away_ns = at.last_ns - at.first_ns
            then = (
                f"it was away for {duration(away_ns)}" if back_ns else "it did not come back in the capture"
            )
            ended = "all " * (not refused) + plural(len(went), "connection")
            refuses = f" and refused new ones {times(len(refused))}" if refused else ""
            yield self.found(
                f"Broker {broker} ended {ended} within {duration(went[-1].time_ns - went[0].time_ns)}"
                f"{refuses}: it stopped, and {then}.{_announced(seen, capture_set, broker, went[0].time_ns)}",
                clients_text(clients),
                parties_of(clients) | {Party("broker", broker)},
                at,
                Cost(time_ns=away_ns * len({key.client_id for key, _ in links}), errors=len(refused)),
                "connections {files} --problems",
                "" if refused else "nobody tried to connect while it was away",
            )


def _announced(seen: Evidence, capture_set: str, broker: str, time_ns: int) -> str:
    """Whether the broker had asked its controller to shut down when its first connection ended."""
    for scope, node in seen.gathering.racks.nodes_at(broker):
        packets = seen.gathering.log.shutdowns.peek((scope, node))
        if packets is None or scope.partition(SEPARATOR)[0] != capture_set:
            continue
        if abs(time_ns - packets.time_ns) <= _ANNOUNCED_NS:
            return (
                f" Node {node} had asked its controller to shut down ({packets.what}, exchange"
                f" {packets.connection}/{packets.exchange}): a controlled shutdown, no crash."
            )
    return ""


def _all_at_once(links: list[tuple[LinkKey, Link]], went: list[Ended], back_ns: int) -> bool:
    """Whether a broker that nobody found away ended all its connections at one moment, for a while.

    Connections that are idle, or whose session is over, end one by one, and clients come back at once.
    """
    first_ns, last_ns = went[0].time_ns, went[-1].time_ns
    return (
        len(went) >= _LEAST_UNSEEN
        and last_ns - first_ns <= _MOMENT_NS
        and back_ns - last_ns >= _AWAY_NS
        and not any(link.open_at(last_ns) for _, link in links)
    )


def _together(links: list[tuple[LinkKey, Link]]) -> list[Ended]:
    """The largest number of connections that the broker ended within a moment."""
    ended = sorted(one for _, link in links for one in link.ended)
    first = best_first = best_last = 0
    for last, one in enumerate(ended, start=1):
        while one.time_ns - ended[first].time_ns > _TOGETHER_NS:
            first += 1
        if last - first > best_last - best_first:
            best_first, best_last = first, last
    best = ended[best_first:best_last]
    return best if len(best) >= _LEAST else []
