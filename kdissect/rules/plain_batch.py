"""Tells by the headers that no rule about a batch could speak of it: then none is asked.

Nearly all batches are plain; of the others each rule says what it sees. A rule that has no part here is shown
every batch.
"""

from functools import cache

from kdissect.decoders.records.batch_layout import CURRENT_MAGIC
from kdissect.decoders.records.batches import BatchList
from kdissect.model.record_batch import LOG_APPEND_TIME, TRANSACTIONAL, Codec

SILENT_OF_PLAIN = frozenset(f"REC{number:03}" for number in range(13, 30))
"""The rules about batches that have their part here."""
_NONE: frozenset[int] = frozenset()
# The versions of each API from which it carries magic 2, and zstd (KIP-98, KIP-110). ShareFetch is younger
# than both. Not here: FetchSnapshot, whose batches nobody asked for one by one.
_SINCE = {"Produce": (3, 7), "Fetch": (4, 10), "ShareFetch": (0, 0)}


@cache
def plain_attributes(api: str, version: int) -> frozenset[int]:
    """The attributes of batches that a version carries every day; empty where none of its batches is plain.

    Without bits that mean nothing, control batches and delete horizons. A client says nothing of append
    time; of transactions it may only say so with an id of them, which a rule looks for.
    """
    magic_2_from, zstd_from = _SINCE.get(api, (version + 1, 0))
    if version < magic_2_from:
        return _NONE
    bits = (0,) if api == "Produce" else (0, LOG_APPEND_TIME, TRANSACTIONAL, LOG_APPEND_TIME | TRANSACTIONAL)
    codecs = [codec for codec in Codec if codec is not Codec.ZSTD or version >= zstd_from]
    return frozenset(codec | bit for codec in codecs for bit in bits)


def are_produced_plainly(found: BatchList, attributes: frozenset[int]) -> bool:
    """Whether a client may send these batches to one partition: one at most, numbered from 0."""
    if found.faults or len(found.batches) > 1:
        return False
    for batch in found.batches:
        if batch.faults or batch.magic != CURRENT_MAGIC or batch.attributes not in attributes:
            return False
        count = batch.count or 0
        if batch.base_offset or count < 1 or batch.last_offset_delta != count - 1:
            return False
    return True


def are_given_plainly(found: BatchList, attributes: frozenset[int], asked: int | None) -> bool:
    """Whether a broker may give these batches of one partition: their offsets rise, and reach the one that
    was `asked` for, if that is known.
    """
    if found.faults:
        return False
    before = None
    for batch in found.batches:
        if batch.faults or batch.magic != CURRENT_MAGIC or batch.attributes not in attributes:
            return False
        count, delta = batch.count or 0, batch.last_offset_delta
        if (
            count < 0
            or delta < 0
            or delta < count - 1
            or (before is not None and batch.base_offset <= before)
        ):
            return False
        last = batch.base_offset + delta
        if before is None and asked is not None and last < asked:
            return False
        before = last
    return True
