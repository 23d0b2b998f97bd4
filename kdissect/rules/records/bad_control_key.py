"""REC039: The key of a control record must hold a version and a type."""

from collections.abc import Iterator

from kdissect.decoders.records.control import control_key
from kdissect.model.finding import Who
from kdissect.model.wording import plural
from kdissect.rules.batch import Batch
from kdissect.rules.kinds import RecordRule
from kdissect.rules.rule import Fault


class BadControlKey(RecordRule):
    """The key of a control record must hold a version and a type.

    Two int16, the version 0 or more. Readers know by it whether to commit or to abort.

    Example: a key of 2 bytes.

    What to do: write version 0 and the type.
    """

    code = "REC039"
    name = "control-key"
    who = Who.BROKER
    cites = ("spec/001 5.3.1.1 Control Batches", "org.apache.kafka.common.record.internal.ControlRecordType")
    produced = False
    magics = (2,)
    shadows = ("REC041",)

    def check(self, batch: Batch) -> Iterator[Fault]:
        """Keys in control batches that brokers give."""
        if not batch.batch.is_control:
            return
        for index, record in enumerate(batch.content):
            key = control_key(record.key)
            if key is None:
                seen = "null" if record.key is None else plural(len(record.key), "byte")
                yield batch.inside(f"records[{index}].key", "4 bytes or more", seen)
            elif key.version < 0:
                yield batch.inside(f"records[{index}].key", "a version from 0 on", key.version)
