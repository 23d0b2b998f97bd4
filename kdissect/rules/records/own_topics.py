"""Rules: records of Kafka's own topics."""

from collections.abc import Iterator

from kdissect.decoders.payloads.payload import Payload
from kdissect.decoders.records.control import control_key
from kdissect.model.errors import FaultKind
from kdissect.model.finding import Claim, Level
from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import RecordRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views.batch_view import Batch
from kdissect.schema import protocol_messages

_CONTROL_TYPES = range(7)  # org.apache.kafka.common.record.internal.ControlRecordType


class MalformedOwnRecord(RecordRule):
    """Records of Kafka's own topics must have the format of their type and version.

    Key and value of `__consumer_offsets`, `__transaction_state`, `__share_group_state`, the values of
    `__cluster_metadata`, which stand in a frame of version 1 (0 in Kafka 2.8), and control records. Nothing
    may be left over.

    Example: a TopicRecord with 3 bytes after it.

    What to do: write the fields of the version that the record says.
    """

    code = "REC041"
    name = "own-record"
    cites = (
        "org.apache.kafka.server.common.serialization.AbstractApiMessageSerde#read",
        "org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde#deserialize",
        "org.apache.kafka.common.record.internal.ControlRecordType#parse",
    )
    guard = BatchFact.OWN_TOPIC | BatchFact.CONTROL

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield keys and values that do not fit."""
        for index, payloads in enumerate(batch.payloads):
            for part, payload in (("key", payloads.key), ("value", payloads.value)):
                error = None if payload is None else payload.error
                if payload is not None and error is not None and error.kind is not FaultKind.UNKNOWN:
                    seen = f"{error.why} at byte {error.offset} of the {part}"
                    yield batch.inside(f"records[{index}].{part}", payload.name, seen)


class UnknownOwnRecord(RecordRule):
    """A record in an internal topic has a type or version that the schema does not know.

    Newer brokers write newer types, which readers skip. Or a vendor has its own.

    Example: type 99 in `__consumer_offsets`.

    What to do: update kdissect if the traffic is newer than its schema.
    """

    code = "REC042"
    name = "own-record-type"
    level = Level.INFO
    claim = Claim.DIFFERS
    cites = (
        "org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde#deserialize",
        "org.apache.kafka.server.common.serialization.AbstractApiMessageSerde#read",
        "org.apache.kafka.common.record.internal.ControlRecordType#parse",
    )
    once = Once.VALUE
    guard = BatchFact.OWN_TOPIC | BatchFact.CONTROL

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Types and versions beyond the schema, once for each."""
        for index, payloads in enumerate(batch.payloads):
            for part, payload in (("key", payloads.key), ("value", payloads.value)):
                seen = "" if payload is None else _unknown(payload)
                if seen:
                    yield batch.inside(f"records[{index}].{part}", "a type and version of this schema", seen)
        if batch.batch.is_control:
            for index, record in enumerate(batch.content):
                key = control_key(record.key)
                if key is not None and key.type not in _CONTROL_TYPES:
                    yield batch.inside(f"records[{index}].key", "a type of this schema", f"type {key.type}")


def _unknown(payload: Payload) -> str:
    """Return the part of a payload that the schema does not know, or an empty text."""
    if payload.error is not None:
        return f"{payload.name}: {payload.error.why}" if payload.error.kind is FaultKind.UNKNOWN else ""
    known = protocol_messages.payload(payload.name).versions.last
    version = payload.version
    if version is None or version <= known or payload.name.endswith("Key"):
        return ""
    return f"{payload.name} version {version}"
