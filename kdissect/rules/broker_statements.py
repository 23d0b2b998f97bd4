"""Statements that `kdissect conform broker` tests on a running broker.

Packets alone cannot break them: kdissect has to know why it sent a request.

A statement is a rule without a check of its own, so that reports, baselines and `kdissect rules CODE` have it
as they have rules. The docstring is the statement.
"""

from __future__ import annotations

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.rule import Rule


class BrokerStatement(Rule):
    """Base of every statement about a broker.

    `overrides` are rules that do not know why the request was sent: they stay silent about its exchange,
    whether the statement holds or not.
    """

    who = Who.BROKER
    claim = Claim.DIFFERS
    needs = "a broker that answers kdissect"


class AnswersAdvertisedVersions(BrokerStatement):
    """A broker responds to a request of each version that it advertises, in the layout of that version."""

    code, name = "CNF001", "answers-advertised-versions"
    cites = ("spec/002 3.2 All versions in the MinVersion-MaxVersion",)
    overrides = ("PAI005", "VER017")


class IgnoresUnknownTags(BrokerStatement):
    """A broker ignores tagged fields that it does not know, in the header and in the body."""

    code, name = "CNF002", "ignores-unknown-tags"
    cites = ("KIP-482 Proposed Changes",)
    overrides = ("PAI005", "VER017")


class AcceptsNull(BrokerStatement):
    """A broker accepts null in fields that are nullable, and as client id."""

    code, name = "CNF003", "accepts-null"
    cites = ("spec/000 Variable Length Primitives",)
    overrides = ("PAI005", "VER017")


class AcceptsEmptyLists(BrokerStatement):
    """A broker responds to a request whose lists are empty."""

    code, name = "CNF004", "accepts-empty-lists"
    cites = ("spec/000 Arrays",)
    overrides = ("PAI005", "VER017")


class NegotiatesApiVersions(BrokerStatement):
    """A broker responds to an ApiVersions request of a version that it does not have in version 0, with
    UNSUPPORTED_VERSION.
    """

    code, name = "CNF005", "negotiates-apiversions"
    cites = ("KIP-511 Proposed Changes",)
    overrides = ("PAI005", "VER004")


class NamesApiVersionsRange(BrokerStatement):
    """The response that refuses an ApiVersions version names the versions of ApiVersions."""

    code, name, level = "CNF006", "names-apiversions-range", Level.SHOULD
    cites = ("KIP-511 Proposed Changes",)


class AdvertisesOneSetOfVersions(BrokerStatement):
    """A broker advertises the same versions in each version of the ApiVersions response."""

    code, name = "CNF007", "advertises-one-set-of-versions"
    cites = ("spec/002 3.1 Lowest and highest version",)


class ShowsCreatedTopic(BrokerStatement):
    """A topic that CreateTopics created without an error is in Metadata, with its partitions."""

    code, name = "CNF010", "shows-created-topic"
    cites = ("spec/000 CreateTopics API",)


class RefusesExistingTopic(BrokerStatement):
    """CreateTopics for a topic that exists has the error TOPIC_ALREADY_EXISTS."""

    code, name = "CNF011", "refuses-existing-topic"
    cites = ("spec/000 CreateTopics API",)


class ValidatesOnly(BrokerStatement):
    """CreateTopics with validate_only creates no topic."""

    code, name = "CNF012", "validates-only"
    cites = ("spec/003 CreateTopics API",)


class ForgetsDeletedTopic(BrokerStatement):
    """A topic that DeleteTopics deleted without an error is unknown afterwards."""

    code, name = "CNF013", "forgets-deleted-topic"
    cites = ("spec/000 DeleteTopics API",)


class RefusesUnknownTopic(BrokerStatement):
    """Metadata, Produce, Fetch and ListOffsets for a topic that does not exist have the error
    UNKNOWN_TOPIC_OR_PARTITION.
    """

    code, name = "CNF014", "refuses-unknown-topic"
    cites = ("spec/000 Error Codes",)


class RefusesUnknownTopicId(BrokerStatement):
    """Requests that name a topic by an id that no topic has have the error UNKNOWN_TOPIC_ID."""

    code, name = "CNF015", "refuses-unknown-topic-id"
    cites = ("KIP-516 Public Interfaces",)


class ReturnsStoredRecords(BrokerStatement):
    """Fetch returns the records that Produce stored, with their keys and values, at the offsets of the
    response.
    """

    code, name = "CNF020", "returns-stored-records"
    cites = ("spec/001 5.3.1 Record Batch", "spec/001 Guarantees")


class ListsOffsets(BrokerStatement):
    """ListOffsets returns the offset after the last record as the latest, and the first as the earliest."""

    code, name = "CNF021", "lists-offsets"
    cites = ("spec/003 ListOffsets API",)


class RefusesOffsetAfterEnd(BrokerStatement):
    """Fetch from an offset after the end of the log has the error OFFSET_OUT_OF_RANGE."""

    code, name = "CNF022", "refuses-offset-after-end"
    cites = ("spec/000 Error Codes",)


class RefusesWrongChecksum(BrokerStatement):
    """Produce of a batch whose checksum is wrong has the error CORRUPT_MESSAGE."""

    code, name = "CNF023", "refuses-wrong-checksum"
    cites = ("spec/000 Error Codes",)


class StoresBatchOnce(BrokerStatement):
    """A batch of an idempotent producer that comes twice is stored once."""

    code, name = "CNF024", "stores-batch-once"
    cites = ("KIP-98 Proposed Changes",)


class RefusesSequenceGap(BrokerStatement):
    """A batch of an idempotent producer that leaves out sequences has the error
    OUT_OF_ORDER_SEQUENCE_NUMBER.
    """

    code, name = "CNF025", "refuses-sequence-gap"
    cites = ("KIP-98 Proposed Changes",)


class DeletesRecords(BrokerStatement):
    """After DeleteRecords the log begins at the offset of the request: the response and ListOffsets have it,
    and Fetch from before has the error OFFSET_OUT_OF_RANGE.
    """

    code, name = "CNF026", "deletes-records"
    cites = ("spec/003 DeleteRecords API",)


class FindsOffsetByTime(BrokerStatement):
    """ListOffsets with a time returns the offset of a record that is not older."""

    code, name = "CNF027", "finds-offset-by-time"
    cites = ("spec/003 ListOffsets API",)


class LeavesAcks0Unanswered(BrokerStatement):
    """A broker sends no response to Produce with acks=0."""

    code, name = "CNF028", "leaves-acks0-unanswered"
    cites = ("spec/004 acks=0 Produce Requests",)


class ReturnsCommittedOffset(BrokerStatement):
    """OffsetFetch returns the offset and the metadata that OffsetCommit stored."""

    code, name = "CNF030", "returns-committed-offset"
    cites = ("spec/000 OffsetFetch API",)


class ReturnsNoOffset(BrokerStatement):
    """OffsetFetch returns -1 for a partition without a committed offset."""

    code, name = "CNF031", "returns-no-offset"
    cites = ("spec/000 OffsetFetch API",)


class RequiresMemberId(BrokerStatement):
    """A broker responds to the first JoinGroup of a member, from version 4 on, with a member id and
    MEMBER_ID_REQUIRED.
    """

    code, name, level = "CNF040", "requires-member-id", Level.SHOULD
    cites = ("KIP-394 Proposed Changes",)


class ReturnsAssignment(BrokerStatement):
    """SyncGroup returns the assignment that the leader of the group sent."""

    code, name = "CNF041", "returns-assignment"
    cites = ("spec/000 SyncGroup API",)


class AcceptsHeartbeat(BrokerStatement):
    """Heartbeat of a member in its generation has no error."""

    code, name = "CNF042", "accepts-heartbeat"
    cites = ("spec/000 Heartbeat API",)


class RefusesOtherGeneration(BrokerStatement):
    """Heartbeat in a generation that the group does not have has the error ILLEGAL_GENERATION."""

    code, name = "CNF043", "refuses-other-generation"
    cites = ("spec/000 Heartbeat API", "spec/000 Error Codes")


class RefusesUnknownMember(BrokerStatement):
    """Heartbeat of a member that left its group has the error UNKNOWN_MEMBER_ID."""

    code, name = "CNF044", "refuses-unknown-member"
    cites = ("spec/000 Heartbeat API", "spec/000 Error Codes")


class ShowsCommittedTransaction(BrokerStatement):
    """A Fetch that reads committed records returns those of a committed transaction."""

    code, name = "CNF050", "shows-committed-transaction"
    cites = ("KIP-98 Proposed Changes",)


class NamesAbortedTransaction(BrokerStatement):
    """A Fetch that reads committed records leaves out those of an aborted transaction, or names its
    producer.
    """

    code, name = "CNF051", "names-aborted-transaction"
    cites = ("KIP-98 Proposed Changes",)


class FencesOldProducer(BrokerStatement):
    """A producer whose transactional id has a new epoch cannot end a transaction."""

    code, name = "CNF052", "fences-old-producer"
    cites = ("KIP-98 Proposed Changes",)


class DescribesTransaction(BrokerStatement):
    """DescribeTransactions and DescribeProducers have the producer of an open transaction."""

    code, name = "CNF053", "describes-transaction"
    cites = ("KIP-664 Public Interfaces",)


class RaisesEpochAtEnd(BrokerStatement):
    """EndTxn, from version 5 on, returns a new epoch of the producer, or another producer id."""

    code, name = "CNF054", "raises-epoch-at-end"
    cites = ("KIP-890 Proposed Changes",)


class RefusesUnknownVersion(BrokerStatement):
    """A broker closes the connection, or responds with UNSUPPORTED_VERSION, if a request has a version that
    it does not advertise.
    """

    code, name = "CNF060", "refuses-unknown-version"
    cites = ("spec/002 7 Connection closure",)
    overrides = ("PAI005", "VER017")


class RefusesUnknownApi(BrokerStatement):
    """A broker closes the connection, or responds with an error, if a request has an API key that it does not
    advertise.
    """

    code, name = "CNF061", "refuses-unknown-api"
    cites = ("spec/002 7 Connection closure",)
    overrides = ("PAI005", "VER017")


class RefusesWrongSize(BrokerStatement):
    """A broker closes the connection if the size of a frame is negative or too large."""

    code, name = "CNF062", "refuses-wrong-size"
    cites = ("spec/004 Size Validation",)
    overrides = ("PAI005", "VER017")


class RefusesShortBody(BrokerStatement):
    """A broker closes the connection, or responds with an error, if a request ends within its body."""

    code, name, level = "CNF063", "refuses-short-body", Level.SHOULD
    cites = ("spec/004 Malformed Request Detection",)
    overrides = ("PAI005", "VER017")


class ServesOtherConnections(BrokerStatement):
    """After a malformed request on one connection, a broker accepts others and responds to them."""

    code, name = "CNF064", "serves-other-connections"
    cites = ("spec/004 Connection Termination",)


class ThrottlesProducer(BrokerStatement):
    """A producer that exceeds the quota of its client id has a throttle_time_ms above 0."""

    code, name = "CNF065", "throttles-producer"
    cites = ("KIP-219 Proposed Changes",)


class ShowsCreatedAcl(BrokerStatement):
    """DescribeAcls returns the ACL that CreateAcls created without an error."""

    code, name = "CNF066", "shows-created-acl"
    cites = ("spec/003 CreateAcls API", "spec/003 DescribeAcls API")


class DeletesAcl(BrokerStatement):
    """DeleteAcls returns the ACL that it deletes, and DescribeAcls does not return it afterwards."""

    code, name = "CNF067", "deletes-acl"
    cites = ("spec/003 DeleteAcls API", "spec/003 DescribeAcls API")


class KeepsTelemetryInstance(BrokerStatement):
    """GetTelemetrySubscriptions returns the client instance id that the request names."""

    code, name = "CNF068", "keeps-telemetry-instance"
    cites = ("KIP-714 Public Interfaces",)


class OpensFetchSession(BrokerStatement):
    """A Fetch with session epoch 0, from version 7 on, has the id of a new session."""

    code, name, level = "CNF070", "opens-fetch-session", Level.SHOULD
    cites = ("KIP-227 Proposed Changes",)


class LeavesOutUnchangedPartitions(BrokerStatement):
    """A Fetch that continues a session has no partition that did not change."""

    code, name = "CNF071", "leaves-out-unchanged-partitions"
    cites = ("KIP-227 Proposed Changes",)


class RemembersPartitions(BrokerStatement):
    """A Fetch that continues a session and names no partition has the new records of those in the session."""

    code, name = "CNF072", "remembers-partitions"
    cites = ("KIP-227 Proposed Changes",)


class ForgetsPartitions(BrokerStatement):
    """A Fetch that continues a session has no partition that the client had it forget."""

    code, name = "CNF073", "forgets-partitions"
    cites = ("KIP-227 Proposed Changes",)


class RefusesSessionEpoch(BrokerStatement):
    """A Fetch with an epoch that is not the next of its session has the error INVALID_FETCH_SESSION_EPOCH."""

    code, name = "CNF074", "refuses-session-epoch"
    cites = ("KIP-227 FetchRequest Metadata meaning",)


class RefusesUnknownSession(BrokerStatement):
    """A Fetch that continues a session that does not exist has the error FETCH_SESSION_ID_NOT_FOUND."""

    code, name = "CNF075", "refuses-unknown-session"
    cites = ("KIP-227 FetchRequest Metadata meaning",)


class ClosesFetchSession(BrokerStatement):
    """A Fetch with session epoch -1 ends its session."""

    code, name = "CNF076", "closes-fetch-session"
    cites = ("KIP-227 FetchRequest Metadata meaning",)


class GuardsInstanceId(BrokerStatement):
    """A consumer group refuses a member with the instance id of another one that did not leave, with
    UNRELEASED_INSTANCE_ID.
    """

    code, name = "CNF079", "guards-instance-id"
    cites = ("KIP-848 Proposed Changes",)


class AcceptsNewMember(BrokerStatement):
    """ConsumerGroupHeartbeat, ShareGroupHeartbeat and StreamsGroupHeartbeat with member epoch 0 have no
    error, a member id, and an epoch above 0.
    """

    code, name = "CNF080", "accepts-new-member"
    cites = ("KIP-848 Proposed Changes", "KIP-932 Proposed Changes", "KIP-1071 Proposed Changes")


class AssignsEachPartition(BrokerStatement):
    """The members of a consumer group or streams group have each partition of their topics, and no partition
    is at two members at the same time.
    """

    code, name = "CNF081", "assigns-each-partition"
    cites = ("KIP-848 Proposed Changes", "KIP-1071 Proposed Changes")


class AcceptsMemberEpoch(BrokerStatement):
    """A heartbeat with the epoch of the member has no error."""

    code, name = "CNF082", "accepts-member-epoch"
    cites = ("KIP-848 Proposed Changes", "KIP-932 Proposed Changes", "KIP-1071 Proposed Changes")


class FencesMemberEpoch(BrokerStatement):
    """A heartbeat with an epoch above that of the member has the error FENCED_MEMBER_EPOCH."""

    code, name = "CNF083", "fences-member-epoch"
    cites = ("KIP-848 Proposed Changes", "KIP-932 Proposed Changes", "KIP-1071 Proposed Changes")


class RefusesStranger(BrokerStatement):
    """A heartbeat of a member that the group does not have has the error UNKNOWN_MEMBER_ID."""

    code, name = "CNF084", "refuses-stranger"
    cites = ("KIP-848 Proposed Changes", "KIP-932 Proposed Changes", "KIP-1071 Proposed Changes")


class EndsMembership(BrokerStatement):
    """A heartbeat with member epoch -1 has this epoch and no error, and the member is unknown afterwards."""

    code, name = "CNF085", "ends-membership"
    cites = ("KIP-848 Proposed Changes", "KIP-932 Proposed Changes", "KIP-1071 Proposed Changes")


class RefusesUnknownAssignor(BrokerStatement):
    """A consumer group refuses a member whose assignor the broker does not have, with
    UNSUPPORTED_ASSIGNOR.
    """

    code, name = "CNF086", "refuses-unknown-assignor"
    cites = ("KIP-848 Proposed Changes",)


class DescribesMembers(BrokerStatement):
    """ConsumerGroupDescribe has the members of the group with their epochs."""

    code, name = "CNF087", "describes-members"
    cites = ("KIP-848 Public Interfaces",)


class ReportsMissingSourceTopics(BrokerStatement):
    """StreamsGroupHeartbeat with a topology whose source topic does not exist has the status
    MISSING_SOURCE_TOPICS.
    """

    code, name = "CNF088", "reports-missing-source-topics"
    cites = ("KIP-1071 Public Interfaces",)


class RefusesFarEpochAtCommit(BrokerStatement):
    """OffsetCommit of a member of a consumer group with an epoch above its own has the error
    STALE_MEMBER_EPOCH.
    """

    code, name = "CNF089", "refuses-stale-commit"
    cites = ("KIP-848 Public Interfaces",)


class AcquiresRecords(BrokerStatement):
    """ShareFetch acquires new records, with delivery count 1, and has them in the response."""

    code, name = "CNF090", "acquires-records"
    cites = ("KIP-932 Proposed Changes",)


class LocksAcquiredRecords(BrokerStatement):
    """ShareFetch acquires no record that another member of the group has acquired."""

    code, name = "CNF091", "locks-acquired-records"
    cites = ("KIP-932 Proposed Changes",)


class DeliversReleasedRecords(BrokerStatement):
    """ShareFetch acquires a record again that was released, with the next delivery count."""

    code, name = "CNF092", "delivers-released-records"
    cites = ("KIP-932 Proposed Changes",)


class KeepsAcceptedRecords(BrokerStatement):
    """ShareFetch acquires no record that was accepted."""

    code, name = "CNF093", "keeps-accepted-records"
    cites = ("KIP-932 Proposed Changes",)


class RefusesSecondAcknowledgement(BrokerStatement):
    """ShareAcknowledge of a record that was accepted before has the error INVALID_RECORD_STATE."""

    code, name = "CNF094", "refuses-second-acknowledgement"
    cites = ("KIP-932 Public Interfaces",)


class RefusesShareSessionEpoch(BrokerStatement):
    """ShareFetch with an epoch that is not the next of its session has the error
    INVALID_SHARE_SESSION_EPOCH.
    """

    code, name = "CNF095", "refuses-share-session-epoch"
    cites = ("KIP-932 Public Interfaces",)


class RefusesUnknownShareSession(BrokerStatement):
    """ShareFetch that continues a session of a member that has none has the error SHARE_SESSION_NOT_FOUND."""

    code, name = "CNF096", "refuses-unknown-share-session"
    cites = ("KIP-932 Public Interfaces",)


class ReleasesAtClose(BrokerStatement):
    """When a share session is closed, its acquired records can be acquired by another member."""

    code, name = "CNF097", "releases-at-close"
    cites = ("KIP-932 Proposed Changes",)


BROKER_STATEMENTS: tuple[BrokerStatement, ...] = tuple(
    sorted((kind() for kind in BrokerStatement.__subclasses__()), key=lambda one: one.code)
)
"""Every statement about brokers, by code."""
