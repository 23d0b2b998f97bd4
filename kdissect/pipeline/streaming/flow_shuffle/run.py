"""A run: consecutive segments of one connection from one file, packed into one row for the shuffle.

A row for each segment would cost Spark more than the bytes do: it sorts and copies rows, whatever their size.
Source of the order: docs/architecture.md, "Identity".
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Any, NamedTuple

import pyarrow as pa

from kdissect.model.packets.segment import PlainSegment, reverse_flow

# order_ns, ref, time_ns, seq, ack, flags, direction, window, missing, ip_id, payload bytes.
_HEAD = Struct("<qqqIIBBHiiI")
_HEAD_BYTES = _HEAD.size

_pack_head = _HEAD.pack

Placed = tuple[int, int, PlainSegment, int]
"""Running maximum of time within the file, packet reference, segment, time of the packet.

The first two are its place in the canonical order: the reference contains file order and number.
"""


class Run(NamedTuple):
    """One row of the shuffle.

    `part` is its partition, `key` is its flow (`flow_key`), `order_ns` and `ref` are the position of its
    first segment. Rows sorted by (key, order_ns, ref) are ready for `merged`.
    """

    part: int
    key: bytes
    order_ns: int
    ref: int
    data: bytes


def flow_key(flow: bytes) -> tuple[bytes, int]:
    """Return a key for both directions of a flow, and this flow's direction (0 or 1).

    It does not distinguish capture sets: one task has what all of them saw between two ends (`engine.taps`).
    """
    other = reverse_flow(flow)
    return (flow, 0) if flow <= other else (other, 1)


def pack(order_ns: int, ref: int, time_ns: int, direction: int, segment: PlainSegment) -> bytes:
    """Pack a segment as bytes of a run."""
    _, seq, ack, flags, window, payload, missing, ip_id = segment
    head = _pack_head(
        order_ns, ref, time_ns, seq, ack, flags, direction, window, missing, ip_id, len(payload)
    )
    return head + payload


def unpack(key: bytes, data: bytes) -> list[Placed]:
    """Unpack the segments of a run. Their payloads are owned bytes."""
    flows = key, reverse_flow(key)
    found: list[Placed] = []
    append, read = found.append, _HEAD.unpack_from
    position, end = 0, len(data)
    while position < end:
        order_ns, ref, time_ns, seq, ack, flags, direction, window, missing, ip_id, size = read(
            data, position
        )
        start = position + _HEAD_BYTES
        position = start + size
        segment = flows[direction], seq, ack, flags, window, data[start:position], missing, ip_id
        append((order_ns, ref, segment, time_ns))
    return found


def merged(runs: Iterator[Run]) -> Iterator[Placed]:
    """Merge the segments of one key in canonical order, from its runs sorted by their first segment.

    Runs of one file follow each other. Runs of files that overlap in time (two taps of one wire) are merged.
    It buffers only the overlap.
    """
    waiting: list[Placed] = []
    for run in runs:
        later = unpack(run.key, run.data)
        first = run.order_ns, run.ref
        if waiting and waiting[-1][:2] > first:
            cut = _first_behind(waiting, first)
            yield from waiting[:cut]
            waiting = sorted(waiting[cut:] + later, key=_place)
        else:
            yield from waiting
            waiting = later
    yield from waiting


def _first_behind(placed: list[Placed], place: tuple[int, int]) -> int:
    return bisect_left(placed, place, key=_place)


def _place(placed: Placed) -> tuple[int, int]:
    return placed[0], placed[1]


_RUN_SCHEMA = pa.schema(
    [
        ("part", pa.int32()),
        ("key", pa.binary()),
        ("order_ns", pa.int64()),
        ("ref", pa.int64()),
        ("data", pa.binary()),
    ]
)
RUN_DDL = "part INT, key BINARY, order_ns BIGINT, ref BIGINT, data BINARY"
# Of the bytes in a batch on its way out of Python.
BATCH_BYTES = 8 << 20


def to_batches(runs: Iterable[Run]) -> Iterator[Any]:
    """Record batches of some 8 MiB."""
    kept: list[Run] = []
    size = 0
    for run in runs:
        kept.append(run)
        size += len(run.data)
        if size >= BATCH_BYTES:
            yield _batch(kept)
            kept, size = [], 0
    if kept:
        yield _batch(kept)


def from_batches(batches: Iterable[Any]) -> Iterator[Run]:
    """Yield the runs of record batches, one at a time."""
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in _RUN_SCHEMA.names]
        yield from map(Run._make, zip(*columns, strict=True))


def _batch(runs: list[Run]) -> Any:
    columns = [
        pa.array(column, field.type)
        for column, field in zip(zip(*runs, strict=True), _RUN_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_RUN_SCHEMA)
