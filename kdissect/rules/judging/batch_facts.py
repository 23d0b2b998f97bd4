"""Facts of a batch, by its header and its place: members of `BatchFact`, as numbers."""

from functools import lru_cache
from typing import NamedTuple

from kdissect.decoders.records.batch_layout import CURRENT_MAGIC
from kdissect.model.record_batch import (
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    Codec,
    RecordBatch,
)
from kdissect.rules.guards import BatchFact
from kdissect.rules.rule import REQUEST, RESPONSE
from kdissect.rules.views.batch_view import Asked, is_beyond
from kdissect.schema.protocol_messages import api_name

EVERY_FACT = (1 << len(BatchFact)) - 1
RECORDS = int(BatchFact.RECORDS)
OWN_TOPIC = int(BatchFact.OWN_TOPIC)
_EARLY_ZSTD, _UNKNOWN_CODEC = int(BatchFact.EARLY_ZSTD), int(BatchFact.UNKNOWN_CODEC)
_BASE_OFFSET, _OTHER_COUNT = int(BatchFact.BASE_OFFSET), int(BatchFact.OTHER_COUNT)
_BEHIND_ANOTHER, _OFFSET_NOT_HIGHER = int(BatchFact.BEHIND_ANOTHER), int(BatchFact.OFFSET_NOT_HIGHER)
_EPOCH_LOWER, EPOCH_HIGHER = int(BatchFact.EPOCH_LOWER), int(BatchFact.EPOCH_HIGHER)
_BEFORE_ASKED, _RESERVED_BITS = int(BatchFact.BEFORE_ASKED), int(BatchFact.RESERVED_BITS)
_ZSTD = int(Codec.ZSTD)
_BITS = {
    LOG_APPEND_TIME: int(BatchFact.APPEND_TIME), TRANSACTIONAL: int(BatchFact.TRANSACTIONAL),
    CONTROL: int(BatchFact.CONTROL), DELETE_HORIZON: int(BatchFact.DELETE_HORIZON),
}  # fmt: skip
_RESERVED = ~(CODEC_MASK | sum(_BITS))
# The versions of each API from which it carries magic 2, and zstd (KIP-98, KIP-110). Other APIs are younger
# than both.
_SINCE = {"Produce": (3, 7), "Fetch": (4, 10)}
SIDES = {"Produce": REQUEST, "Fetch": RESPONSE, "ShareFetch": RESPONSE, "FetchSnapshot": RESPONSE}


class Carriage(NamedTuple):
    """Facts about one version's bodies that carry batches: their API, and features that the version lacks."""

    is_produce: bool
    is_fetch: bool
    has_zstd: bool
    facts: int
    """Those of each batch."""


@lru_cache(maxsize=1024)  # bodies of the schema in use
def carriage_of(api_key: int | None, version: int | None, side: str = "") -> Carriage | None:
    """None for bodies without batches, or for the other `side`."""
    name = None if api_key is None or version is None else api_name(api_key)
    if name is None or version is None or name not in SIDES or side not in ("", SIDES[name]):
        return None
    magic_2_from, zstd_from = _SINCE.get(name, (0, 0))
    facts = int(BatchFact.OTHER_MAGIC) if version < magic_2_from else 0
    return Carriage(name == "Produce", name == "Fetch", version >= zstd_from, facts)


def header_facts(carriage: Carriage, attributes: int, base_offset: int, last_delta: int, count: int) -> int:
    """Return the facts of a magic 2 batch, by numbers of its header."""
    # Hot, once a batch.
    facts = carriage.facts
    if attributes > CODEC_MASK or attributes < 0:
        facts |= _bit_facts(attributes)
    codec = attributes & CODEC_MASK
    if codec >= _ZSTD and (codec > _ZSTD or not carriage.has_zstd):
        facts |= _EARLY_ZSTD if codec == _ZSTD else _UNKNOWN_CODEC
    if carriage.is_produce:
        if base_offset:
            facts |= _BASE_OFFSET
        if count < 1 or last_delta != count - 1:
            facts |= _OTHER_COUNT
    elif count < 0 or last_delta < 0 or last_delta < count - 1:
        facts |= _OTHER_COUNT
    return facts


@lru_cache(maxsize=1024)
def _bit_facts(attributes: int) -> int:
    found = sum(fact for bit, fact in _BITS.items() if attributes & bit)
    return found | _RESERVED_BITS if attributes & _RESERVED else found


def batch_facts(carriage: Carriage, batch: RecordBatch, before: RecordBatch | None, asked: Asked) -> int:
    """Return the facts of a batch after the batch `before`, and of the request for its partition."""
    if batch.magic != CURRENT_MAGIC:
        return EVERY_FACT
    delta = batch.last_offset_delta
    facts = header_facts(carriage, batch.attributes, batch.base_offset, delta, batch.count or 0)
    if is_beyond(batch.leader_epoch, asked):
        facts |= EPOCH_HIGHER
    if before is not None:
        facts |= _BEHIND_ANOTHER
        if batch.base_offset <= before.last_offset:
            facts |= _OFFSET_NOT_HIGHER
        if 0 <= batch.leader_epoch < before.leader_epoch:
            facts |= _EPOCH_LOWER
    elif asked is not None and batch.base_offset + delta < asked[0]:
        facts |= _BEFORE_ASKED
    return facts
