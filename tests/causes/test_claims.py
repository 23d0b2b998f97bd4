"""Which error codes each cause explains, by their names in Kafka, and in responses of which APIs."""

from kdissect.causes.ledger.symptom import Claim, SymptomKind
from kdissect.causes.registry import ALL_CAUSES
from kdissect.schema.error_codes import error_name
from kdissect.schema.protocol_messages import api_name

# org.apache.kafka.common.protocol.Errors
GROUP = """\
    FENCED_INSTANCE_ID FENCED_MEMBER_EPOCH ILLEGAL_GENERATION REBALANCE_IN_PROGRESS
    STALE_MEMBER_EPOCH UNKNOWN_MEMBER_ID UNRELEASED_INSTANCE_ID
"""
MOVING = """\
    BROKER_NOT_AVAILABLE COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE
    ELIGIBLE_LEADERS_NOT_AVAILABLE FENCED_LEADER_EPOCH INCONSISTENT_TOPIC_ID KAFKA_STORAGE_ERROR
    LEADER_NOT_AVAILABLE NETWORK_EXCEPTION NOT_CONTROLLER NOT_COORDINATOR NOT_ENOUGH_REPLICAS
    NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_LEADER_OR_FOLLOWER OFFSET_NOT_AVAILABLE
    PREFERRED_LEADER_NOT_AVAILABLE REPLICA_NOT_AVAILABLE REQUEST_TIMED_OUT UNKNOWN_LEADER_EPOCH
    UNKNOWN_TOPIC_ID UNKNOWN_TOPIC_OR_PARTITION
"""
# Cause, error codes, APIs; no API: all.
CLAIMS = [
    (
        "cluster-denied",
        "CLUSTER_AUTHORIZATION_FAILED DELEGATION_TOKEN_AUTHORIZATION_FAILED"
        " TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "",
    ),
    ("group-denied", "GROUP_AUTHORIZATION_FAILED", ""),
    ("login-refused", "SASL_AUTHENTICATION_FAILED", "SaslAuthenticate"),
    ("mechanism-refused", "UNSUPPORTED_SASL_MECHANISM", ""),
    ("reauthentication-refused", "UNSUPPORTED_SASL_MECHANISM", ""),
    ("sasl-not-enabled", "ILLEGAL_SASL_STATE", "SaslHandshake"),
    ("topic-denied", "TOPIC_AUTHORIZATION_FAILED", ""),
    ("topic-denied", "CLUSTER_AUTHORIZATION_FAILED", "InitProducerId"),
    ("wrong-cluster", "REBOOTSTRAP_REQUIRED", "ApiVersions"),
    ("broker-restarted", MOVING, ""),
    ("coordinator-unavailable", "COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR", ""),
    ("stalled-broker", MOVING, ""),
    ("storage-error", "KAFKA_STORAGE_ERROR", ""),
    ("storage-error", "UNKNOWN_SERVER_ERROR", "Produce"),
    (
        "fetch-session-churn",
        "FETCH_SESSION_ID_NOT_FOUND FETCH_SESSION_TOPIC_ID_ERROR INVALID_FETCH_SESSION_EPOCH",
        "",
    ),
    ("offset-reset", "OFFSET_OUT_OF_RANGE", "Fetch"),
    ("share-lock-expired", "INVALID_RECORD_STATE", "ShareAcknowledge ShareFetch"),
    ("duplicate-static-member", "FENCED_INSTANCE_ID UNRELEASED_INSTANCE_ID", ""),
    ("endless-rebalances", GROUP, ""),
    ("flapping-member", GROUP, ""),
    (
        "group-migration-refused",
        "GROUP_ID_NOT_FOUND INCONSISTENT_GROUP_PROTOCOL",
        "ConsumerGroupHeartbeat JoinGroup ShareGroupHeartbeat StreamsGroupHeartbeat",
    ),
    ("member-crashed", GROUP, ""),
    ("protocols-differ", "INCONSISTENT_GROUP_PROTOCOL", ""),
    ("rolling-restart", GROUP, ""),
    ("session-timeout-too-short", GROUP, ""),
    ("session-timeout-too-short", "INVALID_SESSION_TIMEOUT", ""),
    ("slow-poll", GROUP, ""),
    ("partition-offline", "LEADER_NOT_AVAILABLE", ""),
    (
        "topic-recreated",
        "INCONSISTENT_TOPIC_ID UNKNOWN_TOPIC_ID UNKNOWN_TOPIC_OR_PARTITION",
        "AddPartitionsToTxn Fetch ListOffsets OffsetCommit OffsetFetch Produce ShareAcknowledge ShareFetch"
        " TxnOffsetCommit",
    ),
    (
        "unknown-topic",
        "UNKNOWN_TOPIC_ID UNKNOWN_TOPIC_OR_PARTITION",
        "DescribeTopicPartitions Fetch ListOffsets Metadata OffsetCommit OffsetFetch Produce",
    ),
    ("epoch-not-adopted", "INVALID_PRODUCER_EPOCH", ""),
    ("fenced-producer", "INVALID_PRODUCER_EPOCH INVALID_TXN_STATE PRODUCER_FENCED", ""),
    (
        "invalid-records",
        "CORRUPT_MESSAGE INVALID_RECORD INVALID_TIMESTAMP UNSUPPORTED_COMPRESSION_TYPE"
        " UNSUPPORTED_FOR_MESSAGE_FORMAT",
        "Produce",
    ),
    ("leader-moved", "FENCED_LEADER_EPOCH NOT_LEADER_OR_FOLLOWER", "Fetch ListOffsets Produce"),
    ("message-too-large", "MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE", ""),
    ("not-enough-replicas", "NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND", ""),
    ("not-enough-replicas", "REQUEST_TIMED_OUT", "Produce"),
    ("producer-forgotten", "OUT_OF_ORDER_SEQUENCE_NUMBER UNKNOWN_PRODUCER_ID", "Produce"),
    (
        "records-dropped",
        "CORRUPT_MESSAGE FENCED_LEADER_EPOCH INCONSISTENT_TOPIC_ID KAFKA_STORAGE_ERROR LEADER_NOT_AVAILABLE"
        " NOT_ENOUGH_REPLICAS NOT_LEADER_OR_FOLLOWER REPLICA_NOT_AVAILABLE UNKNOWN_LEADER_EPOCH"
        " UNKNOWN_TOPIC_ID UNKNOWN_TOPIC_OR_PARTITION",
        "Produce",
    ),
    ("sequence-gap", "OUT_OF_ORDER_SEQUENCE_NUMBER UNKNOWN_PRODUCER_ID", "Produce"),
    ("transaction-timeout", "INVALID_PRODUCER_EPOCH INVALID_TXN_STATE PRODUCER_FENCED", ""),
    ("transactional-id-expired", "INVALID_PRODUCER_ID_MAPPING", ""),
    (
        "feature-not-finalized",
        "UNSUPPORTED_VERSION",
        "ConsumerGroupHeartbeat ShareGroupHeartbeat ShareFetch ShareAcknowledge StreamsGroupHeartbeat",
    ),
    ("version-refused", "UNSUPPORTED_VERSION", ""),
]


def names(claim: Claim) -> tuple[set[str], set[str]]:
    """Return the names of its error codes and of its APIs."""
    return (
        {error_name(code) for code in claim.codes or ()},
        {api_name(key) or str(key) for key in claim.apis or ()},
    )


def test_which_errors_a_cause_explains() -> None:
    found = [
        (cause.id, *names(claim))
        for cause in ALL_CAUSES
        for claim in cause.own_claims()
        if claim.kind is SymptomKind.ERROR and claim.codes is not None
    ]
    assert found == [(cause, set(codes.split()), set(apis.split())) for cause, codes, apis in CLAIMS]
