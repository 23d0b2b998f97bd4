"""Rules: attributes that producers must not set, or not alone."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Severity, Who
from kdissect.model.record_batch import NO_PRODUCER_ID
from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.batch_view import Batch


class ProducedAppendTime(BatchRule):
    """A producer must not set the timestamp type to log append time.

    Only brokers do, when they append. Topics that use append time themselves answer INVALID_TIMESTAMP,
    others clear the bit.

    Example: attributes 0x0008 in a Produce.

    What to do: leave bit 3 clear.
    """

    code = "REC023"
    name = "produced-append-time"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "org.apache.kafka.storage.internals.log.LogValidator#validateTimestamp",
        "spec/001 5.3.3 Old Message Format",
        "spec/001 5.3.1 Record Batch",
    )
    produced = True
    magics = (1, 2)
    guard = BatchFact.APPEND_TIME

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the bit 3 of produced batches."""
        if batch.batch.is_log_append_time:
            yield batch.violation(
                "attributes", "create time", f"{batch.batch.attributes & 0xFFFF:#06x}, log append time"
            )


class ProducedControlBatch(BatchRule):
    """Clients must not produce control batches.

    Markers of transactions are the coordinators' work, by WriteTxnMarkers. Brokers answer INVALID_RECORD.

    Example: attributes 0x0020 in a Produce.

    What to do: end transactions with EndTxn.
    """

    code = "REC024"
    name = "produced-control-batch"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "org.apache.kafka.storage.internals.log.LogValidator#validateBatch",
        "spec/001 5.3.1.1 Control Batches",
    )
    overrides = ("REC041", "REC042")  # what is no marker has no key of one
    produced = True
    magics = (2,)
    guard = BatchFact.CONTROL

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the bit 5 of produced batches."""
        if batch.batch.is_control:
            yield batch.violation("attributes", "no control batch", f"{batch.batch.attributes & 0xFFFF:#06x}")


class ProducedDeleteHorizon(BatchRule):
    """A producer must not set the bit of the delete horizon.

    Compaction sets it when it decides how long tombstones stay, and the base timestamp then says until
    when. Brokers would take the time of the first record for that.

    Example: attributes 0x0040 in a Produce.

    What to do: leave bit 6 clear.
    """

    code = "REC025"
    name = "produced-delete-horizon"
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-534 Proposed Changes", "spec/001 5.3.1 Record Batch")
    produced = True
    magics = (2,)
    guard = BatchFact.DELETE_HORIZON

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the bit 6 of produced batches."""
        if batch.batch.delete_horizon_ms is not None:
            yield batch.violation(
                "attributes", "no delete horizon", f"{batch.batch.attributes & 0xFFFF:#06x}"
            )


class TransactionalWithoutProducer(BatchRule):
    """A transactional batch must have a producer id, and its request a transactional id.

    Without them the producer cannot end the transaction. Brokers answer
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED to a request without a transactional id.

    Example: attributes 0x0010 with producer id -1.

    What to do: call InitProducerId with a transactional id first.
    """

    code = "REC026"
    name = "transactional-producer"
    who = Who.CLIENT
    cites = ("KIP-98 Proposed Changes", "kafka.server.KafkaApis#handleProduceRequest")
    produced = True
    magics = (2,)
    guard = BatchFact.TRANSACTIONAL

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the transactional batches in a Produce."""
        if not batch.batch.is_transactional:
            return
        if batch.batch.producer_id == NO_PRODUCER_ID:
            yield batch.violation("producer_id", "a producer id", "-1")
        elif getattr(batch.body.value, "transactional_id", None) is None:
            yield batch.violation("attributes", "a transactional_id in the request", "null")
