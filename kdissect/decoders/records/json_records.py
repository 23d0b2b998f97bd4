"""The records of a batch as dicts for JSON in one loop, where all of them fit: nearly always.

What `plain_records` reads, without the records in between; a test holds both equal.
"""

from collections.abc import Callable
from struct import Struct
from struct import error as StructError  # noqa: N812  an exception class, whatever its case
from typing import Any

from kdissect.decoders.jsonable import text_value
from kdissect.decoders.records.varint import MAX_VARINT, MAX_VARLONG, varint

MISFITS = (ValueError, IndexError, StructError)
"""What `json_records` raises where anything does not fit: those who know why go over the bytes again."""

_HEAD = Struct(">6B")  # the shortest record has one byte more
_SIGNED = tuple((number >> 1) ^ -(number & 1) for number in range(0x80))  # zigzag numbers of one byte
_Text = Callable[[bytes], Any]


def json_records(data: bytes, at: int, end: int, base_offset: int, base_time: int) -> list[dict[str, Any]]:
    """The records in `data[at:end]`. Raises one of `MISFITS`."""
    try:
        return _records(data, at, end, base_offset, base_time, bytes.decode)
    except UnicodeDecodeError:
        return _records(data, at, end, base_offset, base_time, text_value)


def _records(  # noqa: C901  numbers of one byte, nearly all, are read in place
    data: bytes, at: int, end: int, base_offset: int, base_time: int, text: _Text
) -> list[dict[str, Any]]:
    # Hot, once a record. Lengths are doubled on the wire, null is 1. One that leads too far shows where the
    # record should end, so nothing else need be compared.
    records: list[dict[str, Any]] = []
    append, head, signed = records.append, _HEAD.unpack_from, _SIGNED
    while at < end:
        first, second, third, fourth, fifth, sixth = head(data, at)
        if first & 0x81 == 0x80 and (second | fourth | fifth | sixth) < 0x80:  # two bytes of length
            stop = at + (first >> 1) + (second << 6) - 62
            elapsed = signed[fourth]
            delta = signed[fifth]
            size = sixth
            at += 6
        elif not first & 0x81 and (third | fourth | fifth) < 0x80:  # one
            stop = at + (first >> 1) + 1
            elapsed = signed[third]
            delta = signed[fourth]
            size = fifth
            at += 5
        else:
            stop, elapsed, delta, size, at = _long_head(data, at, end)
        if not size & 1:
            behind = at + (size >> 1)
            key = text(data[at:behind])
            at = behind
        elif size == 1:
            key = None
        else:
            raise ValueError
        size = data[at]
        if size < 0x80:
            at += 1
        elif (high := data[at + 1]) < 0x80:
            size += (high << 7) - 0x80
            at += 2
        else:
            size, at = _doubled(data, at, stop)
        last = stop - 1
        if size == (last - at) << 1 and not data[last]:  # no headers
            value = text(data[at:last])
            append(
                {"offset": base_offset + delta, "timestamp": base_time + elapsed, "key": key, "value": value}
            )
        else:
            value, headers = _rest(data, at, stop, size, text)
            told = {
                "offset": base_offset + delta,
                "timestamp": base_time + elapsed,
                "key": key,
                "value": value,
            }
            if headers:  # a count of 0 may be written longer than need be
                told["headers"] = headers
            append(told)
        at = stop
    if at != end:
        raise ValueError
    return records


def _rest(data: bytes, at: int, stop: int, size: int, text: _Text) -> tuple[Any, list[dict[str, Any]]]:
    """The value of a record, of a doubled size, and its headers, up to `stop`. Raises one of `MISFITS`."""
    value = None
    if not size & 1:
        behind = at + (size >> 1)
        value = text(data[at:behind])
        at = behind
    elif size != 1:
        raise ValueError
    headers, at = _headers(data, at, stop)
    if at != stop:
        raise ValueError
    return value, headers


def _long_head(data: bytes, at: int, end: int) -> tuple[int, int, int, int, int]:
    """Where the record ends, its timestamp's and offset's deltas, the length of its key, doubled; its offset.

    Of batches of more than 64 records, or milliseconds, most are like this: two bytes are read in place.
    """
    length = data[at]
    if length < 0x80:
        at += 1
    elif (high := data[at + 1]) < 0x80:
        length += (high << 7) - 0x80
        at += 2
    else:
        length, at = _doubled(data, at, end)
    if length & 1:
        raise ValueError
    stop = at + (length >> 1)
    elapsed = data[at + 1]
    if elapsed < 0x80:
        elapsed = _SIGNED[elapsed]
        at += 2
    elif (high := data[at + 2]) < 0x80:
        elapsed += (high << 7) - 0x80
        elapsed = (elapsed >> 1) ^ -(elapsed & 1)
        at += 3
    else:
        elapsed, at = varint(data, at + 1, stop, MAX_VARLONG)
    delta = data[at]
    if delta < 0x80:
        delta = _SIGNED[delta]
        at += 1
    elif (high := data[at + 1]) < 0x80:
        delta += (high << 7) - 0x80
        delta = (delta >> 1) ^ -(delta & 1)
        at += 2
    else:
        delta, at = varint(data, at, stop, MAX_VARINT)
    size = data[at]
    if size < 0x80:
        return stop, elapsed, delta, size, at + 1
    return stop, elapsed, delta, *_doubled(data, at, stop)


def _doubled(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A length as on the wire, doubled, and the offset behind it; 1 for null. Raises ValueError."""
    value, at = varint(data, at, end)
    if value < -1:
        raise ValueError
    return (value << 1 if value >= 0 else 1), at


def _headers(data: bytes, at: int, stop: int) -> tuple[list[dict[str, Any]], int]:
    """The headers of a record, and the offset behind them. Raises one of `MISFITS`."""
    count, at = varint(data, at, stop)
    if not 0 <= 2 * count <= stop - at:  # a header takes two bytes at least
        raise ValueError
    headers: list[dict[str, Any]] = []
    for _ in range(count):
        key, at = _text(data, at, stop)
        if key is None:
            raise ValueError
        value, at = _text(data, at, stop)
        headers.append({"key": key, "value": value})
    return headers, at


def _text(data: bytes, at: int, stop: int) -> tuple[Any, int]:
    size = data[at]
    if size < 0x80:
        at += 1
    else:
        size, at = _doubled(data, at, stop)
    if size & 1:
        if size != 1:
            raise ValueError
        return None, at
    end = at + (size >> 1)
    if end > stop:
        raise ValueError
    return text_value(data[at:end]), end
