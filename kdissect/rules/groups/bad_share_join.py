"""GRP007: A share member must join with topics, and its epoch is never below -1."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


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
    overrides = ("GRP015",)  # an epoch that no member has is none that it was told

    def check(self, body: Body) -> Iterator[Violation]:
        """Epoch and subscription."""
        if body.value.member_epoch == 0 and not body.value.subscribed_topic_names:
            yield body.violation(
                "subscribed_topic_names", "topics with epoch 0", repr(body.value.subscribed_topic_names)
            )
        if body.value.member_epoch < -1:
            yield body.violation("member_epoch", "-1 or more", str(body.value.member_epoch))
