"""State of one producer id, and of its sequences in one partition."""

from collections.abc import Collection
from typing import NamedTuple

from kdissect.history.exchange_view import PartitionKey
from kdissect.history.fact import Evidence, is_answered_before
from kdissect.history.state_table import Table
from kdissect.session.identities import topic_now
from kdissect.session.info import ConnectionInfo

# A broker remembers 5 batches of a producer and partition and knows a retry among them
# (ProducerStateEntry.NUM_BATCHES_TO_RETAIN, KIP-98): a client has no more in flight.
BATCHES_KEPT = 5
PARTITIONS_KEPT = 2_000  # of one producer
CLIENTS_KEPT = 8  # client ids that use one producer id: one, unless they share it wrongly
_MAX_SEQUENCE = 0x7FFFFFFF  # DefaultRecordBatch#incrementSequence: after it comes 0


def next_sequence(base: int, last_offset_delta: int) -> int:
    """Return the sequence after a batch: `base + last_offset_delta + 1`, wrapped as the broker does."""
    return (base + last_offset_delta + 1) & _MAX_SEQUENCE


class Sent(NamedTuple):
    """One batch that was sent."""

    base_sequence: int
    last_offset_delta: int
    evidence: Evidence
    error: int | None = None

    @property
    def fate(self) -> str:
        """The broker's result for it: `accepted`, `error N` or `no answer`."""
        if self.error is None:
            return "no answer"
        return f"error {self.error}" if self.error else "accepted"

    def holds(self, sequence: int) -> bool:
        """Return whether a sequence lies within the batch: a retry may have split it."""
        return (sequence - self.base_sequence) & _MAX_SEQUENCE <= max(0, self.last_offset_delta)


class PartitionSequence:
    """Sequences of a producer in one partition. `losses` of the connection when the last batch was sent.

    `brokers_next` is the sequence that the broker takes next, as far as its responses show: a batch that it
    refused does not move it. None where that is unknown. `topic` is which topic of its name it belongs to, of
    a partition that requests name so (`session.identities`).
    """

    __slots__ = ("brokers_next", "epoch", "losses", "next_offset", "recent", "topic")

    def __init__(self) -> None:
        self.epoch: int | None = None
        self.topic: str | None = None
        self.losses = 0
        self.brokers_next: int | None = None
        self.next_offset = 0
        """The smallest offset that the next new batch can receive: after the last accepted batch."""
        self.recent: list[Sent] = []  # a deque takes 700 bytes for the few

    @property
    def expected(self) -> int | None:
        """The sequence that comes next; None before the first batch of the epoch."""
        if not self.recent:
            return None
        return next_sequence(self.recent[-1].base_sequence, self.recent[-1].last_offset_delta)

    @property
    def is_refused(self) -> bool:
        """Whether the broker did not take the last batch."""
        return bool(self.recent and self.recent[-1].error)

    @property
    def last(self) -> Evidence | None:
        """Where the last batch was sent."""
        return self.recent[-1].evidence if self.recent else None

    def is_full(self, now: Evidence) -> bool:
        """Return whether a broker's full memory of batches was answered only after a request."""
        recent = self.recent
        if len(recent) < BATCHES_KEPT:
            return False
        for sent in recent:  # noqa: SIM110 - the oldest mostly was; a generator costs more than the look
            if is_answered_before(sent.evidence, now):
                return False
        return True

    def continues(self, epoch: int, sequence: int, losses: int, now: Evidence) -> bool:
        """Return whether a batch is the next one, and not one more than a broker remembers."""
        recent = self.recent
        if epoch != self.epoch or losses != self.losses or not recent:
            return False
        base, last_delta, _, _ = recent[-1]
        if sequence != (base + last_delta + 1) & _MAX_SEQUENCE:
            return False
        return len(recent) < BATCHES_KEPT or is_answered_before(recent[0].evidence, now)

    @property
    def last_taken(self) -> Evidence | None:
        """Where the last batch was sent that the broker took."""
        return next((sent.evidence for sent in reversed(self.recent) if sent.error == 0), None)

    def given(self, base_offset: int, last_offset_delta: int) -> bool:
        """Note the offset of a new batch.

        Return False, without a change, if an earlier batch had that offset.
        """
        if base_offset < 0:
            return True
        if base_offset < self.next_offset:
            return False
        self.next_offset = base_offset + max(0, last_offset_delta) + 1
        return True

    def follows_taken(self, sequence: int, lost: Collection[int]) -> bool:
        """Return True if a sequence comes directly after a batch that a broker took.

        Batches in between count if the broker refused them with one of the error codes `lost`.
        """
        for _ in self.recent:
            before = next(
                (
                    sent
                    for sent in self.recent
                    if next_sequence(sent.base_sequence, sent.last_offset_delta) == sequence
                ),
                None,
            )
            if before is None or (before.error != 0 and before.error not in lost):
                return False
            if before.error == 0:
                return True
            sequence = before.base_sequence
        return False

    def took_before(self, now: Evidence) -> bool:
        """Return whether a broker accepted a batch of this epoch, and did so before a request."""
        return any(sent.error == 0 and is_answered_before(sent.evidence, now) for sent in self.recent)

    def begin(self, epoch: int) -> None:
        """Sequences start again in a new epoch."""
        self.epoch = epoch
        self.brokers_next = None
        self.recent.clear()

    def find(self, sequence: int) -> Sent | None:
        """Return the recent batch that contains a sequence."""
        return next((sent for sent in reversed(self.recent) if sent.holds(sequence)), None)

    def sent(self, batch: Sent, losses: int) -> None:
        """Count on from a batch. A retry leaves the count where it was: what follows may be new."""
        self.losses = losses
        if batch.base_sequence == self.expected or self.find(batch.base_sequence) is None:
            self.append(batch)
        elif not batch.error and batch.base_sequence == self.brokers_next:
            # It was refused before.
            self.brokers_next = next_sequence(batch.base_sequence, batch.last_offset_delta)

    def append(self, batch: Sent) -> None:
        """Keep a batch that is no retry."""
        self.recent.append(batch)
        if len(self.recent) > BATCHES_KEPT:
            del self.recent[0]
        if not batch.error:
            self.brokers_next = next_sequence(batch.base_sequence, batch.last_offset_delta)
        elif self.brokers_next is None and not batch.base_sequence:
            self.brokers_next = 0  # the first of an epoch was refused (KIP-360)


class Producer:
    """One producer id.

    `given_by` is the exchange that gave its current epoch, None where that was not captured, `given_at` the
    address of the broker that did. `first_given` is the InitProducerId that gave it in epoch 0, with its
    correlation id and client id. `is_ambiguous` if brokers assigned the id twice, so that its sequences are
    not checked any more.
    """

    __slots__ = (
        "batches", "client_ids", "duplicates", "epoch", "first_given", "given_at", "given_by", "given_epochs",
        "is_ambiguous", "jumps", "partitions", "producer_id", "records", "refusals", "retries",
        "transactional_id",
    )  # fmt: skip

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.epoch: int | None = None
        self.given_by: Evidence | None = None
        self.first_given: tuple[Evidence, int | None, str | None] | None = None
        self.given_at = ""
        self.given_epochs: set[int] = set()
        self.transactional_id: str | None = None
        self.client_ids: dict[str | None, int] = {}
        self.partitions: Table[PartitionKey, PartitionSequence] = Table(PARTITIONS_KEPT)
        self.is_ambiguous = False
        self.batches = self.records = 0
        self.retries = self.jumps = self.duplicates = self.refusals = 0

    @property
    def partitions_forgotten(self) -> bool:
        """Whether it writes to more partitions than the limit."""
        return self.partitions.forgotten > 0

    def partition(self, key: PartitionKey) -> PartitionSequence:
        """Return the sequences of one partition."""
        return self.partitions.get_or(key, PartitionSequence)

    def partition_of(self, info: ConnectionInfo, key: PartitionKey) -> PartitionSequence:
        """Return `partition`, but with a new log for a topic that was deleted and created again under its
        name.
        """
        here = self.partition(key)
        if isinstance(key[0], str):
            topic = topic_now(info, key[0])
            if here.topic not in (None, topic):
                self.partitions.pop(key)
                here = self.partition(key)
            here.topic = topic
        return here

    def client(self, client_id: str | None, times: int = 1) -> None:
        """Note that a client used the id."""
        if client_id in self.client_ids or len(self.client_ids) < CLIENTS_KEPT:
            self.client_ids[client_id] = self.client_ids.get(client_id, 0) + times
