"""Keys and values in a buffer as Arrow arrays. Needs numpy and pyarrow (extra `arrow`)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kdissect.decoders.records.columns import Spans
from kdissect.decoders.records.lockstep import Ints
from kdissect.engine.record_values import text_of

# Arrow's columnar format, "Variable-size Binary View Layout": length int32, then 12 bytes inside, or 4 bytes
# of prefix, the number of the buffer and the offset in it.
_VIEW_WORDS = 4
_INLINE = 12
_PREFIX = 4


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
    buffer = np.frombuffer(data, np.uint8)
    count = len(spans.start)
    length = np.maximum(spans.length, 0)
    views = np.zeros((count, _VIEW_WORDS), np.int32)
    views[:, 0] = length
    long = np.flatnonzero(length > _INLINE)
    if len(long):
        start = spans.start[long]
        views[long, 1] = _gather(buffer, start, _PREFIX).view(np.int32)[:, 0]
        views[long, 3] = start
    short = np.flatnonzero((length <= _INLINE) & (length > 0))
    if len(short):
        octets = _gather(buffer, spans.start[short], _INLINE)
        octets[np.arange(_INLINE) >= length[short][:, None]] = 0
        views[short, 1:] = octets.view(np.int32)
    valid = None if (spans.length >= 0).all() else pa.py_buffer(bits(spans.length >= 0))
    return pa.Array.from_buffers(pa.binary_view(), count, [valid, pa.py_buffer(views), pa.py_buffer(data)])


def bits(flags: NDArray[np.bool_]) -> bytes:
    """A validity bitmap."""
    return np.packbits(flags, bitorder="little").tobytes()


def _gather(buffer: NDArray[np.uint8], start: Ints, width: int) -> NDArray[np.uint8]:
    octets: NDArray[np.uint8] = buffer[start[:, None] + np.arange(width)]
    return octets


def values_array(data: bytes, spans: Spans, form: str | None) -> Any:
    """Binary views without a form; else strings as `text_of` gives them."""
    if not len(spans.start):
        return pa.nulls(0, pa.binary_view() if form is None else pa.string())
    views = binary_views(data, spans)
    if form is None:
        return views
    if form in ("text", "json"):
        try:
            return fitted(fitted(views, pa.binary()), pa.string())
        except pa.ArrowInvalid:  # some are no UTF-8
            pass
    found = [None if value is None else text_of(value, form) for value in views.to_pylist()]
    return strings_array(found)
