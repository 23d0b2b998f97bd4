"""REC028: The first batch of a Fetch must reach the offset that was asked for."""

from collections.abc import Iterator

from kdissect.model.finding import Severity, Who
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch


class BeforeFetchOffset(BatchRule):
    """The first batch of a Fetch must reach the offset that was asked for.

    It may begin before it, because a batch is given whole. One that ends before it was not asked for, and a
    client that does not look drops nothing and reads old records again.

    Example: offset 100 asked for, a batch from 90 to 99 given.

    What to do: begin with the batch that holds the offset.
    """

    code = "REC028"
    name = "fetch-offset"
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-74", "spec/001 Reads")
    produced = False

    def check(self, batch: Batch) -> Iterator[Fault]:
        """The first batch of each partition whose offset stands in the request."""
        if batch.index or batch.body.api.name != "Fetch":
            return
        records = batch.records
        offset = records.carrier.fetch_offset(records.topic, records.partition.partition_index)
        if offset is not None and batch.batch.last_offset < offset:
            seen = f"{offset} asked for, the batch ends with {batch.batch.last_offset}"
            yield batch.fault("base_offset", "a batch that reaches the offset asked for", seen)
