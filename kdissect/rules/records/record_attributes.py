"""REC030: The attributes of a record must be 0."""

from collections.abc import Iterator

from kdissect.model.finding import Severity
from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import RecordRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.batch_view import Batch


class RecordAttributes(RecordRule):
    """The attributes of a record must be 0.

    None of their bits means anything; a later format may give them a meaning. Apache Kafka ignores them.

    Example: attributes 1 in a record.

    What to do: write 0.
    """

    code = "REC030"
    name = "record-attributes"
    severity = Severity.WARNING
    cites = ("spec/001 5.3.2 Record",)
    magics = (2,)
    guard = BatchFact.RECORDS

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Attributes of records of magic 2."""
        for index, found in enumerate(batch.content):
            if found.attributes:
                yield batch.inside(f"records[{index}].attributes", 0, found.attributes)
