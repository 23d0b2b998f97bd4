"""Which batches end a transaction."""

from kdissect.decoders.records.control import control_key
from kdissect.rules.views.batch_view import Batch

ABORT, COMMIT = 0, 1  # org.apache.kafka.common.record.internal.ControlRecordType


def marker_of(batch: Batch) -> int | None:
    """The type of the first record of a control batch that a broker gives, if it commits or aborts."""
    if not batch.batch.is_control or not batch.content:
        return None
    key = control_key(batch.content[0].key)
    return key.type if key is not None and key.type in (ABORT, COMMIT) else None
