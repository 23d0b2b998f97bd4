"""`duplicate-writes`: a producer gave up waiting and wrote the same again, and the broker could not know."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text, quoted, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.resends import Resend
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.stats.client import Client


class DuplicateWrites(Cause):
    """Records that were sent twice, not as one batch that the broker would know again."""

    id = "duplicate-writes"
    title = "Records were written twice"
    severity = Severity.DATA
    help = (
        "Turn on enable.idempotence, so that the broker knows a batch again; raise request.timeout.ms and"
        " delivery.timeout.ms above what the broker takes at its slowest."
    )
    cites = (
        "KIP-98 Motivation",
        "org.apache.kafka.clients.producer.ProducerConfig#ENABLE_IDEMPOTENCE_CONFIG",
        "org.apache.kafka.clients.producer.ProducerConfig#DELIVERY_TIMEOUT_MS_CONFIG",
    )

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Each client."""
        found: dict[Client, list[Resend]] = {}
        for one in seen.gathering.resends.found:
            found.setdefault(one.client, []).append(one)
        for client, resends in found.items():
            at = Seen()
            for one in resends:
                at.add(one.again)
            at.evidence = [resends[0].first, *at.evidence[:2]]
            at.first_ns = min(at.first_ns, resends[0].first.time_ns)
            topics = list(dict.fromkeys(one.topic for one in resends))
            records = sum(one.records for one in resends)
            why = "under another producer id or sequence" if resends[0].has_id else "without idempotence"
            yield self.found(
                f"{client_text(client)} sent the same records to {quoted(topics)} {times(len(resends))}"
                f" again {why}, because"
                " the first attempt was not answered in time: they stand there twice if that was written.",
                f"readers of {quoted(topics)}",
                parties_of([client]) | {Party("topic", name) for name in topics},
                at,
                Cost(retries=len(resends), records=records),
                "offsets {files} --table written_twice",
                "the answer to the first attempt was not captured, or never came",
            )
