"""Rules: epochs of brokers and of the metadata quorum, and pieces of its snapshots."""

from kdissect.history.epochs.broker_epochs import BrokerFact
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

    It is the offset of the registration in the metadata log, and tells which process of a broker is the
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


class SnapshotPosition(FactRule):
    """The pieces of a snapshot must follow each other.

    FetchSnapshot asks for the bytes behind those received, or begins anew at 0; the answer has the position
    asked for, and a size that stays. Otherwise the snapshot is not the one the leader has.

    Example: 100 bytes received, position 150 asked for.

    What to do: count the bytes of unaligned_records.
    """

    code = "KRF004"
    name = "snapshot-position"
    severity = Severity.WARNING
    cites = ("KIP-630 Proposed Changes", "org.apache.kafka.raft.KafkaRaftClient#handleFetchSnapshotResponse")
    facts = (SnapshotFact.POSITION_DIFFERS, SnapshotFact.OTHER_POSITION, SnapshotFact.SIZE_DIFFERS)
