"""`recompressed`: a broker stores batches with another codec than their producer chose."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.model.wording import plural

_NONE = "none"


class Recompressed(Cause):
    """Batches that come to consumers with another codec than they left their producer."""

    id = "recompressed"
    title = "A broker compresses batches again"
    severity = Severity.WASTES
    help = (
        "Set compression.type of the topic to producer, or that of the producer to the topic's codec. Until"
        " then the broker decompresses each batch and compresses it again, which costs its processor time."
    )
    cites = (
        "org.apache.kafka.common.config.TopicConfig#COMPRESSION_TYPE_CONFIG",
        "org.apache.kafka.clients.producer.ProducerConfig#COMPRESSION_TYPE_CONFIG",
    )

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client, topic and pair of codecs."""
        for key, found in seen.gathering.recompressions.found.items():
            count = found.seen.times
            them, which = ("them", "The first has") if count > 1 else ("it", "It has")
            cluster = seen.gathering.log.cluster(key.scope)
            parties = {Party("topic", key.topic), Party("broker", found.broker)}
            yield self.found(
                f"{client_text(key.client)} sent {plural(count, 'batch', 'batches')} {_with(key.sent)} to"
                f" topic '{key.topic}', and consumers received {them} {_with(key.stored)}."
                f" {which} {found.first}.",
                f"broker {found.broker}",
                parties_of([key.client]) | parties | ({Party("cluster", cluster)} if cluster else set()),
                found.seen,
                Cost(bytes=found.bytes),
                f"topics {{files}} --topic '{key.topic}'",
                evidence=[*found.seen.evidence[:1], found.read],
            )


def _with(codec: str) -> str:
    return "without compression" if codec == _NONE else f"with {codec}"
