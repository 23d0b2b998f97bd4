"""Rules: answers to JoinGroup."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import Versions

_MEMBER_ID_REQUIRED = 79


class MemberIdRequiredTooEarly(BodyRule):
    """MEMBER_ID_REQUIRED must not be answered to JoinGroup below v4.

    Older clients do not know the code and give up.

    Example: error 79 to JoinGroup v3.

    What to do: let old clients join at once.
    """

    code = "GRP002"
    name = "member-id-required-too-early"
    who = Who.BROKER
    cites = (
        "KIP-394 Proposed Changes",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#classicGroupJoinNewDynamicMember",
    )
    on = (("JoinGroup", RESPONSE),)
    versions = Versions(0, 3)

    def check(self, body: Body) -> Iterator[Violation]:
        """The error code."""
        if body.value.error_code == _MEMBER_ID_REQUIRED:
            yield body.violation(
                "error_code", "no MEMBER_ID_REQUIRED below v4", f"{_MEMBER_ID_REQUIRED} in v{body.version}"
            )


class ProtocolNotOffered(BodyRule):
    """The protocol of a generation must be one that the member offered.

    Every member must be able to read the assignment.

    Example: `range` offered, `sticky` chosen.

    What to do: choose among what all members have in common.
    """

    code = "GRP003"
    name = "protocol-not-offered"
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = (
        "spec/000 JoinGroup API",
        "org.apache.kafka.coordinator.group.classic.ClassicGroup#selectProtocol",
    )
    on = (("JoinGroup", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """The chosen name against the request's list."""
        asked = body.other()
        if asked is None or body.value.error_code or not body.value.protocol_name:
            return
        offered = [protocol.name for protocol in asked.protocols]
        if body.value.protocol_name not in offered:
            yield body.violation("protocol_name", f"one of {offered}", repr(body.value.protocol_name))
