"""Rules: epochs of brokers and the metadata quorum, and pieces of its snapshots."""

from kdissect.history.epochs.broker_epochs import BrokerFact
from kdissect.history.epochs.own_counters import CounterFact
from kdissect.history.epochs.quorum_epochs import QuorumFact
from kdissect.history.sessions.snapshot_fetches import SnapshotFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


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
    newest.

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
    The controller raises leader_epoch and partition_epoch of a partition with each change. Compared on one
    connection only, because its two ends are two processes that did not start again. Partitions by the id of
    their topic, because a topic that was deleted and created again has a new id.

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


class SnapshotPosition(FactRule):
    """The pieces of a snapshot must follow each other.

    FetchSnapshot asks for the bytes behind those received, or begins again at 0; the answer has the position
    asked for, and a size that stays. Otherwise the snapshot is not the one the leader has.

    Example: 100 bytes received, position 150 asked for.

    What to do: count the bytes of unaligned_records.
    """

    code = "KRF004"
    name = "snapshot-position"
    severity = Severity.WARNING
    cites = ("KIP-630 Proposed Changes", "org.apache.kafka.raft.KafkaRaftClient#handleFetchSnapshotResponse")
    facts = (SnapshotFact.POSITION_DIFFERS, SnapshotFact.OTHER_POSITION, SnapshotFact.SIZE_DIFFERS)
