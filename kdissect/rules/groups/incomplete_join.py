"""GRP004: A consumer that joins (epoch 0) must send its timeout, its subscription and no partitions."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


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

    def check(self, body: Body) -> Iterator[Violation]:
        """The fields of a join."""
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
