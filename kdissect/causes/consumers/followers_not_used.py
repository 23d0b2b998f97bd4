"""`followers-not-used`: consumers name their rack, and still read from leaders in other racks."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import byte_count

_FETCHES = 5


class FollowersNotUsed(Cause):
    """Fetches from another rack, though a broker is in the consumer's own."""

    id = "followers-not-used"
    title = "Consumers read from another rack"
    severity = Severity.WASTES
    help = (
        "Set replica.selector.class of the brokers to RackAwareReplicaSelector, and broker.rack of each,"
        " so that consumers"
        " are sent to a replica near them. Traffic between zones costs money."
    )
    cites = ("KIP-392 Motivation", "org.apache.kafka.clients.consumer.ConsumerConfig#CLIENT_RACK_CONFIG")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client and broker."""
        racks = {row["broker"]: row["rack"] for row in seen.gathering.racks.facts([], [])["brokers"]}
        log = seen.gathering.log
        sent_on = {client for client, _ in dict(log.preferred.items())}
        for (client, broker), fetched in log.racks.items():
            at, own = fetched.seen, fetched.rack
            there = racks.get(broker)
            if at.times < _FETCHES or client in sent_on or there in (None, own) or own not in racks.values():
                continue
            yield self.found(
                f"{client_text(client)} is in rack '{own}' and read {byte_count(fetched.bytes)} in"
                f" {plural(at.times, 'Fetch', 'Fetches', spec=',')} from broker {broker} in rack"
                f" '{there}'; no broker named a"
                " replica nearer to it.",
                client_text(client),
                parties_of([client]) | {Party("broker", broker)},
                at,
                Cost(bytes=fetched.bytes),
                "stats {files} --by client_rack,broker_rack -Y 'api == Fetch'",
                "whether a replica is in its rack is not visible",
            )
