"""REC041: Records of Kafka's own topics must have the format of their type and version."""

from collections.abc import Iterator

from kdissect.model.errors import FaultKind
from kdissect.rules.kinds import RecordRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch


class MalformedOwnRecord(RecordRule):
    """Records of Kafka's own topics must have the format of their type and version.

    Key and value of `__consumer_offsets`, `__transaction_state`, `__share_group_state`, the values of
    `__cluster_metadata`, which stand in a frame of version 1 (0 in Kafka 2.8), and control records. Nothing
    may be left over.

    Example: a TopicRecord with 3 bytes behind it.

    What to do: write the fields of the version that the record says.
    """

    code = "REC041"
    name = "own-record"
    cites = (
        "org.apache.kafka.server.common.serialization.AbstractApiMessageSerde",
        "org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde",
        "org.apache.kafka.common.record.internal.ControlRecordType",
    )

    def check(self, batch: Batch) -> Iterator[Fault]:
        """Keys and values that do not fit."""
        for index, payloads in enumerate(batch.payloads):
            for part, payload in (("key", payloads.key), ("value", payloads.value)):
                error = None if payload is None else payload.error
                if payload is not None and error is not None and error.kind is not FaultKind.UNKNOWN:
                    seen = f"{error.why} at byte {error.offset} of the {part}"
                    yield batch.inside(f"records[{index}].{part}", payload.name, seen)
