"""Rules: offsets of batches that a broker gives."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import BOTH_FRAMES, Violation
from kdissect.rules.views.batch_view import Batch, is_beyond


class OffsetsGoBack(BatchRule):
    """Offsets must rise from batch to batch of a partition.

    Consumers go on after the last offset they read: what comes later with a lower one is read twice or
    never.

    Example: a batch from 10 to 14, then one from 12 on.

    What to do: give batches in the order of the log.
    """

    code = "REC027"
    name = "batch-order"
    who = Who.BROKER
    cites = ("spec/001 5.4 Log", "spec/001 Reads")
    produced = False
    guard = BatchFact.OFFSET_NOT_HIGHER

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield each batch of a Fetch against the one before it."""
        found, before = batch.batch, batch.before
        if before is None or batch.body.api.name == "FetchSnapshot":
            return
        if found.base_offset <= before.last_offset:
            seen = f"{found.base_offset} behind {before.last_offset}"
            yield batch.violation("base_offset", "offsets above the previous batch's", seen)


class EpochsGoBack(BatchRule):
    """Leader epochs must not go back from batch to batch of a partition.

    A leader stamps what it appends with its epoch, and every new leader has a higher one. Clients and
    followers find by it where logs part.

    Example: a batch of epoch 7, then one of epoch 3.

    What to do: look for a log that was written by two leaders.
    """

    code = "REC043"
    name = "batch-epoch-order"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-320 Proposed Changes", "spec/001 5.3.1 Record Batch")
    produced = False
    guard = BatchFact.EPOCH_LOWER

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield each batch of a Fetch against the one before it; -1 is unknown."""
        found, before = batch.batch, batch.before
        if before is None or batch.body.api.name == "FetchSnapshot":
            return
        if 0 <= found.leader_epoch < before.leader_epoch:
            seen = f"{found.leader_epoch} behind {before.leader_epoch}"
            yield batch.violation("leader_epoch", "the epoch of the batch before, or a higher one", seen)


class BeforeFetchOffset(BatchRule):
    """The first batch of a Fetch must reach the offset that the request names.

    It may begin before it, because brokers return whole batches. The request does not ask for a batch that
    ends before it. A client that does not look drops nothing and reads old records again.

    Example: offset 100 asked for, a batch from 90 to 99 given.

    What to do: begin with the batch that holds the offset.
    """

    code = "REC028"
    name = "fetch-offset"
    severity = Severity.WARNING
    who = Who.BROKER
    cites = (
        "KIP-74 Proposed Changes",
        "org.apache.kafka.clients.consumer.internals.CompletedFetch#nextFetchedRecord",
    )
    produced = False
    guard = BatchFact.BEFORE_ASKED

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield the first batch of each partition whose offset is in the request."""
        if batch.index or batch.body.api.name != "Fetch":
            return
        records = batch.records
        asked = records.carrier.asked(records.topic, records.partition.partition_index)
        if asked is not None and batch.batch.last_offset < asked[0]:
            seen = f"{asked[0]} asked for, the batch ends with {batch.batch.last_offset}"
            yield batch.violation("base_offset", "a batch that reaches the offset asked for", seen)


class EpochBeyondLeader(BatchRule):
    """A leader must not give batches of a higher leader epoch than its own.

    A leader refuses a Fetch that names another epoch than its own (FENCED_LEADER_EPOCH,
    UNKNOWN_LEADER_EPOCH). So the epoch that the request names is that of the leader which answers, and no
    leader before it wrote with a higher one. A client that learns a higher epoch from a batch asks with it,
    and is refused. FET030 applies this check to partitions that the request leaves to its fetch session.

    Example: epoch 2 asked for, no error, and a batch of epoch 9.

    What to do: look for a log that was written by two leaders, or for what changes batches on their way.
    """

    code = "REC044"
    name = "epoch-beyond-leader"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("KIP-320 Proposed Changes", "kafka.cluster.Partition#checkCurrentLeaderEpoch")
    produced = False
    guard = BatchFact.EPOCH_HIGHER

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Yield each batch of a Fetch against the epoch in the request."""
        records = batch.records
        if batch.body.api.name != "Fetch" or records.partition.error_code:
            return
        asked = records.carrier.asked(records.topic, records.partition.partition_index)
        epoch = batch.batch.leader_epoch
        if asked is not None and is_beyond(epoch, asked):
            yield batch.violation("leader_epoch", f"{asked[1]} or less, the requested epoch", epoch)
