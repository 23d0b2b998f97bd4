"""Rules: answers to the heartbeats of KIP-848 and its kin."""

from collections.abc import Iterator

from kdissect.decoders.generated.summary import NO_TOPIC_ID
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.guards import All, Among, Below, InRequest, TopicId
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body

_HEARTBEATS = ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
_CITES = ("KIP-848 Public Interfaces", "KIP-932 Public Interfaces", "KIP-1071 Public Interfaces")
_JOIN = 0  # KIP-848: the epoch of a member that joins
_FENCED_MEMBER_EPOCH = 110  # org.apache.kafka.common.protocol.Errors


class NoHeartbeatInterval(BodyRule):
    """A member must receive a heartbeat interval.

    It waits heartbeat_interval_ms before the next heartbeat. With 0 it asks without a pause. The answer to
    one that leaves has none.

    Example: member epoch 3 and heartbeat_interval_ms 0.

    What to do: send the interval of the group with each answer.
    """

    code = "GRP032"
    name = "no-heartbeat-interval"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = _CITES
    on = tuple((name, RESPONSE) for name in _HEARTBEATS)
    guard = (Below((".heartbeat_interval_ms",), 1),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the interval of a member that is in the group."""
        answer = body.value
        if not answer.error_code and answer.member_epoch > 0 and answer.heartbeat_interval_ms <= 0:
            yield body.violation("heartbeat_interval_ms", "more than 0", str(answer.heartbeat_interval_ms))


class FencedAtJoin(BodyRule):
    """A member that joins must not be fenced.

    A member that was fenced releases its partitions, and joins again with epoch 0 and its id. If the
    coordinator still has it in a later epoch, and compares the two, the member cannot join before its session
    times out. Apache Kafka 4.0 does so; 4.4 takes epoch 0.

    Example: member epoch 0, answered with FENCED_MEMBER_EPOCH.

    What to do: take epoch 0 from every member id.
    """

    code = "GRP033"
    name = "fenced-at-join"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("KIP-848 Proposed Changes", *_CITES[1:])
    on = tuple((name, RESPONSE) for name in _HEARTBEATS)
    guard = (
        All(
            (
                Among((".error_code",), frozenset({_FENCED_MEMBER_EPOCH})),
                InRequest(Among((".member_epoch",), frozenset({_JOIN}))),
            )
        ),
    )

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the request's epoch next to the error."""
        asked = body.other()
        if (
            asked is not None
            and asked.member_epoch == _JOIN
            and body.value.error_code == _FENCED_MEMBER_EPOCH
        ):
            yield body.violation("error_code", "a member epoch: the member joins", "FENCED_MEMBER_EPOCH")


class ZeroIdAssigned(BodyRule):
    """A member must be assigned partitions of topics that exist.

    The zero id names none. The member cannot fetch, and no member reads the partitions.

    Example: sixteen zero bytes as the topic id of an assignment.

    What to do: assign the ids that Metadata gives.
    """

    code = "GRP034"
    name = "zero-id-assigned"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-848 Public Interfaces", "org.apache.kafka.common.Uuid#ZERO_UUID")
    on = tuple((name, RESPONSE) for name in _HEARTBEATS[:2])
    guard = (TopicId(frozenset({NO_TOPIC_ID})),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the topics of the assignment."""
        assignment = body.value.assignment
        for index, topic in enumerate(() if assignment is None else assignment.topic_partitions or ()):
            if topic.topic_id == NO_TOPIC_ID:
                yield body.violation(
                    f"assignment.topic_partitions[{index}].topic_id", "the id of a topic", "zero"
                )
