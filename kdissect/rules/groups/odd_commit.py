"""GRP008: A committed offset should be -1 or more, its metadata at most 4096 bytes."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import Below, Longer
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body

# Bytes of the metadata, offset.metadata.max.bytes (GroupCoordinatorConfig).
_METADATA_LIMIT = 4096


class OddCommit(BodyRule):
    """A committed offset should be -1 or more, its metadata at most 4096 bytes.

    Apache Kafka stores lower offsets as they are, and no log has them. It answers OFFSET_METADATA_TOO_LARGE
    to longer metadata. The limit is its configuration.

    Example: committed_offset -5.

    What to do: commit the offset of the next record.
    """

    code = "GRP008"
    name = "odd-commit"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("org.apache.kafka.coordinator.group.OffsetMetadataManager#isMetadataInvalid",)
    on = (("OffsetCommit", REQUEST), ("TxnOffsetCommit", REQUEST))
    guard = (Below(("committed_offset",), -1), Longer(("committed_metadata",), _METADATA_LIMIT))

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the offset and metadata of each partition."""
        for _, partition, at in body.partitions("topics"):
            if partition.committed_offset < -1:
                yield body.violation(f"{at}.committed_offset", "-1 or more", str(partition.committed_offset))
            metadata = partition.committed_metadata or ""
            size = len(metadata.encode() if isinstance(metadata, str) else metadata)
            if size > _METADATA_LIMIT:
                yield body.violation(
                    f"{at}.committed_metadata", f"at most {_METADATA_LIMIT} bytes", plural(size, "byte")
                )
