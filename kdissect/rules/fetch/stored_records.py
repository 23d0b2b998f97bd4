"""Rules: fetched records, compared with produced ones."""

from collections.abc import Iterator

from kdissect.history.fact import Fact
from kdissect.history.producing.stored_batches import StoredFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule
from kdissect.rules.rule import Violation


class OtherRecords(FactRule):
    """A broker must give out the records that it took.

    Producer id, epoch and sequence name a batch (KIP-98), and a broker stores its records as they were sent.
    The rule compares a batch that the broker acknowledged with the batch that this broker returns at this
    offset, if producer, sequence, times and count are equal. Both checksums are right, so that
    the network path changed no bit. If Produce has the name of a topic and Fetch the id, or the other way
    round, Metadata must show that the name has this id alone. The rule does not compare batches without a
    producer id, compressed batches, which a broker may compress again, or batches that compaction or the
    broker's own time changed.

    Example: the batch of producer 13 with sequence 0 is stored at offset 100 with the value `a`, and fetched
    from there with the value `b`.

    What to do: look for a log that is damaged, and for what changes records between clients and the broker.
    """

    code = "FET031"
    name = "other-records"
    claim = Claim.DIFFERS
    who = Who.BROKER
    needs = "the Produce and the Fetch, each with its response"
    cites = (
        "KIP-98 Proposed Changes",
        "org.apache.kafka.storage.internals.log.LogValidator#assignOffsetsNonCompressed",
    )
    facts = (StoredFact.RECORDS_DIFFER,)

    def check(self, fact: Fact) -> Iterator[Violation]:
        """Yield the batch that differs."""
        offset, producer_id, epoch, sequence = fact.seen
        earlier = None if fact.earlier is None else (fact.earlier.connection, fact.earlier.ordinal)
        batch = f"offset {offset} (producer {producer_id}, epoch {epoch}, sequence {sequence})"
        yield Violation(
            f"the records that were produced to {batch}", "other records", fact.path, side=fact.side,
            earlier=earlier,
        )  # fmt: skip
