"""State of one transactional id and its transactions."""

from collections import Counter, deque
from enum import StrEnum

from kdissect.history.fact import Evidence
from kdissect.model.packets.packet import NEVER_NS

ENDED_KEPT = 100  # ended transactions of one id. Earlier ones are only counted
PARTITIONS_KEPT = 2_000  # of one transaction


class TransactionState(StrEnum):
    """Where a transactional id stands."""

    UNKNOWN = "unknown"  # no exchange shows the outcome
    EMPTY = "empty"  # no transaction is open
    ONGOING = "ongoing"


class Outcome(StrEnum):
    """How a transaction ended."""

    COMMITTED = "committed"
    ABORTED = "aborted"  # the producer asked for it, or took its id again itself
    FENCED = "fenced"  # another producer took the transactional id, or the broker said so
    EXPIRED = "expired"  # the coordinator ended it without a request in the capture
    UNKNOWN = "unknown"  # the response with the outcome was not seen


class Transaction:
    """One transaction.

    `began` is None where its beginning was not seen. `wanted` is the producer's request: True to commit,
    False to abort, None before. `added_by_client` says that it named its partitions itself, as before
    KIP-890. `marked` is the result that markers carry, None before one was seen.
    """

    __slots__ = (
        "added_by_client", "batches", "began", "ended", "epoch", "groups", "last_produce_ns", "marked",
        "markers", "offsets", "outcome", "partitions", "producer_id", "records", "wanted", "wanted_by",
    )  # fmt: skip

    def __init__(self, producer_id: int, epoch: int, began: Evidence | None) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.began = began
        self.added_by_client = False
        self.partitions: set[tuple[str | bytes, int]] = set()
        self.groups: set[str] = set()
        self.batches = self.records = self.offsets = 0
        self.last_produce_ns = NEVER_NS
        self.wanted: bool | None = None
        self.wanted_by: Evidence | None = None
        self.outcome: Outcome | None = None
        self.ended: Evidence | None = None
        self.marked: bool | None = None
        self.markers = 0

    def add(self, topic: str | bytes, partition: int) -> None:
        """Add a partition that takes part."""
        if len(self.partitions) < PARTITIONS_KEPT:
            self.partitions.add((topic, partition))


class TransactionalId:
    """One transactional id.

    `producer_id` and `epoch` are the last ones that its owner received, None before that was seen. `current`
    is the open transaction. `ended` are the most recent ended ones, `outcomes` counts all.
    """

    __slots__ = (
        "client_ids", "coordinated", "current", "ended", "epoch", "given_by", "outcomes", "owners",
        "producer_id", "state", "timeout_ms", "transactional_id",
    )  # fmt: skip

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.state = TransactionState.UNKNOWN
        self.producer_id: int | None = None
        self.epoch: int | None = None
        self.given_by: Evidence | None = None
        self.coordinated: Evidence | None = None
        """The last request to the coordinator."""
        self.timeout_ms: int | None = None
        self.owners = 0
        """How often a producer took the id."""
        self.client_ids: set[str | None] = set()
        self.current: Transaction | None = None
        self.ended: deque[Transaction] = deque(maxlen=ENDED_KEPT)
        self.outcomes: Counter[Outcome] = Counter()

    @property
    def last(self) -> Transaction | None:
        """The transaction that ended last."""
        return self.ended[-1] if self.ended else None

    def begin(self, producer_id: int, epoch: int, evidence: Evidence | None) -> Transaction:
        """Begin a transaction, which is open from now on."""
        self.current = Transaction(producer_id, epoch, evidence)
        self.state = TransactionState.ONGOING
        return self.current

    def end(self, outcome: Outcome, evidence: Evidence) -> Transaction | None:
        """End the open transaction."""
        over = self.current
        self.state = TransactionState.EMPTY
        self.current = None
        if over is not None:
            over.outcome, over.ended = outcome, evidence
            self.ended.append(over)
            self.outcomes[outcome] += 1
        return over
