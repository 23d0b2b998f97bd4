"""The batches of a records field as dicts for JSON, where nothing is unusual in them: nearly always.

The same as `engine.nested_records` makes of them batch by batch; a test holds both equal.
"""

from typing import Any

from kdissect.decoders.compression.codec import decompress
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


def user_batches(data: bytes, at: int, end: int) -> list[dict[str, Any]] | None:
    """The batches in `data[at:end]` of a topic that is none of Kafka's own. Raises nothing.

    None where anything is wrong, cut, or of another kind than batches of magic 2 with records of users.
    """
    batches: list[dict[str, Any]] = []
    try:
        while at < end:
            batch, at = _batch(data, at, end)
            batches.append(batch)
    except (*MISFITS, KeyError, DecodeError):
        return None
    return batches


def _batch(data: bytes, at: int, end: int) -> tuple[dict[str, Any], int]:
    """The batch at `at`, and its end. Raises what `user_batches` catches."""
    (
        base_offset, length, leader_epoch, magic, crc, attributes, last_offset_delta, base_timestamp,
        max_timestamp, producer_id, producer_epoch, base_sequence, count,
    ) = HEADER_V2.unpack_from(data, at)  # fmt: skip
    start, stop = at + HEADER_V2.size, at + OVERHEAD + length
    codec, codec_name, is_append_time, timestamp_type, is_transactional = _TOLD[attributes]
    if magic != CURRENT_MAGIC or not start <= stop <= end:
        raise ValueError
    if crc32c(memoryview(data)[at + ATTRIBUTES_AT : stop]) != crc:
        raise ValueError
    content, last = data, stop
    if codec and (count or start < stop):  # there may be none left behind a compaction
        content, start = decompress(codec, memoryview(data)[start:stop]), 0
        last = len(content)
    if last - start > PLAIN_BYTES or count > PLAIN_RECORDS:
        raise ValueError
    records = json_records(content, start, last, base_offset, base_timestamp)
    if len(records) != count:
        raise ValueError
    if is_append_time:
        for record in records:
            record["timestamp"] = max_timestamp
    return {
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
    }, stop
