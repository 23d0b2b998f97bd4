"""Messages of magic 0 and 1, and messages inside a compressed one (spec/001 "5.3.3 Old Message Format")."""

from collections.abc import Iterator

from kdissect.decoders.compression.codec import codec_name, decompress
from kdissect.decoders.records.batch_layout import LENGTH_AT, OVERHEAD
from kdissect.decoders.records.batches import batch_fault, iter_batches
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.errors import BrokenFrameError, DecodeError, OutputLimitError
from kdissect.model.limits import in_force
from kdissect.model.record_batch import CODEC_NAMES, Record, RecordBatch, RecordFault, note
from kdissect.model.wording import plural


def iter_messages(batch: RecordBatch, faults: list[RecordFault], limit: int | None) -> Iterator[Record]:
    """Yield the message itself, or the messages inside it. Raises nothing."""
    reader = _Reader(faults, limit)
    if batch.codec:
        yield from reader.inner(batch, "records", 0)
    else:
        message = reader.message(batch, "", inside=False)
        if message is not None:
            yield message


def inner_messages(batch: RecordBatch, faults: list[RecordFault], limit: int | None) -> Iterator[RecordBatch]:
    """Yield the messages directly inside a compressed one unchanged: their offsets are relative as on the
    wire.

    Raises nothing.
    """
    content = _Reader(faults, limit).content(batch, "records", False)
    if content is not None:
        yield from iter_batches(content, 0, len(content), [])


class _Reader:
    """Reads messages. `_left` is the number of bytes that may still be decompressed, over all levels.

    Kafka refuses a compressed message inside a compressed message
    (AbstractLegacyRecordBatch.DeepRecordsIterator). We report it and look on, as far as the limits let us:
    each level costs its decompressed bytes in memory.
    """

    def __init__(self, faults: list[RecordFault], limit: int | None) -> None:
        self._faults = faults
        self._left = in_force().batch_bytes if limit is None else limit

    def message(self, batch: RecordBatch, path: str, inside: bool) -> Record | None:
        """Return an uncompressed message: key and value, without bytes after them."""
        key, at, fits = self._bytes(batch, batch.records_start, f"{path}.key".lstrip("."), inside)
        if not fits:
            return None
        value, at, fits = self._bytes(batch, at, f"{path}.value".lstrip("."), inside)
        if not fits:
            return None
        if at != batch.end:
            self._note(
                f"{path}.value".lstrip("."),
                at,
                f"{plural(batch.end - at, 'byte is', 'bytes are')} left over in the message",
                inside,
            )
        return Record(batch.base_offset, batch.max_timestamp, key, value, (), batch.attributes)

    def _bytes(self, batch: RecordBatch, at: int, path: str, inside: bool) -> tuple[bytes | None, int, bool]:
        """Nullable bytes with an int32 length: the bytes, their end, whether they fit."""
        start = at + 4
        length = int.from_bytes(batch.data[at:start], signed=True)
        if length < -1 or start + max(length, 0) > batch.end:
            why = f"length {length}, {plural(max(batch.end - start, 0), 'byte follows', 'bytes follow')}"
            kind = AnomalyKind.NEGATIVE_LENGTH if length < -1 else AnomalyKind.MALFORMED_RECORD
            note(self._faults, RecordFault(kind, path, at, why, inside))
            return None, at, False
        if length < 0:
            return None, start, True
        return batch.data[start : start + length], start + length, True

    def _note(self, path: str, at: int, why: str, inside: bool) -> None:
        note(self._faults, RecordFault(AnomalyKind.MALFORMED_RECORD, path, at, why, inside))

    def inner(self, batch: RecordBatch, path: str, depth: int) -> Iterator[Record]:
        """Yield the messages inside a compressed one, with absolute offsets and the wrapper's append time."""
        content = self.content(batch, path, depth > 0)
        if content is None:
            return
        base = _base(batch, content)
        # Not all at once: 128 MiB may hold 5 million messages.
        broken: list[RecordFault] = []
        for index, message in enumerate(iter_batches(content, 0, len(content), broken)):
            here = f"{path}[{index}]"
            for fault in message.faults:
                note(self._faults, fault._replace(path=f"{here}.{fault.path}", inside=True))
            yield from self._one(batch, message, here, base, depth)
        for fault in broken:
            note(self._faults, fault._replace(path=fault.path.replace("batches", path, 1), inside=True))

    def _one(
        self, wrapper: RecordBatch, message: RecordBatch, path: str, base: int, depth: int
    ) -> Iterator[Record]:
        message.base_offset += base
        if message.magic != wrapper.magic:
            why = f"magic {message.magic} inside a message of magic {wrapper.magic}"
            note(self._faults, RecordFault(AnomalyKind.INNER_MAGIC, path, message.start, why, True))
        if message.codec:
            why = f"a {codec_name(message.codec)} message inside a {codec_name(wrapper.codec)} message"
            note(self._faults, RecordFault(AnomalyKind.NESTED_COMPRESSION, path, message.start, why, True))
            if depth < in_force().message_depth:
                yield from self.inner(message, f"{path}.records", depth + 1)
            return
        if message.magic > 1:
            return
        record = self.message(message, path, inside=True)
        if record is not None:
            if wrapper.is_log_append_time:  # spec/001 "5.3.3": the broker's time is the wrapper's
                record = record._replace(timestamp=wrapper.max_timestamp)
            yield record

    def content(self, batch: RecordBatch, path: str, inside: bool) -> bytes | None:
        """Return a compressed message's value decompressed; None, and a fault, where that fails."""
        if batch.codec >= len(CODEC_NAMES):
            why = f"there is no codec {batch.codec}"
            note(
                self._faults,
                RecordFault(AnomalyKind.UNKNOWN_CODEC, "attributes", batch.start + 17, why, inside),
            )
            return None
        wrapper = self.message(batch, path, inside)
        if wrapper is None:
            return None
        if wrapper.value is None:
            why = "a compressed message without a value"
            fault = RecordFault(AnomalyKind.EMPTY_WRAPPER, f"{path}.value", batch.records_start, why, inside)
            note(self._faults, fault)
            return None
        try:
            captured = 0 if inside else None
            content = decompress(batch.codec, wrapper.value, self._left, magic=batch.magic, captured=captured)
        except DecodeError as error:
            limited = isinstance(error, OutputLimitError)
            kind = AnomalyKind.DECOMPRESSION_LIMIT if limited else AnomalyKind.CORRUPT_COMPRESSION
            start = batch.end - len(wrapper.value) + error.offset
            why = f"{codec_name(batch.codec)}: {error.why}"
            note(self._faults, RecordFault(kind, path, start, why, inside))
            if not isinstance(error, BrokenFrameError):
                return None
            content = error.content
        self._left -= len(content)
        if not content:
            why = "a compressed message with none inside"
            note(self._faults, RecordFault(AnomalyKind.EMPTY_WRAPPER, path, batch.end, why, inside))
        return content


def _base(wrapper: RecordBatch, content: bytes) -> int:
    """Return the number that makes the offsets inside absolute.

    Magic 0 has absolute offsets inside. Magic 1 has relative offsets, and the wrapper has the last message's
    offset (spec/001 "5.3.3 Old Message Format"). librdkafka sends wrappers with offset 0, which is not a last
    offset then (AbstractLegacyRecordBatch.DeepRecordsIterator).
    """
    if wrapper.magic == 0:
        return 0
    last = at = 0
    while batch_fault(content, at, len(content)) is None:
        last = int.from_bytes(content[at : at + LENGTH_AT], signed=True)
        at += OVERHEAD + int.from_bytes(content[at + LENGTH_AT : at + OVERHEAD])
    return max(wrapper.base_offset - last, 0)
