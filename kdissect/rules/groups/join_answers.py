"""Rules: answers to JoinGroup and SyncGroup."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions

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
        """Yield the error code."""
        if body.value.error_code == _MEMBER_ID_REQUIRED:
            yield body.violation(
                "error_code", "no MEMBER_ID_REQUIRED below v4", f"{_MEMBER_ID_REQUIRED} in v{body.version}"
            )


class OtherMemberJoined(BodyRule):
    """A member that joins with its member id must be answered with that id.

    The coordinator draws an id for a member that has none. It never replaces the id of a member: it
    answers UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.

    Example: member `m` asks, member `x` is answered without an error.

    What to do: answer for the member of the request.
    """

    code = "GRP038"
    name = "other-member-joined"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = (
        "spec/000 JoinGroup API",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#classicGroupJoinExistingMember",
    )
    on = (("JoinGroup", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the id of an answer without an error."""
        asked, answer = body.other(), body.value
        if asked is None or answer.error_code or not asked.member_id:
            return
        if answer.member_id != asked.member_id:
            yield body.violation("member_id", repr(asked.member_id), repr(answer.member_id))


class OtherProtocolSynced(BodyRule):
    """A SyncGroup must be answered with the protocol that it names.

    Members name the protocol of their generation from v5 on. The coordinator answers
    INCONSISTENT_GROUP_PROTOCOL to different protocols.

    Example: `range` in the request, `sticky` in the answer, and no error.

    What to do: answer with the protocol of the generation.
    """

    code = "GRP039"
    name = "other-protocol-synced"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("KIP-559 Proposed Changes",)
    on = (("SyncGroup", RESPONSE),)
    versions = Versions(5, NO_UPPER_BOUND)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the type and name, where both sides have them."""
        asked, answer = body.other(), body.value
        if asked is None or answer.error_code:
            return
        for field in ("protocol_type", "protocol_name"):
            wanted, seen = getattr(asked, field), getattr(answer, field)
            if None not in (wanted, seen) and wanted != seen:
                yield body.violation(field, repr(wanted), repr(seen))


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
        """Yield the chosen name against the request's list."""
        asked = body.other()
        if asked is None or body.value.error_code or not body.value.protocol_name:
            return
        offered = [protocol.name for protocol in asked.protocols]
        if body.value.protocol_name not in offered:
            yield body.violation("protocol_name", f"one of {offered}", repr(body.value.protocol_name))
