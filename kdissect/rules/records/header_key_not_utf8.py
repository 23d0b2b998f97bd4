"""REC032: The key of a record header must be valid UTF-8."""

from collections.abc import Iterator

from kdissect.rules.guards import BatchFact
from kdissect.rules.kinds import RecordRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.batch_view import Batch

_SHOWN = 32  # bytes of a key: enough to recognise it


class HeaderKeyNotUtf8(RecordRule):
    """The key of a record header must be valid UTF-8.

    Java puts replacement characters, so that the key is another one afterwards; others refuse. Brokers do
    not look, and pass on what producers wrote.

    Example: a key with the byte `ff`.

    What to do: encode keys as UTF-8.
    """

    code = "REC032"
    name = "header-key-utf8"
    cites = (
        "spec/001 5.3.2.1 Record Header",
        "org.apache.kafka.common.record.internal.DefaultRecord#readHeaders",
    )
    magics = (2,)
    guard = BatchFact.RECORDS

    def check(self, batch: Batch) -> Iterator[Violation]:
        """Keys that decoded to bytes."""
        for index, record in enumerate(batch.content):
            for number, (key, _) in enumerate(record.headers):
                if isinstance(key, bytes):
                    yield batch.inside(
                        f"records[{index}].headers[{number}].key", "UTF-8", key[:_SHOWN].hex(" ")
                    )
