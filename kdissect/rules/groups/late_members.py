"""Rules: members that are late."""

from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.kinds import FactRule


class SilentMember(FactRule):
    """A member should be heard of within its session timeout.

    The coordinator takes it out of the group otherwise and answers UNKNOWN_MEMBER_ID. A paused client looks
    the same as one that counts wrongly.

    Example: session timeout 10 s, heartbeats 15 s apart.

    What to do: heartbeat three times as often.
    """

    code = "GRP017"
    name = "session-timeout"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = (
        "spec/000 Heartbeat API",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#expireClassicGroupMemberHeartbeat",
    )
    facts = (ClassicFact.SILENT_TOO_LONG,)
    expects = "a request within {} ms"
    sees = "{} ms of silence"


class RebalanceIgnored(FactRule):
    """A member that learns of a rebalance should join again within the rebalance timeout.

    Heartbeats are answered with REBALANCE_IN_PROGRESS until it does, and it loses its partitions. A
    consumer that is busy between two polls has max.poll.interval.ms for it, and sends it as rebalance
    timeout.

    Example: rebalance timeout 60 s, still heartbeats after 70 s.

    What to do: join again when a heartbeat says so.
    """

    code = "GRP018"
    name = "rejoin-in-time"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("KIP-62 Proposed Changes", "spec/000 JoinGroup API")
    facts = (ClassicFact.REJOIN_OVERDUE,)
    expects = "JoinGroup within {} ms"
    sees = "{} ms, and a heartbeat"
