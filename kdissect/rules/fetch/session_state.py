"""Rules: ids, epochs and partitions of fetch sessions."""

from kdissect.history.sessions.fetch_sessions import FetchFact
from kdissect.history.sessions.share_sessions import ShareFact
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import FactRule


class WrongSessionEpoch(FactRule):
    """The epochs of a fetch session must count up by one.

    After 2147483647 comes 1. Brokers answer INVALID_FETCH_SESSION_EPOCH. Epochs of other connections count
    where the broker refuses: both sides of a NAT show one connection twice.

    Example: epoch 3 after epoch 1.

    What to do: count each answered fetch. Begin a new session after a lost one.
    """

    code = "FET012"
    name = "wrong-session-epoch"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-227 FetchRequest Metadata meaning",
        "org.apache.kafka.common.requests.FetchMetadata#nextEpoch",
    )
    facts = (FetchFact.EPOCH_DIFFERS,)


class UnknownSession(FactRule):
    """An incremental fetch must name a session the broker gave.

    Brokers answer FETCH_SESSION_ID_NOT_FOUND. Sessions from before the capture are left out.

    Example: session 9 after session id 7.

    What to do: begin with session 0 and epoch 0.
    """

    code = "FET013"
    name = "unknown-session"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-227 FetchRequest Metadata meaning", "org.apache.kafka.server.FetchManager#newContext")
    facts = (FetchFact.UNKNOWN_SESSION,)
    expects = "a session that the broker gave"
    sees = "{}"


class PartitionOutsideSession(FactRule):
    """A fetch session must answer for its own partitions.

    Clients drop the records of other partitions, or fail.

    Example: partition 6 answered where the session holds partition 5.

    What to do: keep the session and its answers together.
    """

    code = "FET014"
    name = "partition-outside-session"
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("org.apache.kafka.clients.FetchSessionHandler#verifyIncrementalFetchResponsePartitions",)
    facts = (FetchFact.STRANGE_PARTITION,)
    expects = "partitions of the session"
    sees = "partition {}"


class NamesAndIdsMixed(FactRule):
    """A fetch session must not go over from topic names to ids, or back.

    Brokers answer FETCH_SESSION_TOPIC_ID_ERROR. Java clients do so when a topic is created again, and begin a
    new session then.

    Example: Fetch v12 opens a session, v13 goes on with it.

    What to do: open a new session with the other version.
    """

    code = "FET015"
    name = "names-and-ids-mixed"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-516 Proposed Changes", "org.apache.kafka.server.FetchManager#newContext")
    facts = (FetchFact.TOPIC_IDS_MIXED,)
    expects = "topic {}, as in the session"
    sees = "topic {}"


class OtherSession(FactRule):
    """An incremental fetch must be answered in its session.

    The answer names the session of the request, or 0 where the broker ended it. Clients take a different id
    for a response to another client, and begin again.

    Example: a fetch in session 7, and an answer that names session 9.

    What to do: keep the session and its answers together.
    """

    code = "FET022"
    name = "other-session"
    who = Who.BROKER
    cites = ("KIP-227 FetchRequest Metadata meaning", "org.apache.kafka.server.FetchManager#newContext")
    facts = (FetchFact.OTHER_SESSION,)
    expects = "session {}, or 0"
    sees = "session {}"


class OffsetsBack(FactRule):
    """The high watermark and the log start of a partition should not go back.

    The rule compares within one fetch session of one broker. Records that were readable before are lost,
    or come back. Legal after an unclean election. Inconclusive up to v12: a topic that was deleted and
    created again under its name has a new log.

    Example: high watermark 500, then 6.

    What to do: look for an election, or for a broker that lost its log.
    """

    code = "FET025"
    name = "offsets-back"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("KIP-227 FetchRequest Metadata meaning", "KIP-320 Proposed Changes")
    facts = (FetchFact.OFFSET_BACK,)
    ids_from = 13  # KIP-516
    expects = "{} or more, as reported before"
    sees = "{}"


class EpochBeyondSession(FactRule):
    """A leader must not give batches of a higher leader epoch than its fetch session asks for.

    A session keeps the epoch that a request named for a partition. The leader refuses the partition if its
    own epoch is another one (FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH). So no leader before it wrote with a
    higher epoch. REC044 applies this check to partitions that the request names.

    Example: a session that asks for epoch 2, no error, and a batch of epoch 9.

    What to do: look for a log that was written by two leaders, or for what changes batches on their way.
    """

    code = "FET030"
    name = "epoch-beyond-session"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = (
        "KIP-320 Proposed Changes",
        "KIP-227 FetchRequest Metadata meaning",
        "kafka.cluster.Partition#checkCurrentLeaderEpoch",
    )
    facts = (FetchFact.EPOCH_BEYOND,)
    expects = "{} or less, the epoch that the session asks for"
    sees = "epoch {}"


class RightEpochRefused(FactRule):
    """A broker must accept the next epoch of a fetch session or share session.

    Each accepted request raises the epoch by one. A broker that lost the session answers
    FETCH_SESSION_ID_NOT_FOUND or SHARE_SESSION_NOT_FOUND. The rule compares requests of one connection.

    Example: epoch 4 is accepted, and epoch 5 is refused with INVALID_FETCH_SESSION_EPOCH.

    What to do: look for a proxy that lets two clients use one session.
    """

    code = "FET033"
    name = "right-epoch-refused"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = (
        "KIP-227 FetchRequest Metadata meaning",
        "org.apache.kafka.server.FetchManager#newContext",
        "kafka.server.share.SharePartitionManager#newContext",
    )
    facts = (FetchFact.RIGHT_EPOCH_REFUSED, ShareFact.RIGHT_EPOCH_REFUSED)
    expects = "epoch {} accepted"
    sees = "error code {}"


class WrongShareEpoch(FactRule):
    """The epochs of a share session must count up by one.

    ShareFetch and ShareAcknowledge count together. Brokers answer INVALID_SHARE_SESSION_EPOCH.

    Example: epoch 3 after epoch 1.

    What to do: count each answered request. Begin again after a lost one.
    """

    code = "FET016"
    name = "wrong-share-epoch"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-932 Public Interfaces", "org.apache.kafka.common.requests.ShareRequestMetadata#nextEpoch")
    facts = (ShareFact.EPOCH_DIFFERS,)


class AcknowledgedAtOpening(FactRule):
    """A share session must not open with acknowledgements.

    The member has acquired no records in it yet. Brokers answer INVALID_REQUEST.

    Example: share_session_epoch 0 with acknowledgement batches.

    What to do: acknowledge within the session that acquired.
    """

    code = "FET017"
    name = "acknowledged-at-opening"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-932 Public Interfaces", "kafka.server.share.SharePartitionManager#newContext")
    facts = (ShareFact.ACKNOWLEDGED_AT_OPENING,)
    expects = "no acknowledgements"
    sees = "acknowledgements"


class NeverAcquired(FactRule):
    """A member should acknowledge what it holds, once.

    A member receives records with ShareFetch, and accepts, releases or rejects them. Then it does not hold
    them any more. Brokers answer INVALID_RECORD_STATE, or ignore offsets that they are done with.

    Example: offsets 0 to 4 acquired, 5 to 9 acknowledged.

    What to do: acknowledge the ranges of acquired_records.
    """

    code = "FET023"
    name = "never-acquired"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("KIP-932 Proposed Changes",)
    facts = (ShareFact.NEVER_ACQUIRED,)
    expects = "offsets that the member holds"
    sees = "{}"
