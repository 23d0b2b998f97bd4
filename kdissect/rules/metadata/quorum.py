"""Rules: epochs of brokers and the metadata quorum, and pieces of its snapshots."""

from collections.abc import Iterator

from kdissect.history.epochs.broker_epochs import BrokerFact
from kdissect.history.epochs.own_counters import CounterFact
from kdissect.history.epochs.quorum_choices import ChoiceFact
from kdissect.history.epochs.quorum_epochs import QuorumFact
from kdissect.history.sessions.snapshot_fetches import SnapshotFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import BodyRule, FactRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class OtherBrokerEpoch(FactRule):
    """BrokerHeartbeat must carry the epoch of the broker's last registration.

    Controllers answer STALE_BROKER_EPOCH: an older process of the same id must not keep it alive.

    Example: epoch 12 registered, heartbeats with 7.

    What to do: keep the epoch that BrokerRegistration answered.
    """

    code = "KRF001"
    name = "broker-epoch"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-631 Proposed Changes", "org.apache.kafka.controller.ClusterControlManager#checkBrokerEpoch")
    facts = (BrokerFact.OTHER_EPOCH,)
    expects = "broker epoch {}"
    sees = "broker epoch {}"


class BrokerEpochBack(FactRule):
    """The epoch of a registration must be higher than that of the one before.

    It is the offset of the registration in the metadata log, and shows which process of a broker is the
    newest. The rule skips a registration in another cluster, or without any log directory of the one before:
    the metadata log may be a new one.

    Example: epoch 12, then 9.

    What to do: look whether the brokers belong to one cluster, and whether its log was lost.
    """

    code = "KRF002"
    name = "broker-epoch-rises"
    who = Who.BROKER
    cites = ("KIP-631 Proposed Changes", "org.apache.kafka.controller.ClusterControlManager#registerBroker")
    facts = (BrokerFact.WENT_BACK,)
    expects = "a broker epoch above {}"
    sees = "broker epoch {}"


class QuorumEpochBack(FactRule):
    """The epoch that a node of the metadata quorum names must not go back.

    In Vote, BeginQuorumEpoch, EndQuorumEpoch, FetchSnapshot and Fetch of the metadata log, and in their
    answers. A node keeps it over restarts, so that it votes once in an epoch.

    Example: epoch 5 in a Vote, then 4.

    What to do: look whether the node lost its quorum-state file.
    """

    code = "KRF003"
    name = "quorum-epoch"
    severity = Severity.WARNING
    cites = ("KIP-595 Proposed Changes", "org.apache.kafka.raft.QuorumState#transitionToUnattached")
    facts = (QuorumFact.WENT_BACK,)
    expects = "epoch {} or higher"
    sees = "epoch {}"


class CountedBack(FactRule):
    """A counter of a broker or controller must not go back on a connection.

    A controller closes its connections when it resigns, so that the controller_epoch of a connection stays or
    rises. A broker applies the metadata log in its order, and names in current_metadata_offset how far it is.
    A broker that wants to shut down goes on to want it. The controller raises leader_epoch and
    partition_epoch of a partition with each change, and gives each block of producer ids once. In
    DescribeQuorum the leader_epoch of the metadata log rises, and its high_watermark while one leader leads.
    Compared on one connection only, because its two ends are two processes that did not start again.
    Partitions are known by the id of their topic, because a topic that was deleted and created again has a
    new id.

    Example: BrokerHeartbeat with current_metadata_offset 120, then with 90.

    What to do: look for a message that was delayed, or for two senders behind one proxy.
    """

    code = "KRF006"
    name = "counted-back"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    cites = (
        "KIP-631 Proposed Changes",
        "org.apache.kafka.controller.ReplicationControlManager#validateAlterPartitionData",
        "org.apache.kafka.common.protocol.Errors#STALE_CONTROLLER_EPOCH",
    )
    facts = (CounterFact.COUNTED_BACK,)
    expects = "{} or higher"
    sees = "{}"


class OtherNode(FactRule):
    """A broker or controller must name its own id.

    One process sends all requests of a connection between brokers and controllers. It names its id as
    broker_id in what a broker asks of a controller, as controller_id in what a controller asks of a broker,
    and as replica_id in Vote and FetchSnapshot.

    Example: BrokerHeartbeat of broker 1, then of broker 2 on the same connection.

    What to do: look for a proxy that puts requests of several brokers on one connection.
    """

    code = "KRF007"
    name = "other-node"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-631 Proposed Changes", "org.apache.kafka.controller.ClusterControlManager#checkBrokerEpoch")
    facts = (CounterFact.OTHER_NODE, QuorumFact.OTHER_NODE)
    expects = "node {}, as before on the connection"
    sees = "{}"


class ChosenTwice(FactRule):
    """A node of the metadata quorum must choose once.

    In an epoch it votes for one candidate, and follows one leader. It stores both, so that they last
    over a restart. Two leaders of one epoch write two logs. Votes that only ask whether an election may win
    (pre_vote) do not count.

    Example: a node grants its vote to candidate 2 in epoch 5, and to candidate 3 in epoch 5.

    What to do: look whether the node lost its quorum-state file, or whether two nodes have one address.
    """

    code = "KRF008"
    name = "chosen-twice"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = (
        "KIP-595 Proposed Changes",
        "org.apache.kafka.raft.QuorumState#transitionToUnattached",
    )
    facts = (ChoiceFact.OTHER_CANDIDATE, ChoiceFact.OTHER_LEADER)
    expects = "node {}, as before"
    sees = "node {}"


class HeartbeatUnheard(BodyRule):
    """A controller must act on what a broker's heartbeat wants.

    It lets a broker shut down only if the heartbeat asks for that. A broker that wants to be fenced, and does
    not want to shut down, is fenced.

    Example: want_shut_down false, answered with should_shut_down true.

    What to do: look for a response to the heartbeat of another broker.
    """

    code = "KRF009"
    name = "heartbeat-unheard"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = (
        "KIP-631 Proposed Changes",
        "org.apache.kafka.controller.BrokerHeartbeatManager#calculateNextBrokerState",
    )
    on = (("BrokerHeartbeat", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Both wishes of a heartbeat."""
        asked, answered = body.other(), body.value
        if asked is None or answered.error_code or asked.want_shut_down:
            return
        if answered.should_shut_down:
            yield body.violation("should_shut_down", "False: want_shut_down is not set", "True")
        if asked.want_fence and not answered.is_fenced:
            yield body.violation("is_fenced", "True, as want_fence", "False")


class SnapshotPosition(FactRule):
    """The pieces of a snapshot must follow each other.

    FetchSnapshot asks for the bytes after those received, or begins again at 0. The response is of the same
    snapshot, and has the position asked for and a size that stays. If not, the snapshot is not the one that
    the leader has.

    Example: 100 bytes received, position 150 asked for.

    What to do: count the bytes of unaligned_records.
    """

    code = "KRF004"
    name = "snapshot-position"
    severity = Severity.WARNING
    cites = ("KIP-630 Proposed Changes", "org.apache.kafka.raft.KafkaRaftClient#handleFetchSnapshotResponse")
    facts = (
        SnapshotFact.POSITION_DIFFERS,
        SnapshotFact.OTHER_POSITION,
        SnapshotFact.SIZE_DIFFERS,
        SnapshotFact.OTHER_SNAPSHOT,
    )
