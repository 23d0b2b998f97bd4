"""`slow-network`: the way between client and broker is long, and each request pays for it."""

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

_TRIP_NS = 20_000_000  # within a region a round trip takes less than 5 ms, between continents more than 60
_EXCHANGES = 20


class SlowNetwork(Cause):
    """Long round trips on connections that work."""

    id = "slow-network"
    title = "The network between client and broker is slow"
    help = (
        "Have clients near their brokers, or send more with each request (linger.ms, batch.size,"
        " fetch.min.bytes), so"
        " that fewer of them wait for the way."
    )
    cites = ("RFC 6298 section 3", "org.apache.kafka.clients.producer.ProducerConfig#LINGER_MS_CONFIG")
    claims = (Claim(SymptomKind.LATE),)

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client and broker."""
        for key, link in seen.gathering.links.items():
            trip_ns = link.trip_ns
            if trip_ns is None or trip_ns < _TRIP_NS or link.exchanges < _EXCHANGES:
                continue
            at = Seen()
            for (start_ns, connection), _ in zip(
                link.starts or [(seen.first_ns, link.first_id)], range(3), strict=False
            ):
                at.add(Packets(connection, -1, f"{key.host} > {key.broker}", start_ns))
            at.times, at.last_ns = link.exchanges, max(at.last_ns, link.last_ns)
            client = Client(None, key.client_id, None, key.host)
            yield self.found(
                f"A round trip between {client_text(client)} and broker {key.broker} takes"
                f" {duration(trip_ns)}; each of"
                f" {plural(link.exchanges, 'request', spec=',')} waited that long for the way alone.",
                client_text(client),
                parties_of([client]) | {Party("broker", key.broker)},
                at,
                Cost(time_ns=trip_ns * link.exchanges),
                "stats {files} --by client_id,broker --split",
            )
