"""Keys and values in a buffer as Arrow arrays. Needs numpy and pyarrow (extra `arrow`)."""

from codecs import getincrementaldecoder
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kdissect.decoders.records.columns import Spans
from kdissect.decoders.records.lockstep import windows
from kdissect.engine.record_values import text_of

# Arrow's columnar format, "Variable-size Binary View Layout": length int32, then 12 bytes inside, or 4 bytes
# of prefix, the number of the buffer and the offset in it.
_VIEW_WORDS = 4
_INLINE = 12
_PREFIX = 4
# RFC 3629 section 3: bytes of a character behind its first are 10xxxxxx.
_CONTINUED, _CONTINUED_MASK = 0x80, 0xC0
_DECODED_AT_ONCE = 1 << 20  # bytes; the characters of all of them would take four times their room


def numbers_array(values: NDArray[Any], null: NDArray[np.bool_] | None = None) -> Any:
    """Numbers or booleans as an Arrow array, null where `null` is set.

    `pyarrow.array` does the same, but imports numpy.ma to see whether the array is a masked one.
    """
    valid = None if null is None or not null.any() else pa.py_buffer(bits(~null))
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [valid, pa.py_buffer(bits(values))])
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(np.ascontiguousarray(values))])


def strings_array(texts: Sequence[str | None]) -> Any:
    """Texts as an Arrow array of strings, None as null.

    `pyarrow.array` does the same, but imports pandas, where that is installed, to see whether it was given a
    Series: that takes longer than 50 MB of records.
    """
    parts = [b"" if text is None else text.encode("utf-8", "replace") for text in texts]
    ends = np.zeros(len(parts) + 1, np.int32)
    np.cumsum([len(part) for part in parts], out=ends[1:])
    null = np.array([text is None for text in texts], np.bool_)
    valid = pa.py_buffer(bits(~null)) if null.any() else None
    buffers = [valid, pa.py_buffer(ends), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(pa.string(), len(parts), buffers)


def fitted(array: Any, kind: Any) -> Any:
    """The array in another type. Raises pyarrow.ArrowInvalid where a value does not fit.

    `Array.cast` does the same, but imports pyarrow.compute, which takes longer than 50 MB of records.
    """
    try:
        from pyarrow._compute import CastOptions, call_function
    except ImportError:  # its public names, in a module that wraps each of its 300 functions
        from pyarrow.compute import CastOptions, call_function
    return call_function("cast", [array], CastOptions(kind))


def binary_views(data: bytes, spans: Spans) -> Any:
    """A binary_view array of places in `data`, which it refers to without a copy; -1 lengths are null."""
    count = len(spans.start)
    length = np.maximum(spans.length, 0)
    views = np.zeros((count, _VIEW_WORDS), np.int32)
    views[:, 0] = length
    long = np.flatnonzero(length > _INLINE)
    if len(long):
        start = spans.start[long]
        views[long, 1] = windows(data, start, _PREFIX).view(np.int32)
        views[long, 3] = start
    short = np.flatnonzero((length <= _INLINE) & (length > 0))
    if len(short):
        octets = windows(data, spans.start[short], _INLINE).view(np.uint8).reshape(-1, _INLINE)
        octets[np.arange(_INLINE) >= length[short][:, None]] = 0
        views[short, 1:] = octets.view(np.int32)
    return pa.Array.from_buffers(
        pa.binary_view(), count, [_valid(spans), pa.py_buffer(views), pa.py_buffer(data)]
    )


def bytes_array(data: bytes, spans: Spans, kind: Any) -> Any:
    """The same with a copy of the bytes: binary, or string where none is no UTF-8; else None."""
    view = memoryview(data)
    stops = spans.start + np.maximum(spans.length, 0)
    places = zip(spans.start.tolist(), stops.tolist(), strict=True)
    content = b"".join([view[start:stop] for start, stop in places])
    if kind == pa.string() and not _is_text(content, spans):
        return None
    ends = np.zeros(len(stops) + 1, np.int32)
    np.cumsum(stops - spans.start, out=ends[1:])
    return pa.Array.from_buffers(kind, len(stops), [_valid(spans), pa.py_buffer(ends), pa.py_buffer(content)])


def _is_text(content: bytes, spans: Spans) -> bool:
    """Whether each of the values that `content` joins is UTF-8."""
    if content.isascii():
        return True
    lengths = spans.length[spans.length > 0]
    first = np.frombuffer(content, np.uint8)[np.cumsum(lengths) - lengths]
    if (first & _CONTINUED_MASK == _CONTINUED).any():  # the value before may have been cut in a character
        return False
    decoder, view = getincrementaldecoder("utf-8")(), memoryview(content)
    try:
        for place in range(0, len(content), _DECODED_AT_ONCE):
            decoder.decode(view[place : place + _DECODED_AT_ONCE])
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        return False
    return True


def _valid(spans: Spans) -> Any:
    filled = spans.length >= 0
    return None if filled.all() else pa.py_buffer(bits(filled))


def bits(flags: NDArray[np.bool_]) -> bytes:
    """A validity bitmap."""
    return np.packbits(flags, bitorder="little").tobytes()


def values_array(data: bytes, spans: Spans, form: str | None) -> Any:
    """Binary views without a form; else strings as `text_of` gives them."""
    if not len(spans.start):
        return pa.nulls(0, pa.binary_view() if form is None else pa.string())
    if form is None:
        return binary_views(data, spans)
    if form in ("text", "json"):
        texts = bytes_array(data, spans, pa.string())
        if texts is not None:
            return texts
    found = [
        None if value is None else text_of(value, form) for value in binary_views(data, spans).to_pylist()
    ]
    return strings_array(found)


def in_order_of_use(column: Any) -> Any:
    """A column of texts as a dictionary of those that rows have, by the first of these.

    A file would hold the others as well. Native counterpart: `Repeated` in `native/src/records/column.rs`.
    """
    return pa.chunked_array([_in_order_of_use(chunk) for chunk in column.chunks], column.type)


def _in_order_of_use(texts: Any) -> Any:
    valid, codes = texts.indices.buffers()
    rows = slice(texts.offset, texts.offset + len(texts))
    numbers = np.frombuffer(codes, np.int32)[rows]
    used = np.ones(len(texts), np.bool_)
    if valid is not None:
        used = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[rows].astype(np.bool_)
    found, first = np.unique(numbers[used], return_index=True)
    found = found[np.argsort(first)]
    places = np.zeros(len(texts.dictionary), np.int32)
    places[found] = np.arange(len(found))
    names = strings_array([texts.dictionary[number].as_py() for number in found.tolist()])
    taken = np.where(used, numbers, found[0] if len(found) else 0)
    indices = places[taken] if len(found) else np.zeros(len(texts), np.int32)
    return pa.DictionaryArray.from_arrays(numbers_array(indices, None if used.all() else ~used), names)
