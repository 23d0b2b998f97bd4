"""REC037: The header of an lz4 frame in magic 0 has a wrong checksum, in later magic the right one."""

from collections.abc import Iterator

from kdissect.decoders.compression.lz4 import has_right_checksum
from kdissect.model.finding import Claim, Level
from kdissect.model.record_batch import Codec
from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import RecordRule
from kdissect.rules.rule import Once, Violation
from kdissect.rules.views.batch_view import Batch

_LENGTH = 4  # of key and value: spec/001 "5.3.3 Old Message Format"


class Lz4Checksum(RecordRule):
    """The header of an lz4 frame in magic 0 has a wrong checksum, in later magic the right one.

    Early clients computed it over the magic number of lz4 as well, and everybody did the same until magic
    1. Readers of magic 0 take both, or do not look. In later magic a wrong one does not decompress.

    Example: a right checksum in magic 0.

    What to do: nothing. kdissect reads it.
    """

    code = "REC037"
    name = "lz4-checksum"
    level = Level.INFO
    claim = Claim.DIFFERS
    cites = ("KIP-57 Proposed Changes",)
    magics = (0,)
    once = Once.PARTY
    guard = BatchFact.OTHER_MAGIC

    def check(self, batch: Batch) -> Iterator[Violation]:
        """lz4 in messages of magic 0."""
        found = batch.batch
        if found.codec != Codec.LZ4:
            return
        key_length = int.from_bytes(
            found.data[found.records_start : found.records_start + _LENGTH], signed=True
        )
        value = found.records_start + _LENGTH + max(key_length, 0) + _LENGTH
        if has_right_checksum(memoryview(found.data)[value : found.end]):
            yield batch.inside("value", "the checksum of early clients", "the right one")
