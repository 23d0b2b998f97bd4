"""Rules: heartbeats by which members of new groups join and leave."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.guards import Among, Below, Empty
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


class IncompleteJoin(BodyRule):
    """A consumer that joins (epoch 0) must send its timeout, its subscription and no partitions.

    Brokers answer INVALID_REQUEST to a ConsumerGroupHeartbeat with epoch 0 that lacks one of them.

    Example: member_epoch 0 and rebalance_timeout_ms -1.

    What to do: send everything with epoch 0, and later only what changed.
    """

    code = "GRP004"
    name = "incomplete-join"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-848 Public Interfaces",
        "org.apache.kafka.coordinator.group.GroupCoordinatorService#throwIfConsumerGroupHeartbeatRequestIsInvalid",
    )
    on = (("ConsumerGroupHeartbeat", REQUEST),)
    guard = (Among((".member_epoch",), frozenset({0})),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the fields of a join."""
        value = body.value
        if value.member_epoch != 0:
            return
        if value.rebalance_timeout_ms == -1:
            yield body.violation("rebalance_timeout_ms", "a timeout", "-1")
        if value.topic_partitions is None or value.topic_partitions:
            yield body.violation(
                "topic_partitions",
                "an empty list",
                "null" if value.topic_partitions is None else "partitions",
            )
        if value.subscribed_topic_names is None and getattr(value, "subscribed_topic_regex", None) is None:
            yield body.violation("subscribed_topic_names", "names or a regular expression", "null")


class MissingMemberId(BodyRule):
    """A member must choose its own id.

    From ConsumerGroupHeartbeat v1 on, and in share groups, the client makes up a UUID, so that a lost answer
    does not leave a ghost. Brokers answer INVALID_REQUEST.

    Example: member_id "" in v1.

    What to do: draw a UUID when the consumer starts.
    """

    code = "GRP005"
    name = "missing-member-id"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-1082 Proposed Changes",
        "org.apache.kafka.coordinator.group.GroupCoordinatorService#throwIfConsumerGroupHeartbeatRequestIsInvalid",
    )
    on = (("ConsumerGroupHeartbeat", REQUEST), ("ShareGroupHeartbeat", REQUEST))
    versions = Versions(1, NO_UPPER_BOUND)
    guard = (Empty((".member_id",)),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the field."""
        if body.value.member_id == "":
            yield body.violation("member_id", "a UUID", "an empty string")


class StaticLeaveWithoutInstance(BodyRule):
    """Epoch -2 needs an instance id.

    It says that a static member goes and will be back. Without an instance id it is no static member.

    Example: member_epoch -2 and instance_id null.

    What to do: send -1.
    """

    code = "GRP006"
    name = "static-leave-without-instance"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-848 Public Interfaces",
        "org.apache.kafka.coordinator.group.GroupCoordinatorService#throwIfConsumerGroupHeartbeatRequestIsInvalid",
    )
    on = (("ConsumerGroupHeartbeat", REQUEST),)
    guard = (Among((".member_epoch",), frozenset({-2})),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the instance id next to the epoch."""
        if body.value.member_epoch == -2 and body.value.instance_id is None:
            yield body.violation("instance_id", "an instance id with epoch -2", "null")


class BadShareJoin(BodyRule):
    """A share member must join with topics, and its epoch is never below -1.

    Brokers answer INVALID_REQUEST.

    Example: member_epoch 0 and subscribed_topic_names null.

    What to do: send the subscription with epoch 0.
    """

    code = "GRP007"
    name = "bad-share-join"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-932 Public Interfaces",
        "org.apache.kafka.coordinator.group.GroupCoordinatorService#throwIfShareGroupHeartbeatRequestIsInvalid",
    )
    on = (("ShareGroupHeartbeat", REQUEST),)
    overrides = ("GRP015",)  # an epoch that no member has cannot come from the coordinator
    guard = (Below((".member_epoch",), 1),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the epoch and subscription."""
        if body.value.member_epoch == 0 and not body.value.subscribed_topic_names:
            yield body.violation(
                "subscribed_topic_names", "topics with epoch 0", repr(body.value.subscribed_topic_names)
            )
        if body.value.member_epoch < -1:
            yield body.violation("member_epoch", "-1 or more", str(body.value.member_epoch))
