"""`spinning-consumer`: a consumer asks for records again and again at once, for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import SECOND_NS, Cause, client_text
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import rate
from kdissect.stats.client import Client

_LEAST = 100
_RATE = 15  # Fetches a second of one client at one broker, nearly all for nothing
_SHARE = 0.7


class SpinningConsumer(Cause):
    """Fetches that bring nothing, many a second."""

    id = "spinning-consumer"
    title = "A consumer polls for nothing"
    severity = Severity.WASTES
    help = (
        "Let the broker wait for records: fetch.max.wait.ms of some hundred milliseconds with"
        " fetch.min.bytes of 1 or"
        " more. A broker that does not hold such a Fetch has a fault."
    )
    cites = (
        "KIP-74 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#FETCH_MAX_WAIT_MS_CONFIG",
    )

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client and broker."""
        for row in seen.fetchers:
            empty = max(row["empty_early"], row["empty"])
            if row["follower"] or row["requests"] < _LEAST:
                continue
            client = Client(row["principal"], row["client_id"], row["software"], row["address"])
            tally = next(
                (
                    one
                    for key, one in seen.tallies
                    if key == ("Fetch", client.client_id or "", client.address, row["broker"])
                ),
                None,
            )
            if tally is None or tally.first_ns is None or tally.last_ns is None:
                continue
            span_ns = tally.last_ns - tally.first_ns
            if empty < _SHARE * row["requests"] or empty * SECOND_NS < _RATE * span_ns:
                continue
            at = Seen()
            connection = seen.connection_of(client.client_id, client.address, row["broker"])
            at.add(Packets(connection, -1, "Fetch", tally.first_ns))
            at.times, at.last_ns = empty, tally.last_ns
            yield self.found(
                f"{client_text(client)} asked broker {row['broker']} {rate(row['requests'], span_ns)} for"
                " records:"
                f" {plural(empty, 'answer', spec=',')} of {row['requests']:,} brought nothing.",
                client_text(client),
                parties_of([client]) | {Party("broker", row["broker"])},
                at,
                Cost(bytes=tally.bytes or 0),
                "fetch-sessions {files} --sort empty_early",
            )
