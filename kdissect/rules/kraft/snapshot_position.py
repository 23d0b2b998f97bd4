"""KRF004: The pieces of a snapshot must follow each other."""

from kdissect.history.sessions.snapshot_fetches import SnapshotFact
from kdissect.model.finding import Severity
from kdissect.rules.kinds import FactRule


class SnapshotPosition(FactRule):
    """The pieces of a snapshot must follow each other.

    FetchSnapshot asks for the bytes behind those received, or begins anew at 0; the answer has the position
    asked for, and a size that stays. Otherwise the snapshot is not the one the leader has.

    Example: 100 bytes received, position 150 asked for.

    What to do: count the bytes of unaligned_records.
    """

    code = "KRF004"
    name = "snapshot-position"
    severity = Severity.WARNING
    cites = ("KIP-630 Proposed Changes", "org.apache.kafka.raft.KafkaRaftClient#handleFetchSnapshotResponse")
    facts = (SnapshotFact.POSITION_DIFFERS, SnapshotFact.OTHER_POSITION, SnapshotFact.SIZE_DIFFERS)
