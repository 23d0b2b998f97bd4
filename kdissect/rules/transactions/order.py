"""Rules: the order of a transaction's requests."""

from collections.abc import Iterable, Iterator

from kdissect.history.fact import Fact
from kdissect.history.producing.transaction_steps import REPEATED, TransactionFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule
from kdissect.rules.rule import RESPONSE, Violation


class ProducedBeforeAdded(FactRule):
    """A partition must be added to a transaction before it is written.

    Up to Produce v11; later versions add it by themselves (KIP-890). Brokers since 3.5 answer
    INVALID_TXN_STATE.

    Example: a transactional batch without AddPartitionsToTxn.

    What to do: wait for the answer to AddPartitionsToTxn.
    """

    code = "TXN004"
    name = "produced-before-added"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-890 Proposed Changes",
        "kafka.server.ReplicaManager#maybeStartTransactionVerificationForPartition",
    )
    facts = (TransactionFact.PRODUCED_BEFORE_ADDED,)
    awaits_end = True  # partitions are added on a connection of their own
    expects = "partitions that were added"
    sees = "partition {}"


class EndWithoutBegin(FactRule):
    """A transaction that was not begun must not be ended.

    Brokers answer INVALID_TXN_STATE. One that ended may be ended the same way again, as after a lost answer.

    Example: EndTxn right after InitProducerId.

    What to do: end only what holds a partition or offsets.
    """

    code = "TXN005"
    name = "end-without-begin"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-98 Proposed Changes", "kafka.coordinator.transaction.TransactionCoordinator#endTransaction")
    facts = (TransactionFact.END_WITHOUT_BEGIN,)
    expects = "a transaction to end"
    sees = "EndTxn, committed {}"

    def check(self, fact: Fact) -> Iterable[Violation]:
        """Return the first end without a transaction."""
        return () if fact.detail == REPEATED else super().check(fact)


class ProducedWhileEnding(FactRule):
    """Nothing must be produced in a transaction while it ends.

    Between EndTxn and its answer a batch may miss its transaction or fall into the next.

    Example: Produce while EndTxn is not answered.

    What to do: wait for the answer.
    """

    code = "TXN006"
    name = "produced-while-ending"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-98 Proposed Changes",)
    facts = (TransactionFact.PRODUCED_WHILE_ENDING,)
    overrides = ("TXN004",)
    expects = "no batch until EndTxn is answered"
    sees = "a batch"


class OtherProducer(FactRule):
    """Transactional requests must name the producer id and epoch given last.

    Brokers answer INVALID_PRODUCER_ID_MAPPING or INVALID_PRODUCER_EPOCH.

    Example: id 5 given, id 6 used.

    What to do: keep what InitProducerId, and EndTxn from v5 on, answered.
    """

    code = "TXN007"
    name = "other-producer"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-98 Proposed Changes",
        "KIP-890 Proposed Changes",
        "kafka.coordinator.transaction.TransactionCoordinator#handleAddPartitionsToTransaction",
    )
    facts = (TransactionFact.OTHER_PRODUCER,)


class OldEpochTaken(FactRule):
    """A coordinator must refuse epochs that are lower than the one it gave last.

    The epoch fences the producer that had the transactional id before: both write, and end each other's
    transactions. Brokers answer INVALID_PRODUCER_EPOCH or PRODUCER_FENCED. That a producer still has its old
    epoch is no fault.

    Example: epoch 4 given, and EndTxn with epoch 3 answered without an error.

    What to do: look for two coordinators of one transactional id, or for lost state.
    """

    code = "TXN010"
    name = "old-epoch-taken"
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("KIP-98 Proposed Changes", "KIP-890 Proposed Changes")
    facts = (TransactionFact.OLD_EPOCH_TAKEN,)

    def check(self, fact: Fact) -> Iterator[Violation]:
        """Yield the violations: the request names the epoch, and the answer takes it."""
        for fault in super().check(fact):
            yield fault._replace(expected="an error code", path="", side=RESPONSE)


class EpochNotTaken(FactRule):
    """A producer must go on with the epoch that EndTxn gave it.

    Since EndTxn v5 each transaction has an epoch of its own, and the response has the next one. The producer
    received it on the connection on which it goes on with the epoch before. Brokers answer
    INVALID_PRODUCER_EPOCH or PRODUCER_FENCED, although no other producer has the transactional id.

    Example: EndTxn v5 gives epoch 1, and the producer sends a batch with epoch 0.

    What to do: take producer id and epoch from each response to EndTxn.
    """

    code = "TXN012"
    name = "epoch-not-taken"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-890 Proposed Changes",)
    facts = (TransactionFact.EPOCH_NOT_TAKEN,)


class OffsetsBeforeAdded(FactRule):
    """A group must be added to a transaction before its offsets are committed in it.

    Up to TxnOffsetCommit v4; later versions add it by themselves (KIP-890). The coordinator of the group
    keeps the offsets, and no request reports the end of the transaction to it: they stay pending.

    Example: TxnOffsetCommit v3 without AddOffsetsToTxn.

    What to do: wait for the answer to AddOffsetsToTxn.
    """

    code = "TXN011"
    name = "offsets-before-added"
    claim = Claim.DIFFERS
    who = Who.CLIENT
    cites = ("KIP-98 Proposed Changes", "KIP-890 Proposed Changes")
    facts = (TransactionFact.OFFSETS_BEFORE_ADDED,)
    expects = "a group that was added"
    sees = "group {}"


class JoinedTwice(FactRule):
    """A producer that adds partitions itself must not use Produce v12 or TxnOffsetCommit v5 and later.

    From these versions on partitions and groups join a transaction by themselves, which brokers do where
    feature transaction.version is 2. A client uses AddPartitionsToTxn, or these versions.

    Example: AddPartitionsToTxn, then Produce v12.

    What to do: look at the finalized features of ApiVersions before choosing.
    """

    code = "TXN008"
    name = "one-way-to-join"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-890 Proposed Changes",)
    facts = (TransactionFact.JOINED_TWICE,)

    def check(self, fact: Fact) -> Iterator[Violation]:
        """Yield the version, which is in the header."""
        for fault in super().check(fact):
            seen = f"version {fact.seen} in a transaction with AddPartitionsToTxn"
            yield fault._replace(expected="one way to join", seen=seen, path="", start=2, end=4)


class OtherMarker(FactRule):
    """The markers of a transaction must say what EndTxn asked for.

    The coordinator sends WriteTxnMarkers to the leaders of all partitions, and readers believe the markers.

    Example: EndTxn to commit, and markers that abort.

    What to do: look at the coordinator. Readers of the topics and the producer saw different ends.
    """

    code = "TXN009"
    name = "marker-as-asked"
    who = Who.CLIENT
    cites = (
        "KIP-98 Proposed Changes",
        "kafka.coordinator.transaction.TransactionMarkerChannelManager#addTxnMarkersToSend",
    )
    facts = (TransactionFact.MARKER_DIFFERS,)

    def check(self, fact: Fact) -> Iterator[Violation]:
        """Yield a violation if they commit."""
        for fault in super().check(fact):
            yield fault._replace(expected=_word(fact.expected), seen=_word(fact.seen), path="")


def _word(committed: object) -> str:
    return "markers that commit" if committed else "markers that abort"
