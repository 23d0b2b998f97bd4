"""`metadata-storm`: a client asks for metadata all the time."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import SECOND_NS, Cause, client_text
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import byte_count, rate
from kdissect.stats.client import Client

_LEAST = 50
_RATE = 5  # a second
_API = "Metadata"


class MetadataStorm(Cause):
    """Metadata requests of one client, many a second. Errors in responses are causes of their own."""

    id = "metadata-storm"
    title = "A client asks for metadata all the time"
    severity = Severity.WASTES
    help = (
        "See what has it ask: metadata.max.age.ms set too low, a topic that is not there, a client created"
        " for each"
        " piece of work. Answers that name all topics of a large cluster are megabytes."
    )
    cites = ("org.apache.kafka.clients.producer.ProducerConfig#METADATA_MAX_AGE_CONFIG",)

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client, at all brokers."""
        found: dict[tuple[str, str], list[int]] = {}
        brokers: dict[tuple[str, str], list[str]] = {}
        unsized = 0
        for (api, client_id, host, broker), tally in seen.tallies:
            if api == _API and tally.first_ns is not None and tally.last_ns is not None:
                unsized += bool(tally.unsized)
                sums = found.setdefault((client_id, host), [0, 0, tally.first_ns, tally.last_ns])
                sums[0] += tally.exchanges - tally.failed
                sums[1] += tally.bytes or 0
                sums[2], sums[3] = min(sums[2], tally.first_ns), max(sums[3], tally.last_ns)
                brokers.setdefault((client_id, host), []).append(broker)
        for (client_id, host), (count, size, first_ns, last_ns) in found.items():
            if count < _LEAST or count * SECOND_NS < _RATE * (last_ns - first_ns):
                continue
            client = Client(None, client_id or None, None, host)
            at = Seen()
            broker = brokers[client_id, host][0]
            at.add(Packets(seen.connection_of(client.client_id, host, broker), -1, _API, first_ns))
            at.times, at.last_ns = count, last_ns
            sizes = "" if unsized else f": {byte_count(size)} of requests and responses"
            yield self.found(
                f"{client_text(client)} asked for metadata {plural(count, 'time', spec=',')},"
                f" {rate(count, last_ns - first_ns)}, and received it{sizes}.",
                client_text(client),
                parties_of([client]) | {Party("broker", name) for name in brokers[client_id, host]},
                at,
                Cost(bytes=size),
                "stats {files} -Y 'api == Metadata' --by client_id",
            )
