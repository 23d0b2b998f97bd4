"""The batches of a records field as dicts for JSON, where nothing is unusual in them: nearly always.

The same as `engine.nested_records` makes of them batch by batch; a test holds both equal.
"""

from typing import Any

from kdissect.decoders.compression.codec import decompress_usual
from kdissect.decoders.records.checksum import crc32c
from kdissect.decoders.records.json_records import MISFITS, json_records
from kdissect.decoders.records.layout import ATTRIBUTES_AT, CURRENT_MAGIC, HEADER_V2, OVERHEAD
from kdissect.decoders.records.plain_records import PLAIN_BYTES, PLAIN_RECORDS
from kdissect.model.errors import DecodeError
from kdissect.model.record_batch import LOG_APPEND_TIME, TRANSACTIONAL, Codec

# What the attributes say of batches without a delete horizon that are no control batches: the codec, its
# name, whether broker's time stands for that of the records, what the timestamps are, whether transactional.
_TOLD = {
    codec | time | transaction: (
        codec,
        codec.name.lower(),
        bool(time),
        "log_append_time" if time else "create_time",
        bool(transaction),
    )
    for codec in Codec
    for time in (0, LOG_APPEND_TIME)
    for transaction in (0, TRANSACTIONAL)
}
_FAULTS = (*MISFITS, KeyError, DecodeError)
_header, _HEADER_SIZE = HEADER_V2.unpack_from, HEADER_V2.size


def user_batches(data: bytes, at: int, end: int) -> list[dict[str, Any]] | None:
    """The batches in `data[at:end]` of a topic that is none of Kafka's own. Raises nothing.

    None where anything is wrong, cut, or of another kind than batches of magic 2 with records of users.
    """
    batches: list[dict[str, Any]] = []
    view = memoryview(data)
    try:
        while at < end:
            # Hot, once a batch.
            (
                base_offset, length, leader_epoch, magic, crc, attributes, last_offset_delta, base_timestamp,
                max_timestamp, producer_id, producer_epoch, base_sequence, count,
            ) = _header(data, at)  # fmt: skip
            codec, codec_name, is_append_time, timestamp_type, is_transactional = _TOLD[attributes]
            start, stop = at + _HEADER_SIZE, at + OVERHEAD + length
            if (
                magic != CURRENT_MAGIC
                or not start <= stop <= end
                or crc32c(view[at + ATTRIBUTES_AT : stop]) != crc
            ):
                return None
            if codec:
                records = _decompressed(codec, view[start:stop], count, base_offset, base_timestamp)
            elif length > PLAIN_BYTES:
                return None
            else:
                records = json_records(data, start, stop, base_offset, base_timestamp)
            if len(records) != count or count > PLAIN_RECORDS:
                return None
            if is_append_time:
                for record in records:
                    record["timestamp"] = max_timestamp
            batches.append(
                {
                    "base_offset": base_offset,
                    "bytes": stop - at,
                    "magic": magic,
                    "crc": crc,
                    "crc_ok": True,
                    "codec": codec_name,
                    "timestamp_type": timestamp_type,
                    "partition_leader_epoch": leader_epoch,
                    "transactional": is_transactional,
                    "control": False,
                    "last_offset_delta": last_offset_delta,
                    "base_timestamp": base_timestamp,
                    "max_timestamp": max_timestamp,
                    "producer_id": producer_id,
                    "producer_epoch": producer_epoch,
                    "base_sequence": base_sequence,
                    "record_count": count,
                    "records": records,
                }
            )
            at = stop
    except _FAULTS:
        return None
    return batches


def _decompressed(
    codec: int, content: memoryview, count: int, base_offset: int, base_timestamp: int
) -> list[dict[str, Any]]:
    """The records of a compressed batch. Raises one of `_FAULTS`."""
    if not content and not count:
        return []  # there are none left behind a compaction
    data = _inflated(codec, content)
    return json_records(data, 0, len(data), base_offset, base_timestamp)


def _inflated(codec: int, content: bytes | memoryview) -> bytes:
    data = decompress_usual(codec, content)
    if len(data) > PLAIN_BYTES:
        raise ValueError
    return data


def inflated(codec: int, content: bytes) -> bytes | None:
    """What a batch holds, decompressed; None where that fails or is much. Raises nothing."""
    try:
        return _inflated(codec, content)
    except _FAULTS:
        return None
