"""A broker's state of a partition's producers, derived again from the batches of its log.

Rules of org.apache.kafka.storage.internals.log.ProducerAppendInfo and ProducerStateEntry:
- A batch of data contains its producer's epoch, last sequence and last offset.
- A marker ends the transaction. One of another epoch (KIP-890 raises it with every transaction) makes the
  broker forget the batches of the epoch before.
- A transaction begins with its first batch of data.
"""

from kdissect.decoders.records.control import control_key
from kdissect.decoders.records.reader import iter_records
from kdissect.engine.exchange_rows import Row
from kdissect.engine.segments.batch_positions import AbortedTransaction
from kdissect.model.record_batch import NO_PRODUCER_ID, RecordBatch

# 250 bytes each. Brokers forget idle ones after a day (producer.id.expiration.ms), so a log has few at once.
MAX_PRODUCERS = 200_000


class ProducerState:
    """The last batch of a producer in its epoch, None for none, and where its open transaction began.

    `is_start_sure`: whether that beginning cannot lie before the batches read.
    """

    __slots__ = ("epoch", "is_start_sure", "last_offset", "last_sequence", "transaction_start")

    def __init__(self, epoch: int, is_start_sure: bool) -> None:
        self.epoch = epoch
        self.is_start_sure = is_start_sure
        self.last_sequence: int | None = None
        self.last_offset: int | None = None
        self.transaction_start: int | None = None


class ProducerStates:
    """`add()` the batches of a partition's log in their order.

    `is_whole` until an offset is missing: compaction took batches away, or they cannot be read. Then nothing
    more is known for sure of the states.
    """

    def __init__(self) -> None:
        self.is_whole = True
        self._states: dict[int, ProducerState] = {}
        self._next_offset: int | None = None
        self._is_from_start = False

    def add(self, batch: RecordBatch) -> tuple[int, AbortedTransaction] | None:
        """Take the next batch. For an abort marker, return its offset and the transaction."""
        if self._next_offset is None:
            self._is_from_start = batch.base_offset == 0
        if not batch.crc_is_right or self._next_offset not in (None, batch.base_offset):
            self.is_whole = False
        if batch.magic > 1:
            self.is_whole &= batch.count == batch.last_offset_delta + 1
        self._next_offset = batch.last_offset + 1
        if batch.producer_id == NO_PRODUCER_ID or not batch.crc_is_right:
            return None
        if batch.is_control:
            return self._add_marker(batch)
        self._add_data(batch)
        return None

    def _state(self, batch: RecordBatch) -> ProducerState | None:
        state = self._states.get(batch.producer_id)
        if state is None and len(self._states) < MAX_PRODUCERS:
            state = self._states[batch.producer_id] = ProducerState(batch.producer_epoch, self._is_from_start)
        if state is None:
            self.is_whole = False
        elif state.epoch != batch.producer_epoch:
            state.epoch = batch.producer_epoch
            state.last_sequence = state.last_offset = None
        return state

    def _add_data(self, batch: RecordBatch) -> None:
        state = self._state(batch)
        if state is None:
            return
        state.last_sequence = batch.last_sequence
        state.last_offset = batch.last_offset
        if batch.is_transactional and state.transaction_start is None:
            state.transaction_start = batch.base_offset

    def _add_marker(self, batch: RecordBatch) -> tuple[int, AbortedTransaction] | None:
        record = next(iter_records(batch, []), None)
        key = control_key(record.key) if record is not None else None
        state = self._state(batch)
        if state is None or key is None or key.name not in ("abort", "commit"):
            return None
        start = state.transaction_start if self.is_whole and state.is_start_sure else None
        state.transaction_start, state.is_start_sure = None, True
        if key.name == "commit":
            return None
        return batch.base_offset, AbortedTransaction(batch.producer_id, start)

    def faults(self, row: Row) -> list[str]:
        """Return the differences of a producer snapshot's entry, which is a row.

        Nothing where the producer was not seen: it may have written before the log begins.
        """
        state = self._states.get(row["producer_id"])
        if state is None or not self.is_whole:
            return []
        found = [
            ("epoch", row["producer_epoch"], state.epoch),
            ("last offset", row["last_offset"], state.last_offset),
            ("last sequence", row["last_sequence"], state.last_sequence),
        ]
        if state.is_start_sure:
            found.append(("open transaction", row["current_txn_first_offset"], state.transaction_start))
        return [f"{name} {says}: the log gives {ours}" for name, says, ours in found if says != ours]
