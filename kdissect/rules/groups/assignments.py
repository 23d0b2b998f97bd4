"""Rules: assignments of a generation's leader, and assignments that members receive."""

from kdissect.history.groups.group_assignments import AssignmentFact
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import FactRule


class OtherAssignment(FactRule):
    """A coordinator must hand on the assignment that the leader sent.

    SyncGroup of the leader carries what each member gets, and each member is answered with its own bytes. A
    member that gets others reads partitions that another one reads, or none.

    Example: `t-0` sent for a member, which is answered with `t-3`.

    What to do: look for two coordinators of one group.
    """

    code = "GRP022"
    name = "other-assignment"
    who = Who.BROKER
    cites = (
        "spec/000 SyncGroup API",
        "org.apache.kafka.coordinator.group.GroupMetadataManager#classicGroupSyncToClassicGroup",
    )
    facts = (AssignmentFact.DIFFERS,)
    expects = "{}, as the leader sent"
    sees = "{}"


class SharedPartition(FactRule):
    """A partition should be assigned to one member of a group.

    With range, roundrobin, sticky and cooperative-sticky every partition has one reader. With two, each
    record is read twice, and the commits of both overwrite each other. Assignors with other names may mean
    it.

    Example: `t-0` for `a` and for `b`.

    What to do: look at the assignor of the leader's client.
    """

    code = "GRP023"
    name = "shared-partition"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("spec/000 SyncGroup API", "org.apache.kafka.clients.consumer.StickyAssignor")
    facts = (AssignmentFact.SHARED,)
    expects = "it for {} alone"
    sees = "{}"


class UnreadableAssignment(FactRule):
    """The leader of a consumer group must send valid assignments.

    Members of protocol type `consumer` read topics and partitions after a version. No bytes at all assign
    nothing. Bytes after the fields are legal in newer versions.

    Example: three bytes, or a count of topics that do not follow.

    What to do: write version, topics with partitions, and user data.
    """

    code = "GRP024"
    name = "unreadable-assignment"
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("org.apache.kafka.clients.consumer.internals.ConsumerProtocol#deserializeAssignment",)
    facts = (AssignmentFact.UNREADABLE,)
    expects = "a ConsumerProtocolAssignment"
    sees = "{} of another form"


class UnsubscribedTopic(FactRule):
    """A leader should assign topics that the member subscribed to.

    A member says in JoinGroup which topics it reads. It refuses other partitions, or no member reads them.
    With range, roundrobin, sticky and cooperative-sticky the leader takes topics from there. Assignors
    with other names may mean it.

    Example: `a` joins for topic `t`, and is assigned a partition of `u`.

    What to do: look at the assignor of the leader's client.
    """

    code = "GRP035"
    name = "unsubscribed-topic"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("spec/000 SyncGroup API", "org.apache.kafka.clients.consumer.StickyAssignor")
    facts = (AssignmentFact.NOT_SUBSCRIBED,)
    expects = "{}, as the member joined for"
    sees = "{}"
