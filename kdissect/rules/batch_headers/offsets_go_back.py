"""REC027: Offsets must rise from batch to batch of a partition."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch


class OffsetsGoBack(BatchRule):
    """Offsets must rise from batch to batch of a partition.

    Consumers go on behind the last offset they read: what comes later with a lower one is read twice or
    never.

    Example: a batch from 10 to 14, then one from 12 on.

    What to do: give batches in the order of the log.
    """

    code = "REC027"
    name = "batch-order"
    who = Who.BROKER
    cites = ("spec/001 5.4 Log", "spec/001 Reads")
    produced = False

    def check(self, batch: Batch) -> Iterator[Fault]:
        """Each batch of a Fetch against the one before it."""
        found, before = batch.batch, batch.before
        if before is None or batch.body.api.name == "FetchSnapshot":
            return
        if found.base_offset <= before.last_offset:
            seen = f"{found.base_offset} behind {before.last_offset}"
            yield batch.fault("base_offset", "offsets above those of the batch before", seen)
