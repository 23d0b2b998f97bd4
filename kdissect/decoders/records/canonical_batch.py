"""Decides quickly whether the records of a batch are canonical, for judges that need no more.

Reads magic 2 only. It takes a third of the time that building the records takes, and no memory. Unknown cases
are not canonical, and the reader reports the reason.
"""

from struct import Struct
from struct import error as StructError  # noqa: N812  an exception class, whatever its case

from kdissect.decoders.records.varint import MAX_VARINT, MAX_VARLONG, varint
from kdissect.model.native import is_compiled, native
from kdissect.model.record_batch import LOG_APPEND_TIME, RecordBatch

_HEAD = Struct(">H4B")


def _value_head(left: int) -> bytes | tuple[()]:
    """Return how the last `left` bytes of a record without headers begin: the size of the value.

    Each path begins with an empty tuple: next to a size of one byte the value has one byte too many, next to
    two bytes it has too few to need them.
    """
    for width in (1, 2):
        size = left - 1 - width
        if size >= 0 and (size < 0x40) == (width == 1):
            return bytes((size << 1,)) if width == 1 else bytes((size << 1 & 0x7F | 0x80, size >> 6))
    return ()


_MOST_LEFT = 1024  # longer records take a slower check
_VALUE_HEADS = tuple(map(_value_head, range(_MOST_LEFT)))


def are_canonical(batch: RecordBatch, data: bytes, at: int, end: int, *, dense: bool) -> bool:
    """Return whether the records in `data[at:end]` fit to the last byte and are canonical. Raises nothing.

    That is: the number of records that the batch states, no attributes, offset deltas that ascend up to the
    last one's (`dense`: without a gap from 0), the first timestamp equal to the batch's and the latest to its
    maximum, header keys in ASCII.
    """
    latest = latest_delta(batch.count, batch.last_offset_delta, data, at, end, dense)
    if latest is None:
        return False
    return is_latest(batch.base_timestamp + latest, batch.max_timestamp, batch.attributes, batch.count)


def is_latest(found: int, told: int, attributes: int, count: int | None) -> bool:
    """Return whether a batch may state this time as the latest of its records."""
    return found == told or attributes & LOG_APPEND_TIME > 0 or not count


def read_latest(
    wanted: int | None, last_delta: int, data: bytes, at: int, end: int, dense: bool
) -> int | None:
    """Return the latest timestamp delta of canonical records, or None if they are not. Raises nothing."""
    try:
        return _walk(wanted, last_delta, data, at, end, dense)
    except (IndexError, ValueError, StructError):
        return None


def _walk(  # noqa: C901 - hot, once a record: numbers of one byte, nearly all, are read in place
    wanted: int | None, last_delta: int, data: bytes, at: int, end: int, dense: bool
) -> int | None:
    """Return the latest timestamp delta; None for records that are not canonical.

    Raises IndexError, ValueError and struct.error for that too: the shortest record has more bytes than are
    read at once.
    """
    head, value_heads = _HEAD.unpack_from, _VALUE_HEADS
    count = latest = due = 0
    while at < end:
        length, third, fourth, fifth, sixth = head(data, at)
        if length & 0x8180 == 0x8000 and (fourth | fifth | sixth) < 0x80:  # two bytes of length
            stop = at + 2 + (length >> 9 & 0x3F | (length & 0x7F) << 6)
            attributes, elapsed, delta, size = third, fourth, fifth, sixth
            at += 6
        elif length & 0x8100 == 0 and (third | fourth | fifth) < 0x80:  # one
            stop = at + 1 + (length >> 9)
            attributes, elapsed, delta, size = length & 0xFF, third, fourth, fifth
            at += 5
        else:
            stop, attributes, elapsed, delta, size, at = _long_head(data, at, end)
        if stop > end or attributes:
            return None
        if elapsed:
            if not count:
                return None
            elapsed = (elapsed >> 1) ^ -(elapsed & 1)
            if elapsed > latest:
                latest = elapsed
        if delta != due and (dense or delta < due or delta & 1):
            return None
        due = delta + 2
        if size & 1 and size != 1:  # 1: null
            return None
        at += size >> 1
        left = stop - at
        if not (1 < left < _MOST_LEFT and data.startswith(value_heads[left], at) and not data[stop - 1]):
            _value(data, at, stop)
        at = stop
        count += 1
    return latest if count == wanted and due - 2 <= last_delta << 1 else None


def _long_head(data: bytes, at: int, end: int) -> tuple[int, int, int, int, int, int]:
    """Return the stop, the attributes, the numbers up to the key's length as on the wire, and the offset
    after them.

    Raises IndexError and ValueError for non-canonical records.
    """
    length, at = _even(data, at, end)
    stop = at + (length >> 1)
    attributes = data[at]
    elapsed, at = varint(data, at + 1, stop, MAX_VARLONG)
    delta, at = _even(data, at, stop)
    size, at = _even(data, at, stop, or_null=True)
    return stop, attributes, elapsed << 1 if elapsed >= 0 else (-elapsed << 1) - 1, delta, size, at


def _even(data: bytes, at: int, end: int, *, or_null: bool = False) -> tuple[int, int]:
    """Return a number that is not negative, still doubled as on the wire, and its end. Raises ValueError."""
    value, at = varint(data, at, end)
    if value < 0:
        if or_null and value == -1:
            return 1, at
        raise ValueError("negative")
    return value << 1, at


def _value(data: bytes, at: int, stop: int) -> None:
    """Value and headers, which end where the record does.

    Raises IndexError and ValueError for non-canonical records.
    """
    size, at = _even(data, at, stop, or_null=True)
    at += size >> 1
    at = at + 1 if at < stop and not data[at] else _headers(data, at, stop)
    if at != stop:
        raise ValueError("not the record's end")


def _headers(data: bytes, at: int, stop: int) -> int:
    """Return the end of a record's headers. Raises ValueError for non-canonical headers."""
    count, at = varint(data, at, stop, MAX_VARINT)
    if count < 0:
        raise ValueError("a negative count")
    for _ in range(count):
        size, at = varint(data, at, stop)
        if size < 0 or not data[at : at + size].isascii():
            raise ValueError("not a key of ASCII")
        size, at = varint(data, at + size, stop)
        if size < -1:
            raise ValueError("a negative length")
        at += max(size, 0)
    return at


latest_delta = native.latest_delta if is_compiled else read_latest
"""`read_latest`, the fastest there is."""
