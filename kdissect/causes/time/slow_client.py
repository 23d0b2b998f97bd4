"""`slow-client`: a client does not read what brokers send it, and closes its window."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import Claim, SymptomKind
from kdissect.model.cause import Cost, FoundCause, Packets, Party
from kdissect.stats.client import Client

_LEAST = 2
_BYTES = 1_000_000  # for each: one that reads much, and in time, has no room for a moment


class SlowClient(Cause):
    """Connections on which the client had no room left."""

    id = "slow-client"
    title = "A client does not read what it is sent"
    help = (
        "The process does not take bytes off its socket: it is suspended, collects garbage, or has too"
        " little processor."
        " See what it does at that time. A thread of its own for Kafka's client helps."
    )
    cites = ("RFC 9293 section 3.8.6",)
    claims = (Claim(SymptomKind.LATE),)
    explains = ("stuck-consumer", "lag-slow-consumer", "slow-broker")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client and broker."""
        for key, link in seen.gathering.links.items():
            if link.zero_windows < max(_LEAST, link.bytes // _BYTES):
                continue
            at = Seen()
            for (start_ns, connection), _ in zip(
                link.starts or [(seen.first_ns, link.first_id)], range(3), strict=False
            ):
                at.add(Packets(connection, -1, f"{key.host} > {key.broker}", start_ns))
            at.times, at.last_ns = link.zero_windows, max(at.last_ns, link.last_ns)
            client = Client(None, key.client_id, None, key.host)
            yield self.found(
                f"{client_text(client)} closed its TCP window {times(link.zero_windows)} on connections to"
                f" {key.broker}: it did"
                " not read what it had asked for, and the broker had to wait.",
                client_text(client),
                parties_of([client]) | {Party("broker", key.broker)},
                at,
                Cost(retries=link.zero_windows),
                "connections {files} -e client,broker,zero_windows",
                "a burst that is larger than its buffer looks the same for a moment",
            )
