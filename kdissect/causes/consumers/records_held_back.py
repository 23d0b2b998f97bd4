"""`records-held-back`: a consumer asks for so many bytes at once that its records come late."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.report.quantities import byte_count, duration, grouped

_LEAST_MS = 1_000  # that records may wait: a shorter wait is a usual way to have larger responses
_TIMES = 3
_HALF = 0.5  # of the Fetches that receive records
_MS = 1_000_000


class RecordsHeldBack(Cause):
    """Fetches that receive records only at the end of their max wait, because fewer bytes came than they ask
    for.
    """

    id = "records-held-back"
    title = "A consumer has its records held back"
    severity = Severity.DELAYS
    help = (
        "Lower fetch.min.bytes of the consumer (1: the broker sends records as they come), or"
        " fetch.max.wait.ms, which is the longest time that a record then waits at the broker."
    )
    cites = (
        "org.apache.kafka.clients.consumer.ConsumerConfig#FETCH_MIN_BYTES_CONFIG",
        "org.apache.kafka.clients.consumer.ConsumerConfig#FETCH_MAX_WAIT_MS_CONFIG",
    )

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client, by broker."""
        for (client, broker), held in seen.gathering.log.held_back.items():
            times = held.seen.times
            if times < _TIMES or times < _HALF * held.fetches or held.max_wait_ms < _LEAST_MS:
                continue
            wait = duration(held.max_wait_ms * _MS)
            yield self.found(
                f"{client_text(client)} asks {broker} for at least {byte_count(held.min_bytes)} at once, and"
                f" for a wait of {wait} (fetch.min.bytes, fetch.max.wait.ms): {grouped(times)} of its"
                f" {grouped(held.fetches)} Fetches with records were answered only when the wait was over,"
                f" with {byte_count(held.most_bytes)} at most. Its records come up to {wait} late.",
                client_text(client),
                parties_of([client]) | {Party("broker", broker)},
                held.seen,
                Cost(time_ns=held.seen.time_ns),
                "inspect {files} --bodies -Y 'api == Fetch and latency > 1s'",
                "a program may want few and large responses",
            )
