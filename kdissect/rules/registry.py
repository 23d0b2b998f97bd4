"""Every rule, in the order in which they have the word: the more basic a cause, the earlier."""

from kdissect.rules.admin.bad_assignment import BadAssignment
from kdissect.rules.admin.bad_election import BadElection
from kdissect.rules.admin.bad_quota_match import BadQuotaMatch
from kdissect.rules.admin.colliding_topic_names import CollidingTopicNames
from kdissect.rules.admin.conflicting_config import ConflictingConfig
from kdissect.rules.admin.count_and_assignment import CountAndAssignment
from kdissect.rules.admin.cursor_does_not_advance import CursorDoesNotAdvance
from kdissect.rules.admin.default_count_too_early import DefaultCountTooEarly
from kdissect.rules.admin.filter_in_acl import FilterInAcl
from kdissect.rules.admin.name_and_id import NameAndId
from kdissect.rules.admin.nested_envelope import NestedEnvelope
from kdissect.rules.admin.odd_delete_offset import OddDeleteOffset
from kdissect.rules.admin.old_offsets_order import OldOffsetsOrder
from kdissect.rules.admin.unknown_special_time import UnknownSpecialTime
from kdissect.rules.admin.weak_scram import WeakScram
from kdissect.rules.bodies.body_too_short import BodyTooShort
from kdissect.rules.bodies.duplicate_tag import DuplicateTag
from kdissect.rules.bodies.illegal_topic_name import IllegalTopicName
from kdissect.rules.bodies.length_beyond_frame import LengthBeyondFrame
from kdissect.rules.bodies.long_varint import LongVarint
from kdissect.rules.bodies.message_without_error import MessageWithoutError
from kdissect.rules.bodies.negative_length import NegativeLength
from kdissect.rules.bodies.negative_partition import NegativePartition
from kdissect.rules.bodies.negative_throttle import NegativeThrottle
from kdissect.rules.bodies.negative_timeout import NegativeTimeout
from kdissect.rules.bodies.not_utf8 import NotUtf8
from kdissect.rules.bodies.null_not_allowed import NullNotAllowed
from kdissect.rules.bodies.odd_boolean import OddBoolean
from kdissect.rules.bodies.odd_marker import OddMarker
from kdissect.rules.bodies.odd_replica_id import OddReplicaId
from kdissect.rules.bodies.repeated_partition import RepeatedPartition
from kdissect.rules.bodies.reserved_topic_id import ReservedTopicId
from kdissect.rules.bodies.string_too_long import StringTooLong
from kdissect.rules.bodies.tag_of_other_version import TagOfOtherVersion
from kdissect.rules.bodies.tag_order import TagOrder
from kdissect.rules.bodies.tag_size_mismatch import TagSizeMismatch
from kdissect.rules.bodies.tagged_default import TaggedDefault
from kdissect.rules.bodies.unknown_enum_value import UnknownEnumValue
from kdissect.rules.bodies.unknown_error_code import UnknownErrorCode
from kdissect.rules.bodies.unknown_tag import UnknownTag
from kdissect.rules.bodies.varint_too_long import VarintTooLong
from kdissect.rules.bodies.zero_topic_id import ZeroTopicId
from kdissect.rules.connections.certificate_name import CertificateName
from kdissect.rules.connections.closed_at_once import ClosedAtOnce
from kdissect.rules.connections.http_request import HttpRequest
from kdissect.rules.connections.plaintext_to_tls import PlaintextToTls
from kdissect.rules.connections.tls_refused import TlsRefused
from kdissect.rules.connections.tls_to_plaintext import TlsToPlaintext
from kdissect.rules.fetch.aborted_out_of_order import AbortedOutOfOrder
from kdissect.rules.fetch.acknowledged_at_opening import AcknowledgedAtOpening
from kdissect.rules.fetch.bad_ack_batches import BadAckBatches
from kdissect.rules.fetch.bad_acquired_records import BadAcquiredRecords
from kdissect.rules.fetch.early_fetch import EarlyFetch
from kdissect.rules.fetch.error_with_data import ErrorWithData
from kdissect.rules.fetch.forgotten_in_full_fetch import ForgottenInFullFetch
from kdissect.rules.fetch.increment_without_session import IncrementWithoutSession
from kdissect.rules.fetch.late_fetch import LateFetch
from kdissect.rules.fetch.names_and_ids_mixed import NamesAndIdsMixed
from kdissect.rules.fetch.odd_limits import OddLimits
from kdissect.rules.fetch.offsets_out_of_order import OffsetsOutOfOrder
from kdissect.rules.fetch.partition_outside_session import PartitionOutsideSession
from kdissect.rules.fetch.renew_too_early import RenewTooEarly
from kdissect.rules.fetch.unknown_session import UnknownSession
from kdissect.rules.fetch.unrequested_partition import UnrequestedPartition
from kdissect.rules.fetch.wrong_session_epoch import WrongSessionEpoch
from kdissect.rules.fetch.wrong_share_epoch import WrongShareEpoch
from kdissect.rules.framing.bad_frame_size import BadFrameSize
from kdissect.rules.framing.frame_cut_by_close import FrameCutByClose
from kdissect.rules.framing.frame_too_short import FrameTooShort
from kdissect.rules.framing.request_too_large import RequestTooLarge
from kdissect.rules.framing.sasl_frame_too_large import SaslFrameTooLarge
from kdissect.rules.framing.trailing_bytes import TrailingBytes
from kdissect.rules.groups.assignment_to_stranger import AssignmentToStranger
from kdissect.rules.groups.assignments_of_follower import AssignmentsOfFollower
from kdissect.rules.groups.bad_share_join import BadShareJoin
from kdissect.rules.groups.bad_subscription import BadSubscription
from kdissect.rules.groups.empty_group_id import EmptyGroupId
from kdissect.rules.groups.generation_back import GenerationBack
from kdissect.rules.groups.given_id_unused import GivenIdUnused
from kdissect.rules.groups.incomplete_join import IncompleteJoin
from kdissect.rules.groups.leader_not_member import LeaderNotMember
from kdissect.rules.groups.member_id_required_too_early import MemberIdRequiredTooEarly
from kdissect.rules.groups.missing_member_id import MissingMemberId
from kdissect.rules.groups.odd_commit import OddCommit
from kdissect.rules.groups.other_member_id import OtherMemberId
from kdissect.rules.groups.other_protocol import OtherProtocol
from kdissect.rules.groups.protocol_not_offered import ProtocolNotOffered
from kdissect.rules.groups.rebalance_ignored import RebalanceIgnored
from kdissect.rules.groups.silent_member import SilentMember
from kdissect.rules.groups.static_leave_without_instance import StaticLeaveWithoutInstance
from kdissect.rules.groups.two_protocols import TwoProtocols
from kdissect.rules.groups.wrong_generation import WrongGeneration
from kdissect.rules.groups.wrong_member_epoch import WrongMemberEpoch
from kdissect.rules.headers.client_id_changes import ClientIdChanges
from kdissect.rules.headers.client_id_missing import ClientIdMissing
from kdissect.rules.headers.client_id_not_utf8 import ClientIdNotUtf8
from kdissect.rules.headers.correlation_id_order import CorrelationIdOrder
from kdissect.rules.headers.header_tags import HeaderTags
from kdissect.rules.headers.header_version import WrongHeaderVersion
from kdissect.rules.headers.malformed_header import MalformedHeader
from kdissect.rules.headers.negative_version import NegativeVersion
from kdissect.rules.headers.reused_correlation_id import ReusedCorrelationId
from kdissect.rules.headers.unknown_api import UnknownApi
from kdissect.rules.headers.unknown_version import UnknownVersion
from kdissect.rules.kraft.broker_epoch_back import BrokerEpochBack
from kdissect.rules.kraft.other_broker_epoch import OtherBrokerEpoch
from kdissect.rules.kraft.quorum_epoch_back import QuorumEpochBack
from kdissect.rules.kraft.snapshot_position import SnapshotPosition
from kdissect.rules.metadata.advertised_unreached import AdvertisedUnreached
from kdissect.rules.metadata.epoch_went_back import EpochWentBack
from kdissect.rules.metadata.isr_not_replicas import IsrNotReplicas
from kdissect.rules.metadata.missing_topic_id import MissingTopicId
from kdissect.rules.metadata.topic_id_too_early import TopicIdTooEarly
from kdissect.rules.metadata.two_leaders import TwoLeaders
from kdissect.rules.metadata.unknown_leader import UnknownLeader
from kdissect.rules.pairing.acks0_response import Acks0Response
from kdissect.rules.pairing.deep_pipeline import DeepPipeline
from kdissect.rules.pairing.duplicate_response import DuplicateResponse
from kdissect.rules.pairing.other_count import OtherCount
from kdissect.rules.pairing.other_partitions import OtherPartitions
from kdissect.rules.pairing.out_of_order_response import OutOfOrderResponse
from kdissect.rules.pairing.slow_response import SlowResponse
from kdissect.rules.pairing.throttle_ignored import ThrottleIgnored
from kdissect.rules.pairing.unanswered_request import UnansweredRequest
from kdissect.rules.pairing.unsolicited_response import UnsolicitedResponse
from kdissect.rules.produce.epoch_not_from_zero import EpochNotFromZero
from kdissect.rules.produce.id_never_given import IdNeverGiven
from kdissect.rules.produce.invalid_acks import InvalidAcks
from kdissect.rules.produce.mixed_producer_fields import MixedProducerFields
from kdissect.rules.produce.no_records import NoRecords
from kdissect.rules.produce.other_transactional_id import OtherTransactionalId
from kdissect.rules.produce.sequence_gap import SequenceGap
from kdissect.rules.produce.too_many_in_flight import TooManyInFlight
from kdissect.rules.produce.weak_acks import WeakAcks
from kdissect.rules.records.registry import RECORD_RULES
from kdissect.rules.rule import Rule
from kdissect.rules.sasl.authenticate_after_v0 import AuthenticateAfterV0
from kdissect.rules.sasl.bad_plain_token import BadPlainToken
from kdissect.rules.sasl.bad_scram_token import BadScramToken
from kdissect.rules.sasl.handshake_again import HandshakeAgain
from kdissect.rules.sasl.late_api_versions import LateApiVersions
from kdissect.rules.sasl.login_refused import LoginRefused
from kdissect.rules.sasl.mechanism_changed import MechanismChanged
from kdissect.rules.sasl.mechanism_not_offered import MechanismNotOffered
from kdissect.rules.sasl.no_handshake import NoHandshake
from kdissect.rules.sasl.other_principal import OtherPrincipal
from kdissect.rules.sasl.request_before_authentication import RequestBeforeAuthentication
from kdissect.rules.sasl.session_expired import SessionExpired
from kdissect.rules.sasl.used_after_failure import UsedAfterFailure
from kdissect.rules.sasl.visible_credentials import VisibleCredentials
from kdissect.rules.telemetry.codec_not_accepted import CodecNotAccepted
from kdissect.rules.telemetry.not_otlp import NotOtlp
from kdissect.rules.telemetry.other_subscription import OtherSubscription
from kdissect.rules.telemetry.pushed_after_end import PushedAfterEnd
from kdissect.rules.telemetry.pushed_too_early import PushedTooEarly
from kdissect.rules.telemetry.too_large import MetricsTooLarge
from kdissect.rules.transactions.bad_timeout import BadTransactionTimeout
from kdissect.rules.transactions.broker_version_from_client import BrokerVersionFromClient
from kdissect.rules.transactions.empty_transactional_id import EmptyTransactionalId
from kdissect.rules.transactions.end_without_begin import EndWithoutBegin
from kdissect.rules.transactions.joined_twice import JoinedTwice
from kdissect.rules.transactions.other_marker import OtherMarker
from kdissect.rules.transactions.other_producer import OtherProducer
from kdissect.rules.transactions.produced_before_added import ProducedBeforeAdded
from kdissect.rules.transactions.produced_while_ending import ProducedWhileEnding
from kdissect.rules.versions.advertised_above_known import AdvertisedAboveKnown
from kdissect.rules.versions.advertised_but_dropped import AdvertisedButDropped
from kdissect.rules.versions.api_versions_body import ApiVersionsBody
from kdissect.rules.versions.api_versions_not_listed import ApiVersionsNotListed
from kdissect.rules.versions.bad_fallback import BadFallback
from kdissect.rules.versions.bad_ranges import BadRanges
from kdissect.rules.versions.client_software import ClientSoftware
from kdissect.rules.versions.dropped_version import DroppedVersion
from kdissect.rules.versions.fallback_in_request_version import FallbackInRequestVersion
from kdissect.rules.versions.ignored_fallback import IgnoredFallback
from kdissect.rules.versions.no_api_versions import NoApiVersions
from kdissect.rules.versions.not_advertised import NotAdvertised
from kdissect.rules.versions.old_produce_refused import OldProduceRefused
from kdissect.rules.versions.refused_by_close import RefusedByClose
from kdissect.rules.versions.response_in_other_version import ResponseInOtherVersion
from kdissect.rules.versions.unstable_version import UnstableVersion

# Codes are never used again, not even those of rules that are gone.
ALL_RULES: tuple[Rule, ...] = (
    TlsToPlaintext(),
    PlaintextToTls(),
    CertificateName(),
    TlsRefused(),
    HttpRequest(),
    ClosedAtOnce(),
    BadFrameSize(),
    RequestTooLarge(),
    SaslFrameTooLarge(),
    FrameTooShort(),
    FrameCutByClose(),
    MalformedHeader(),
    NegativeVersion(),
    WrongHeaderVersion(),
    HeaderTags(),
    ClientIdMissing(),
    ClientIdChanges(),
    ClientIdNotUtf8(),
    ReusedCorrelationId(),
    CorrelationIdOrder(),
    UnknownApi(),
    UnknownVersion(),
    NotAdvertised(),
    NoApiVersions(),
    BadFallback(),
    FallbackInRequestVersion(),
    IgnoredFallback(),
    BadRanges(),
    ApiVersionsNotListed(),
    ClientSoftware(),
    ApiVersionsBody(),
    UnstableVersion(),
    ResponseInOtherVersion(),
    OldProduceRefused(),
    AdvertisedButDropped(),
    RefusedByClose(),
    AdvertisedAboveKnown(),
    DroppedVersion(),
    TrailingBytes(),  # behind the rules that know why bytes are left over
    BodyTooShort(),
    LengthBeyondFrame(),
    NullNotAllowed(),
    NegativeLength(),
    VarintTooLong(),
    TagSizeMismatch(),
    LongVarint(),
    TagOrder(),
    DuplicateTag(),
    UnknownTag(),
    TagOfOtherVersion(),
    TaggedDefault(),
    NotUtf8(),
    StringTooLong(),
    OddBoolean(),
    OddMarker(),
    UnknownEnumValue(),
    UnknownErrorCode(),
    ZeroTopicId(),
    ReservedTopicId(),
    NegativePartition(),
    RepeatedPartition(),
    NegativeThrottle(),
    NegativeTimeout(),
    MessageWithoutError(),
    IllegalTopicName(),
    OddReplicaId(),
    UnsolicitedResponse(),
    OutOfOrderResponse(),
    DuplicateResponse(),
    Acks0Response(),
    UnansweredRequest(),
    DeepPipeline(),
    SlowResponse(),
    OtherPartitions(),
    OtherCount(),
    ThrottleIgnored(),
    VisibleCredentials(),
    RequestBeforeAuthentication(),
    HandshakeAgain(),
    NoHandshake(),
    AuthenticateAfterV0(),
    MechanismChanged(),
    SessionExpired(),
    UsedAfterFailure(),
    LateApiVersions(),
    BadPlainToken(),
    BadScramToken(),
    OtherPrincipal(),
    MechanismNotOffered(),
    LoginRefused(),
    TopicIdTooEarly(),
    UnknownLeader(),
    IsrNotReplicas(),
    MissingTopicId(),
    EpochWentBack(),
    TwoLeaders(),
    AdvertisedUnreached(),
    InvalidAcks(),
    NoRecords(),
    WeakAcks(),
    SequenceGap(),
    EpochNotFromZero(),
    MixedProducerFields(),
    OtherTransactionalId(),
    TooManyInFlight(),
    IdNeverGiven(),
    IncrementWithoutSession(),
    ForgottenInFullFetch(),
    OddLimits(),
    UnrequestedPartition(),
    OffsetsOutOfOrder(),
    AbortedOutOfOrder(),
    LateFetch(),
    EarlyFetch(),
    BadAckBatches(),
    RenewTooEarly(),
    BadAcquiredRecords(),
    WrongSessionEpoch(),
    UnknownSession(),
    PartitionOutsideSession(),
    NamesAndIdsMixed(),
    WrongShareEpoch(),
    AcknowledgedAtOpening(),
    ErrorWithData(),
    EmptyGroupId(),
    MemberIdRequiredTooEarly(),
    ProtocolNotOffered(),
    IncompleteJoin(),
    MissingMemberId(),
    StaticLeaveWithoutInstance(),
    BadShareJoin(),
    OddCommit(),
    BadSubscription(),
    WrongGeneration(),
    GivenIdUnused(),
    AssignmentsOfFollower(),
    AssignmentToStranger(),
    OtherProtocol(),
    WrongMemberEpoch(),
    OtherMemberId(),
    SilentMember(),
    RebalanceIgnored(),
    GenerationBack(),
    LeaderNotMember(),
    TwoProtocols(),
    *RECORD_RULES,
    BadTransactionTimeout(),
    EmptyTransactionalId(),
    BrokerVersionFromClient(),
    ProducedBeforeAdded(),
    EndWithoutBegin(),
    ProducedWhileEnding(),
    OtherProducer(),
    JoinedTwice(),
    OtherMarker(),
    OtherBrokerEpoch(),
    BrokerEpochBack(),
    QuorumEpochBack(),
    SnapshotPosition(),
    MetricsTooLarge(),
    OtherSubscription(),
    PushedTooEarly(),
    CodecNotAccepted(),
    PushedAfterEnd(),
    NotOtlp(),
    UnknownSpecialTime(),
    OldOffsetsOrder(),
    CountAndAssignment(),
    DefaultCountTooEarly(),
    BadAssignment(),
    NameAndId(),
    FilterInAcl(),
    BadQuotaMatch(),
    WeakScram(),
    ConflictingConfig(),
    OddDeleteOffset(),
    BadElection(),
    CursorDoesNotAdvance(),
    NestedEnvelope(),
    CollidingTopicNames(),
)


def rule_by(word: str) -> Rule | None:
    """The rule with this code or name."""
    return next((rule for rule in ALL_RULES if word.upper() == rule.code or word == rule.name), None)
