"""Walks many batches at once with numpy: one cursor each, all moved in the same step.

Whatever does not fit is only marked here; `reader` says what is wrong with it. The values are equal to the
reader's, which a property test holds. Needs numpy (extra `arrow`).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdissect.decoders.records.varint import varint

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Octets = NDArray[np.uint8]

# Bytes behind the buffer that a varint which runs past its end may touch; `padded` adds them.
PADDING = 16
# Below this many cursors the calls into numpy cost more than reading one varint after the other in Python:
# measured, 25 us a step against 0.3 us a record.
FEW = 80
_MAX_SHIFT = {5: 28, 10: 63}  # of the last byte of a varint of that width
_LAST_BYTE = {5: 0x0F, 10: 0x01}  # what fits 32 and 64 bits there (ByteUtils.readVarint, readVarlong)


def padded(parts: Sequence[bytes | memoryview]) -> bytes:
    """The parts joined, with room for reading past the end."""
    return b"".join([*parts, bytes(PADDING)])


def windows(data: bytes, at: Ints, width: int) -> NDArray[np.void]:
    """`data[at[i] : at[i] + width]`, as one opaque item each: one copy an item, not one a byte.

    All of them must lie in `data`.
    """
    size = max(0, len(data) - width + 1)
    items: NDArray[np.void] = np.ndarray((size,), f"V{width}", data, 0, (1,))[at]
    return items


def pull_varints(buffer: Octets, at: Ints, most: int = 5) -> tuple[Ints, Ints, Flags]:
    """Zigzag varints at the places `at`: values, ends, and which of them fit the width of `most` bytes."""
    byte = buffer[at]
    raw = (byte & 0x7F).astype(np.uint64)
    ends = at + 1
    fits = np.ones(len(at), np.bool_)
    more = np.flatnonzero(byte & 0x80)
    shift = 7
    while len(more):
        byte = buffer[at[more] + shift // 7]
        raw[more] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        ends[more] += 1
        if shift == _MAX_SHIFT[most]:
            fits[more[byte > _LAST_BYTE[most]]] = False
            break
        more = more[byte >= 0x80]
        shift += 7
    values = (raw >> np.uint64(1)).astype(np.int64) ^ -(raw & np.uint64(1)).astype(np.int64)
    return values, ends, fits


class RecordWalk:
    """Where the records of many batches are: `batch` is the index of each one's batch, `start` is behind its
    length, `stop` its end; `ok` tells which batches are filled exactly by their number of records.
    """

    __slots__ = ("batch", "ok", "start", "stop")

    def __init__(self, batch: Ints, start: Ints, stop: Ints, ok: Flags) -> None:
        self.batch = batch
        self.start = start
        self.stop = stop
        self.ok = ok


def walk_records(data: bytes, starts: Ints, ends: Ints, counts: Ints) -> RecordWalk:
    """The records in `data[starts[i]:ends[i]]`, in the order of batches.

    Those of batches not ok are left out.
    """
    buffer = np.frombuffer(data, np.uint8)
    ok = np.ones(len(starts), np.bool_)
    cursors = starts.copy()
    active = np.flatnonzero(cursors < ends)
    steps: list[tuple[Ints, Ints, Ints]] = []
    while len(active) > FEW:
        lengths, begins, fits = pull_varints(buffer, cursors[active])
        stops = begins + lengths
        fits &= (lengths >= 0) & (stops <= ends[active])
        ok[active[~fits]] = False
        active, begins, stops = active[fits], begins[fits], stops[fits]
        steps.append((active, begins, stops))
        cursors[active] = stops
        active = active[stops < ends[active]]
    for index in active.tolist():
        found = _walk_one(data, int(cursors[index]), int(ends[index]))
        if found is None:
            ok[index] = False
        else:
            steps.append((np.full(len(found[0]), index), *found))
    return _sorted(steps, ok, counts)


def _walk_one(data: bytes, at: int, end: int) -> tuple[Ints, Ints] | None:
    """Starts and stops of the records of one batch; None where they do not fill it."""
    # Hot, once a record of a long batch.
    starts, stops = [], []
    while at < end:
        length = data[at]
        if length < 0x80:
            at += 1
            length = (length >> 1) ^ -(length & 1)
        else:
            try:
                length, at = varint(data, at, end)
            except ValueError:
                return None
        starts.append(at)
        at += length
        if length < 0 or at > end:
            return None
        stops.append(at)
    return np.array(starts, np.int64), np.array(stops, np.int64)


def _sorted(steps: list[tuple[Ints, Ints, Ints]], ok: Flags, counts: Ints) -> RecordWalk:
    if not steps:
        empty = np.zeros(0, np.int64)
        ok &= counts == 0
        return RecordWalk(empty, empty, empty, ok)
    batch, start, stop = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    ok &= np.bincount(batch, minlength=len(ok)) == counts
    if not ok.all():
        kept = ok[batch]
        batch, start, stop = batch[kept], start[kept], stop[kept]
    order = np.argsort(start, kind="stable")  # batches stand one behind the other in the buffer
    return RecordWalk(batch[order], start[order], stop[order], ok)
