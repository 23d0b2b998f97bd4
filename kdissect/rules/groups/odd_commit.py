"""GRP008: A committed offset should be -1 or more, its metadata at most 4096 bytes."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.model.wording import plural
from kdissect.rules.body import Body
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Fault
from kdissect.rules.thresholds import METADATA_LIMIT


class OddCommit(BodyRule):
    """A committed offset should be -1 or more, its metadata at most 4096 bytes.

    Apache Kafka stores lower offsets as they are, and no log has them. It answers OFFSET_METADATA_TOO_LARGE
    to longer metadata; the limit is its configuration.

    Example: committed_offset -5.

    What to do: commit the offset of the next record.
    """

    code = "GRP008"
    name = "odd-commit"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("spec/000 OffsetCommit API", "org.apache.kafka.common.protocol.Errors")
    on = (("OffsetCommit", REQUEST), ("TxnOffsetCommit", REQUEST))

    def is_suspect(self, body: Body) -> bool:
        """An offset that low, or more bytes in all."""
        if len(body.data) > METADATA_LIMIT:
            return True
        for topic in body.value.topics:
            for partition in topic.partitions:
                if partition.committed_offset < -1:
                    return True
        return False

    def check(self, body: Body) -> Iterator[Fault]:
        """Offset and metadata of each partition."""
        for at, topic in enumerate(body.value.topics):
            for index, partition in enumerate(topic.partitions):
                path = f"topics[{at}].partitions[{index}]"
                if partition.committed_offset < -1:
                    yield body.fault(
                        f"{path}.committed_offset", "-1 or more", str(partition.committed_offset)
                    )
                metadata = partition.committed_metadata or ""
                size = len(metadata.encode() if isinstance(metadata, str) else metadata)
                if size > METADATA_LIMIT:
                    yield body.fault(
                        f"{path}.committed_metadata",
                        f"at most {METADATA_LIMIT} bytes",
                        plural(size, "byte"),
                    )
