"""`lossy-network`: packets are lost on the network path, and packets after them wait."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import Claim, SymptomKind
from kdissect.model.cause import Cost, FoundCause, Packets, Party
from kdissect.model.wording import plural
from kdissect.report.quantities import duration
from kdissect.stats.client import Client

_LEAST = 10  # retransmissions
_SHARE = 0.005  # of packets
_DELAYED_NS = 500_000_000


class LossyNetwork(Cause):
    """Retransmissions, and what they held up."""

    id = "lossy-network"
    title = "The network loses packets"
    help = (
        "Look at the path between these hosts: errors and drops of interfaces (ip -s link), an overloaded"
        " link, a wrong"
        " MTU, a limit of the cloud's network."
    )
    cites = ("RFC 6298 section 3",)
    claims = (Claim(SymptomKind.LATE), Claim(SymptomKind.UNANSWERED))
    explains = ("slow-broker", "unanswered-requests", "session-timeout-too-short")
    explains_by = frozenset({"client", "broker"})
    precedes = ("slow-network",)  # a long way is a property of the path, lost packets are a fault

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client and broker."""
        for key, link in seen.gathering.links.items():
            again = link.retransmissions
            if again < _LEAST or again < _SHARE * link.packets or link.delayed_ns < _DELAYED_NS:
                continue
            at = Seen()
            for (start_ns, connection), _ in zip(
                link.starts or [(seen.first_ns, link.first_id)], range(3), strict=False
            ):
                at.add(Packets(connection, -1, f"{key.host} > {key.broker}", start_ns))
            at.times, at.last_ns = again, max(at.last_ns, link.last_ns)
            client = Client(None, key.client_id, None, key.host)
            yield self.found(
                f"Between {client_text(client)} and broker {key.broker} {plural(again, 'packet')} of"
                f" {link.packets} had to be"
                f" sent again. The packets after them waited {duration(link.delayed_ns)} in all.",
                client_text(client),
                parties_of([client]) | {Party("broker", key.broker)},
                at,
                Cost(time_ns=link.delayed_ns, retries=again),
                "connections {files} -e client,broker,retransmissions",
                "captured at one place only: which way lost them does not show",
            )
