"""Which facts tell of a difference from what the state led to expect. The others tell what changed."""

from kdissect.history.connections.negotiated_versions import VersionFact
from kdissect.history.connections.sasl_login import SaslFact
from kdissect.history.connections.throttling import ThrottleFact
from kdissect.history.epochs.broker_epochs import BrokerFact
from kdissect.history.epochs.leader_epochs import LeaderFact
from kdissect.history.epochs.own_counters import CounterFact
from kdissect.history.epochs.quorum_choices import ChoiceFact
from kdissect.history.epochs.quorum_epochs import QuorumFact
from kdissect.history.fact import Fact
from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.history.groups.group_assignments import AssignmentFact
from kdissect.history.groups.modern_groups import ModernFact
from kdissect.history.producing.producers import ProducerFact
from kdissect.history.producing.stored_batches import StoredFact
from kdissect.history.producing.transaction_steps import TransactionFact
from kdissect.history.sessions.fetch_sessions import FetchFact
from kdissect.history.sessions.share_sessions import ShareFact
from kdissect.history.sessions.snapshot_fetches import SnapshotFact
from kdissect.history.sessions.telemetry_pushes import TelemetryFact

# Pairs, because members of different string enumerations with one value are equal.
DIFFERENCES = frozenset(
    (type(kind), kind)
    for kind in (
        VersionFact.OUTSIDE, VersionFact.NOT_OFFERED,
        SaslFact.MECHANISM_CHANGED, SaslFact.PRINCIPAL_CHANGED, SaslFact.REQUEST_BEFORE_END,
        SaslFact.HANDSHAKE_AGAIN, SaslFact.WITHOUT_HANDSHAKE, SaslFact.AFTER_RAW_HANDSHAKE,
        SaslFact.SESSION_EXPIRED, SaslFact.USED_AFTER_FAILURE, SaslFact.API_VERSIONS_LATE,
        SaslFact.TOKEN_DIFFERS,
        FetchFact.EPOCH_DIFFERS, FetchFact.UNKNOWN_SESSION, FetchFact.ZERO_INCREMENTAL,
        FetchFact.FORGOTTEN_IN_FULL, FetchFact.TOPIC_IDS_MIXED, FetchFact.STRANGE_PARTITION,
        StoredFact.RECORDS_DIFFER, FetchFact.EPOCH_BEYOND,
        FetchFact.OTHER_SESSION, FetchFact.OFFSET_BACK, ProducerFact.OFFSET_BACK, ShareFact.NEVER_ACQUIRED,
        ThrottleFact.IS_WAIT,
        ProducerFact.OLD_EPOCH_TAKEN, TransactionFact.OLD_EPOCH_TAKEN,
        TransactionFact.EPOCH_NOT_TAKEN, TransactionFact.OFFSETS_BEFORE_ADDED,
        AssignmentFact.UNREADABLE, AssignmentFact.SHARED, AssignmentFact.DIFFERS,
        AssignmentFact.NOT_SUBSCRIBED, ClassicFact.ANSWERED_TO_STRANGER, ModernFact.OWNS_UNASSIGNED,
        ClassicFact.TWO_LEADERS, ClassicFact.METADATA_DIFFERS, ClassicFact.ANSWERED_AFTER_LEAVE,
        ModernFact.ANSWERED_AFTER_LEAVE, ModernFact.HELD_BY_TWO,
        ShareFact.EPOCH_DIFFERS, ShareFact.UNKNOWN_SESSION, ShareFact.ACKNOWLEDGED_AT_OPENING,
        ThrottleFact.IGNORED, ThrottleFact.NEGATIVE,
        ProducerFact.NEVER_GIVEN, ProducerFact.RETRIED, ProducerFact.SEQUENCE_GAP, ProducerFact.SEQUENCE_BACK,
        ProducerFact.EPOCH_NOT_FROM_ZERO, ProducerFact.EPOCH_BACK, ProducerFact.WEAK_ACKS,
        ProducerFact.GIVEN_TWICE,
        ProducerFact.TOO_MANY_IN_FLIGHT, ProducerFact.MIXED_FIELDS, ProducerFact.OTHER_TRANSACTIONAL_ID,
        TransactionFact.PRODUCED_BEFORE_ADDED, TransactionFact.END_WITHOUT_BEGIN,
        TransactionFact.PRODUCED_WHILE_ENDING, TransactionFact.OTHER_PRODUCER, TransactionFact.OLD_EPOCH,
        TransactionFact.MARKER_DIFFERS, TransactionFact.JOINED_TWICE,
        ClassicFact.GIVEN_ID_UNUSED, ClassicFact.GENERATION_DIFFERS, ClassicFact.ASSIGNMENTS_OF_FOLLOWER,
        ClassicFact.ASSIGNMENT_TO_STRANGER, ClassicFact.PROTOCOL_DIFFERS, ClassicFact.PROTOCOL_NOT_OFFERED,
        ClassicFact.SILENT_TOO_LONG, ClassicFact.REJOIN_OVERDUE,
        ModernFact.EPOCH_DIFFERS, ModernFact.OTHER_MEMBER_ID, ModernFact.LATE,
        CounterFact.COUNTED_BACK, CounterFact.OTHER_NODE, QuorumFact.WENT_BACK, QuorumFact.OTHER_NODE,
        SnapshotFact.POSITION_DIFFERS,
        ChoiceFact.OTHER_CANDIDATE, ChoiceFact.OTHER_LEADER,
        SnapshotFact.OTHER_POSITION, SnapshotFact.SIZE_DIFFERS,
        SnapshotFact.OTHER_SNAPSHOT,
        BrokerFact.WENT_BACK, BrokerFact.OTHER_EPOCH,
        TelemetryFact.OTHER_SUBSCRIPTION, TelemetryFact.TOO_EARLY, TelemetryFact.TOO_LARGE,
        TelemetryFact.CODEC_NOT_ACCEPTED, TelemetryFact.AFTER_TERMINATING,
        LeaderFact.STALE, LeaderFact.WENT_BACK, LeaderFact.TWO_LEADERS, LeaderFact.OTHER_CLUSTER,
    )
)  # fmt: skip


def is_difference(fact: Fact) -> bool:
    """Return whether a fact is about a difference."""
    return (type(fact.kind), fact.kind) in DIFFERENCES
