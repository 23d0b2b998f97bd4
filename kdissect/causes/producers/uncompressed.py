"""`uncompressed`: large batches go over the network, and onto disks, as they are."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, clients_text
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import byte_count
from kdissect.stats.client import Client

_BYTES = 400_000
_BATCH = 2_000  # bytes: what is smaller hardly compresses
_NONE = "none"


class Uncompressed(Cause):
    """Topics that are written without compression, much and in batches that would compress."""

    id = "uncompressed"
    title = "Batches are not compressed"
    severity = Severity.WASTES
    help = (
        "Set compression.type of the producer to zstd or lz4: text shrinks to a fifth or so. `kdissect"
        " topics --savings`"
        " compresses a sample and says what it would save."
    )
    cites = ("org.apache.kafka.clients.producer.ProducerConfig#COMPRESSION_TYPE_CONFIG", "KIP-110 Motivation")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each topic."""
        for row in seen.topics:
            written = row["written"]
            if (
                set(row["codecs"]) != {_NONE}
                or written["bytes"] < _BYTES
                or written["bytes"] < _BATCH * written["batches"]
            ):
                continue
            name = row["topic"] or row["topic_id"] or ""
            clients = [
                Client(one["principal"], one["client_id"], one["software"], one["address"])
                for one in row["writers"]
            ]
            at = Seen()
            connection = seen.connection_of_client(clients[0]) if clients else ""
            at.add(Packets(connection, -1, f"Produce to {name}", seen.first_ns))
            at.times, at.last_ns = max(written["batches"], 1), seen.last_ns
            yield self.found(
                f"{clients_text(clients)} wrote {byte_count(written['bytes'])} to topic '{name}' in"
                f" {plural(written['batches'], 'batch', 'batches', spec=',')}, all of them uncompressed.",
                clients_text(clients),
                parties_of(clients) | {Party("topic", name)},
                at,
                Cost(bytes=written["bytes"]),
                f"topics {{files}} --topic '{name}' --savings",
                "how well these records compress was not tried",
            )
