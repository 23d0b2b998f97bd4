"""Why a consumer may not get past the records of a response: what their bytes show."""

from __future__ import annotations

from kdissect.decoders.records.batches import first_size, split_batches
from kdissect.decoders.records.reader import read_records
from kdissect.model.record_batch import CODEC_NAMES
from kdissect.model.wording import plural

_RECORDS = 10_000  # that are read of a batch
_BYTES = 8 << 20  # that a batch may have when it is decompressed


def why_unread(records: bytes, *, is_whole: bool) -> str:
    """Return the fault of a response's first batch, or else the feature that a client needs to read it.

    `is_whole`: all bytes of the records are here.
    """
    size = first_size(records)
    if size is None:
        return f"the response holds only {plural(len(records), 'byte')} of them, less than a batch has"
    if is_whole and size > len(records):
        return (
            f"the first batch has {plural(size, 'byte', spec=',')}, and the response holds"
            f" {len(records):,}: the client asks for less than one whole batch"
        )
    found = split_batches(records, 0, len(records), may_be_cut=True)
    if not found.batches:
        return f"the first batch cannot be read ({found.faults[0]})" if found.faults else ""
    batch = found.batches[0]
    if not batch.crc_is_right:
        return "the checksum of the first batch is wrong"
    content = read_records(batch, _BYTES, _RECORDS)
    faults = [*batch.faults, *content.faults]
    if faults:
        return f"the checksum of the first batch is right, but its content is not ({faults[0]})"
    if batch.codec:
        return (
            f"the batches are whole and their checksums right: the client may not read"
            f" {CODEC_NAMES[batch.codec] if batch.codec < len(CODEC_NAMES) else f'codec {batch.codec}'}, or"
            " not accept this amount at once"
        )
    return "the batches are whole and their checksums right"
