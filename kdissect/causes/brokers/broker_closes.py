"""`broker-closes`: a broker ends connections on which clients still wait."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, clients_text, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import BROKER, Claim, SymptomKind
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.model.packets.stream import CloseKind
from kdissect.session.problem import Reason
from kdissect.stats.client import Client, host_of

_LEAST = 3


class BrokerCloses(Cause):
    """Connections that were closed at once, or while requests waited."""

    id = "broker-closes"
    title = "A broker closes connections"
    severity = Severity.STOPS
    help = (
        "See the broker's log at that time: too many connections (max.connections,"
        " max.connections.per.ip), a request that it"
        " cannot read, a login that did not come, a proxy between, or connections.max.idle.ms shorter than"
        " a client is silent."
    )
    cites = (
        "org.apache.kafka.network.SocketServerConfigs#MAX_CONNECTIONS_CONFIG",
        "org.apache.kafka.network.SocketServerConfigs#CONNECTIONS_MAX_IDLE_MS_CONFIG",
    )
    claims = (
        Claim(SymptomKind.UNANSWERED, details={BROKER}),
        Claim(SymptomKind.CONNECTION, details={str(Reason.CLOSED_AT_ONCE)}),
    )
    explains = ("connection-churn", "unanswered-requests")
    explains_by = frozenset({"client", "broker"})

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each broker, and separately its clients with trouble that another cause explains, with that
        cause.
        """
        found: dict[tuple[str, frozenset[Party]], tuple[Seen, dict[Client, None], set[bool]]] = {}

        def put(broker: str, client: Client, packets: Packets, *, is_reset: bool = False) -> None:
            why = next(seen.ledger.claims_on(client, broker), None)
            key = broker, frozenset() if why is None else why.parties
            at, clients, resets = found.setdefault(key, (Seen(), {}, set()))
            at.add(packets)
            resets.add(is_reset)
            clients[client] = None

        # `broker-restarted` has the connections that a broker ended when it stopped.
        known = {one.connection for absence in seen.absences for one in absence.ended}
        for one in seen.problems(Reason.CLOSED_AT_ONCE):
            info = one.connection
            if info.id in known:
                continue
            client = Client(None, info.client_id, None, host_of(info))
            packets = Packets(info.id, -1, one.problem.fact, info.start_ns)
            put(info.broker_text, client, packets)
            known.add(info.id)
        for key, link in seen.gathering.links.items():
            for ended in link.ended if link.exchanges else ():  # what cannot be read may end itself
                is_back = any(start > ended.time_ns for start, _ in link.starts)
                if ended.connection in known or not (ended.unanswered or is_back):
                    continue
                what = "with requests in progress" if ended.unanswered else "while the client had use for it"
                packets = Packets(ended.connection, -1, f"closed ({ended.how}) {what}", ended.time_ns)
                is_reset = ended.how == CloseKind.RST and bool(ended.unanswered)
                put(key.broker, Client(None, key.client_id, None, key.host), packets, is_reset=is_reset)
        for (broker, _), (at, clients, resets) in found.items():
            if at.times < _LEAST:
                continue
            is_reset, who = resets == {True}, clients_text(clients)
            to = [link for key, link in seen.gathering.links.items() if key.broker == broker]
            is_mute = any(link.bytes for link in to) and not any(link.broker_bytes for link in to)
            silent = " It sent no byte to anybody: it may be no broker." if is_mute else ""
            yield self.found(
                f"Connections to {broker} were reset {times(at.times)} while {who} waited for a response: by"
                " the broker, or by a load balancer, NAT or firewall between that had forgotten them."
                f"{silent}"
                if is_reset
                else f"Broker {broker} closed connections {times(at.times)} that {who} still used: they had"
                f" to connect again.{silent}",
                who,
                parties_of(list(clients)) | {Party("broker", broker)},
                at,
                Cost(errors=at.times),
                "connections {files} --problems",
                "who resets them, the packets do not show" if is_reset else "why it does, only its log says",
            )
