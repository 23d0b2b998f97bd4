"""REC020: Bits of the attributes that mean nothing must be 0."""

from collections.abc import Iterator

from kdissect.model.finding import Severity
from kdissect.rules.kinds import BatchRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.batch_view import Batch

# By magic: spec/001 "5.3.3 Old Message Format", "5.3.1 Record Batch"; bit 6 is KIP-534's.
_RESERVED = (0xF8, 0xF0, 0xFF80)


class ReservedBits(BatchRule):
    """Bits of the attributes that mean nothing must be 0.

    Bits 7 to 15 in magic 2, 4 to 7 in magic 1, 3 to 7 in magic 0. A later format may give them a meaning.
    Apache Kafka ignores them.

    Example: attributes 0x0100.

    What to do: set only the bits that are defined.
    """

    code = "REC020"
    name = "reserved-bits"
    severity = Severity.WARNING
    cites = ("spec/001 5.3.1 Record Batch", "spec/001 5.3.3 Old Message Format")

    def check(self, batch: Batch) -> Iterator[Fault]:
        """Bits without a meaning."""
        reserved = _RESERVED[batch.batch.magic]
        if batch.batch.attributes & reserved:
            yield batch.fault(
                "attributes", f"0 in {reserved:#06x}", f"{batch.batch.attributes & 0xFFFF:#06x}"
            )
