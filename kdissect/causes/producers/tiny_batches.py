"""`tiny-batches`: a busy producer sends nearly every record by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kdissect.causes.cause import SECOND_NS, Cause, client_text
from kdissect.causes.evidence.evidence import Evidence, Row, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import byte_count, rate
from kdissect.stats.client import Client
from kdissect.stats.traffic import Tally

_REQUESTS = 200
_RATE = 60  # requests a second: a lower rate leaves no gain
_RECORDS = 2.0  # in a batch, on the mean
_BYTES = 2_000  # of a batch: large records need no company
_OVERHEAD = 120  # bytes of a request and its response without the records, about


class TinyBatches(Cause):
    """Many Produces a second with hardly more than one small record each."""

    id = "tiny-batches"
    title = "A producer sends records one by one"
    severity = Severity.WASTES
    help = (
        "Raise linger.ms (5 to 100 ms) and batch.size, and do not flush or wait behind each record: fewer"
        " requests, and"
        " compression that pays."
    )
    cites = (
        "org.apache.kafka.clients.producer.ProducerConfig#LINGER_MS_CONFIG",
        "org.apache.kafka.clients.producer.ProducerConfig#BATCH_SIZE_CONFIG",
    )

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each producer."""
        written: dict[Client, list[tuple[str, Row]]] = {}
        for topic in seen.topics:
            for row in topic["writers"]:
                client = Client(row["principal"], row["client_id"], row["software"], row["address"])
                written.setdefault(client, []).append((topic["topic"] or topic["topic_id"] or "", row))
        produced: dict[tuple[Any, ...], list[tuple[Any, Tally]]] = {}
        for key, tally in seen.tallies:
            produced.setdefault(key[:3], []).append((key, tally))
        for client, rows in written.items():
            if any(row["batches"] is None for _, row in rows):
                continue  # of a request log
            batches, records, size = (
                sum(row[name] for _, row in rows) for name in ("batches", "records", "bytes")
            )
            tallies = produced.get(("Produce", client.client_id or "", client.address), [])
            requests = sum(tally.exchanges for _, tally in tallies)
            span_ns = _span_ns([tally for _, tally in tallies])
            if requests < _REQUESTS or requests * SECOND_NS < _RATE * span_ns or not batches:
                continue
            if records > _RECORDS * batches or size > _BYTES * batches:
                continue
            at = Seen()
            start_ns = min(tally.first_ns or 0 for _, tally in tallies)
            at.add(
                Packets(
                    seen.connection_of(client.client_id, client.address, tallies[0][0][3]),
                    -1,
                    "Produce",
                    start_ns,
                )
            )
            at.times, at.last_ns = requests, start_ns + span_ns
            yield self.found(
                f"{client_text(client)} sends {rate(requests, span_ns)} with batches of"
                f" {byte_count(size / batches)}: {plural(requests, 'request', spec=',')} for"
                f" {plural(records, 'record', spec=',')}.",
                client_text(client),
                parties_of([client]) | {Party("topic", name) for name, _ in rows},
                at,
                Cost(bytes=requests * _OVERHEAD),
                "topics {files} --savings",
            )


def _span_ns(tallies: list[Tally]) -> int:
    first = min((tally.first_ns for tally in tallies if tally.first_ns is not None), default=0)
    last = max((tally.last_ns for tally in tallies if tally.last_ns is not None), default=0)
    return last - first
