"""Statements that `kdissect conform client` tests on clients that it starts.

Packets alone cannot break them: kdissect has to know which situation it played.

A statement is a rule without a check of its own, so that reports, baselines and `kdissect rules CODE` have it
as they have rules. The docstring is the statement.
"""

from __future__ import annotations

from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.rule import Rule


class ClientStatement(Rule):
    """Base of every statement about a client.

    `overrides` are rules that do not know the situation: they stay silent about its exchange, whether the
    statement holds or not.
    """

    who = Who.CLIENT
    claim = Claim.DIFFERS
    needs = "a client that kdissect starts"


class UsesAdvertisedVersions(ClientStatement):
    """A client sends only versions that the broker advertises."""

    code, name = "CNF100", "uses-advertised-versions"
    cites = ("spec/002 3 MinVersion-MaxVersion semantics",)


class NegotiatesDown(ClientStatement):
    """A client whose ApiVersions request is refused with UNSUPPORTED_VERSION sends it again in a version that
    the response names.
    """

    code, name = "CNF101", "negotiates-down"
    cites = ("KIP-511 Proposed Changes",)


class WorksWithOlderVersions(ClientStatement):
    """A client produces and fetches with the latest versions that it and the broker have in common."""

    code, name, level = "CNF102", "works-with-older-versions", Level.SHOULD
    cites = ("spec/002 4 Latest common version",)


class RefreshesMetadata(ClientStatement):
    """After NOT_LEADER_OR_FOLLOWER or UNKNOWN_TOPIC_ID, or if the leader does not respond any more, a client
    asks for Metadata.
    """

    code, name = "CNF110", "refreshes-metadata"
    cites = ("spec/000 Partitioning and bootstrapping", "KIP-516 Proposed Changes")


class FollowsLeader(ClientStatement):
    """After NOT_LEADER_OR_FOLLOWER, or if the leader does not respond any more, a client sends requests for
    the partition to the leader that Metadata names.
    """

    code, name = "CNF111", "follows-leader"
    cites = ("spec/000 Partitioning and bootstrapping",)


class WaitsForLeader(ClientStatement):
    """After LEADER_NOT_AVAILABLE a client asks for Metadata again."""

    code, name = "CNF112", "waits-for-leader"
    cites = ("spec/000 Error Codes",)


class RepeatsBatch(ClientStatement):
    """A producer sends a batch again that was refused with a retriable error, or lost with its connection."""

    code, name, level = "CNF120", "repeats-batch", Level.SHOULD
    cites = ("spec/000 Error Codes",)


class KeepsSequence(ClientStatement):
    """An idempotent producer sends a batch again to the same partition, with the same producer id, epoch and
    sequence.
    """

    code, name = "CNF121", "keeps-sequence"
    cites = ("KIP-98 Proposed Changes",)


class DropsRefusedBatch(ClientStatement):
    """A producer does not send a batch again that was refused with an error that is not retriable."""

    code, name, level = "CNF122", "drops-refused-batch", Level.SHOULD
    cites = ("spec/000 Error Codes",)


class RetriesProducerId(ClientStatement):
    """After COORDINATOR_LOAD_IN_PROGRESS a producer sends InitProducerId again."""

    code, name = "CNF123", "retries-producer-id"
    cites = ("KIP-98 Proposed Changes",)


class StaysFenced(ClientStatement):
    """After PRODUCER_FENCED a producer sends no request of a transaction with its epoch."""

    code, name = "CNF124", "stays-fenced"
    cites = ("KIP-98 Proposed Changes",)


class NumbersInOrder(ClientStatement):
    """A batch of an idempotent producer has the sequence after that of the batch before, unless it is sent
    again.
    """

    code, name = "CNF125", "numbers-in-order"
    cites = ("KIP-98 Proposed Changes",)


class RetriesOffsetsOfTransaction(ClientStatement):
    """After COORDINATOR_LOAD_IN_PROGRESS a producer sends TxnOffsetCommit again."""

    code, name = "CNF126", "retries-offsets-of-transaction"
    cites = ("spec/000 Error Codes",)


class ResetsOffset(ClientStatement):
    """After OFFSET_OUT_OF_RANGE a consumer does not fetch from the same offset again and again."""

    code, name = "CNF130", "resets-offset"
    cites = ("spec/000 Error Codes",)


class FetchesSameOffset(ClientStatement):
    """After a Fetch without records a consumer continues from the same offset."""

    code, name = "CNF131", "fetches-same-offset"
    cites = ("spec/000 Partitioning and bootstrapping",)


class BeginsNewSession(ClientStatement):
    """After FETCH_SESSION_ID_NOT_FOUND a consumer sends a full Fetch request."""

    code, name = "CNF132", "begins-new-session"
    cites = ("KIP-227 Proposed Changes",)


class KeepsFetchSession(ClientStatement):
    """A consumer that opened a fetch session continues it, or fetches without a session."""

    code, name, level = "CNF133", "keeps-fetch-session", Level.SHOULD
    cites = ("KIP-227 Proposed Changes",)


class FindsCoordinator(ClientStatement):
    """After NOT_COORDINATOR a client sends FindCoordinator."""

    code, name = "CNF140", "finds-coordinator"
    cites = ("spec/000 Error Codes", "spec/000 GroupCoordinator API")


class FollowsCoordinator(ClientStatement):
    """After NOT_COORDINATOR a client sends requests of the group to the node that FindCoordinator names."""

    code, name = "CNF141", "follows-coordinator"
    cites = ("spec/000 GroupCoordinator API",)


class WaitsForCoordinator(ClientStatement):
    """After COORDINATOR_NOT_AVAILABLE a client sends FindCoordinator again."""

    code, name = "CNF142", "waits-for-coordinator"
    cites = ("spec/000 Error Codes",)


class TakesMemberId(ClientStatement):
    """After MEMBER_ID_REQUIRED a consumer joins with the member id of the response."""

    code, name = "CNF150", "takes-member-id"
    cites = ("KIP-394 Proposed Changes",)


class Rejoins(ClientStatement):
    """After REBALANCE_IN_PROGRESS a consumer joins again with its member id."""

    code, name = "CNF151", "rejoins"
    cites = ("spec/000 Error Codes",)


class RejoinsAsNewMember(ClientStatement):
    """After UNKNOWN_MEMBER_ID a consumer joins without its member id, at the latest after a second one."""

    code, name = "CNF152", "rejoins-as-new-member"
    cites = ("spec/000 Error Codes", "KIP-394 Proposed Changes")


class RejoinsNextGeneration(ClientStatement):
    """After ILLEGAL_GENERATION a consumer joins again."""

    code, name = "CNF153", "rejoins-next-generation"
    cites = ("spec/000 Error Codes",)


class RestartsMembership(ClientStatement):
    """After FENCED_MEMBER_EPOCH a consumer of a KIP-848 group joins again with member epoch 0."""

    code, name = "CNF154", "restarts-membership"
    cites = ("KIP-848 Proposed Changes",)


class RespectsThrottle(ClientStatement):
    """After a response with throttle_time_ms a client sends no request on that connection for this time."""

    code, name, level = "CNF160", "respects-throttle", Level.SHOULD
    cites = ("KIP-219 Proposed Changes",)
    overrides = ("PAI010",)


class IgnoresUnknownTagsOfBrokers(ClientStatement):
    """A client ignores tagged fields that it does not know, in the header and in the body."""

    code, name = "CNF170", "ignores-unknown-response-tags"
    cites = ("KIP-482 Proposed Changes",)


class ReadsResponsesInPieces(ClientStatement):
    """A client reads a response whose bytes come in pieces."""

    code, name = "CNF171", "reads-responses-in-pieces"
    cites = ("spec/004 Message Framing",)


class WaitsForResponse(ClientStatement):
    """A client waits for a response that takes 3 s, and continues on the same connection."""

    code, name, level = "CNF172", "waits-for-response", Level.SHOULD
    cites = ("spec/004 Timeout Handling",)


class RepeatsLostRequest(ClientStatement):
    """A client sends Metadata again if the connection was closed in the middle of the response."""

    code, name, level = "CNF173", "repeats-lost-request", Level.SHOULD
    cites = ("spec/000 Partitioning and bootstrapping",)


class MatchesCorrelationIds(ClientStatement):
    """A client does not use a response whose correlation id is that of no request."""

    code, name = "CNF174", "matches-correlation-ids"
    cites = ("spec/004 correlation_id",)


CLIENT_STATEMENTS: tuple[ClientStatement, ...] = tuple(
    sorted((kind() for kind in ClientStatement.__subclasses__()), key=lambda one: one.code)
)
"""Every statement about clients, by code."""
