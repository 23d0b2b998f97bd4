"""Runs: segments of one size, one behind the other in the capture and in their stream, read with one struct.

A sender with much to say fills a window with full segments. Behind one that was found to be plain and in
order (`net.in_order`), the next ones differ from it in little that matters: where all that does not change is
the same bytes, and sequence numbers go on, nothing else about them needs a look.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import itemgetter
from struct import Struct
from typing import Any

from kdissect.model.packet import PacketBlock
from kdissect.net.sequence import MASK
from kdissect.net.tcp import Lane

# A run is looked for behind segments that have at least so many bytes, and where so many packets of its
# length follow: setting out costs as much as two segments do on their own.
WORTH_BYTES = 512
WORTH_PACKETS = 3
# Taken at once: a run that ends sooner costs the segments behind it a second look.
LONGEST = 64
# Layouts kept; a capture has one for each length of a full segment.
_LAYOUTS = 64

_time_of = itemgetter(1)

# What does not change between segments of a run: link and IP header up to the length; fragment, time to live
# and protocol; addresses and ports; acknowledgment, flags and window.
_Same = tuple[bytes, bytes, bytes, bytes]
_Rows = Callable[[memoryview], Iterator[tuple[Any, ...]]]


@lru_cache(maxsize=_LAYOUTS)
def _layout(gap: int, network: int, options: int, size: int, rest: int) -> _Rows:
    """Reads packets of a run, each behind the `gap` bytes between two: offsets as in `net.fused`."""
    form = f">{gap}x{network + 4}sH4s2x12sI8s4x{options}x{size}s{rest}x"
    return Struct(form).iter_unpack


def take_run(block: PacketBlock, at: int, lane: Lane, network: int, size: int, until_ns: int) -> int:
    """Take packets behind the one at `at`, as long as they are like it; how many were taken.

    That one was plain and in order, and its sink only collected its `size` bytes.
    """
    mine, _, _, sink = lane
    turns = block.turns
    turn = bisect_right(turns, at)
    even = (turns[turn] if turn < len(turns) else len(block.places)) - at - 1
    count = min(even, (sink.room - 1) // size, LONGEST)
    if count < WORTH_PACKETS:
        return 0
    data, places = block.data, block.places
    start, _, _, limit, _ = places[at]
    gap = places[at + 1][0] - limit
    ip = start + network
    begin = ip + 40 + ((data[ip + 32] >> 4) - 5 << 2)
    rows = _layout(gap, network, begin - ip - 40, size, limit - begin - size)
    same = data[start : ip + 4], data[ip + 6 : ip + 10], data[ip + 12 : ip + 24], data[ip + 28 : ip + 36]
    stride = limit - start + gap
    found = _in_order(rows(memoryview(data)[limit : limit + count * stride]), same, mine.next_seq, size)
    times = list(map(_time_of, places[at + 1 : at + 1 + len(found)]))
    if not found or max(times) > until_ns:
        return 0
    _give(block.first_ref + at, found, times, lane, size)
    return len(found)


def _in_order(rows: Iterator[tuple[Any, ...]], same: _Same, seq: int, size: int) -> list[tuple[bytes, int]]:
    """Payload and IP identification of the rows that go on with `seq`, up to the first that does not."""
    # Hot, once a segment of a run.
    found: list[tuple[bytes, int]] = []
    append = found.append
    head, fragment, flow, tail = same
    for its_head, ip_id, its_fragment, its_flow, its_seq, its_tail, payload in rows:
        if (
            its_seq != seq or its_tail != tail or its_flow != flow
            or its_head != head or its_fragment != fragment
        ):  # fmt: skip
            break
        append((payload, ip_id))
        seq = (seq + size) & MASK
    return found


def _give(ref: int, found: list[tuple[bytes, int]], times: list[int], lane: Lane, size: int) -> None:
    """What `take_in_order` does for each segment, for all of a run; `ref` is of the packet before it."""
    mine, _, tcp, sink = lane
    count = len(found)
    payloads, ids = zip(*found, strict=True)
    mine.packets += count
    tcp.last_time_ns = sink.last_time_ns = times[-1]
    mine.advance_by_run(payloads, size, ids, times)
    sink.room -= count * size
    sink.parts += payloads
    sink.last_ref = ref + count
