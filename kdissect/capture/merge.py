"""Packets of several files in one order: (running maximum of time within the file, file order, index).

Raw time steps backwards within real captures; its running maximum does not, so the order is well defined,
keeps every file's own order, and can be produced as a stream.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from kdissect.capture.capture_file import CaptureFile
from kdissect.model.packets.packet import PlainPacket

# Slices of packets are joined up to this many before they are handed on: two taps of one wire alternate
# packet by packet.
_JOINED = 512


class _Track:
    """One file being merged: its current batch, the merge keys of that batch, and where in it we are."""

    __slots__ = ("_batches", "batch", "keys", "order", "position")

    def __init__(self, order: int, file: CaptureFile) -> None:
        self.order = order
        self.position = 0
        self.batch: Sequence[PlainPacket] = ()
        self.keys: list[int] = []
        self._batches = file.batches()

    def load(self) -> bool:
        """Go to the next batch; False at the end of the file."""
        batch = next(self._batches, None)
        if batch is None:
            return False
        # The maximum starts anew with the batch, which changes nothing: a file is advanced only when all
        # others are at its maximum or later, so a packet below that maximum comes next either way.
        self.batch, self.position = batch, 0
        self.keys = list(accumulate(batch.times(), max))
        return True

    @property
    def head(self) -> tuple[int, int]:
        """(key of the next packet, order of the file)."""
        return self.keys[self.position], self.order

    def take(self, bound: tuple[int, int] | None) -> Sequence[PlainPacket]:
        """The packets before `bound`, which is behind the head; all of the batch without one."""
        start = self.position
        if bound is None:
            self.position = len(self.keys)
        else:
            cut = bisect_left if bound[1] < self.order else bisect_right
            self.position = cut(self.keys, bound[0], start)
        return self.batch[start : self.position]


def merge(
    files: list[tuple[int, CaptureFile]], opening: Callable[[CaptureFile, int], None]
) -> Iterator[Sequence[PlainPacket]]:
    """Merge files given as (time of the first packet, file), sorted by that time; yields non-empty runs.

    A file is opened only when its turn has come: `opening` is called before with the file and the number of
    files open.
    """
    waiting = deque((time, order, file) for order, (time, file) in enumerate(files))
    heap: list[tuple[int, int, _Track]] = []
    joined: list[PlainPacket] = []
    while heap or waiting:
        while waiting and (not heap or waiting[0][0] < heap[0][0]):
            _, order, file = waiting.popleft()
            opening(file, len(heap) + 1)
            _push(heap, _Track(order, file))
        if not heap:
            continue
        track = heapq.heappop(heap)[2]
        run = track.take(_bound(heap, waiting))
        # Of files one behind the other whole batches come: as good as one file.
        if len(run) >= _JOINED or len(run) == len(track.keys):
            if joined:
                yield joined
                joined = []
            yield run
        else:
            joined += run
        if track.position < len(track.keys):
            heapq.heappush(heap, (*track.head, track))
        else:
            _push(heap, track)
        if len(joined) >= _JOINED:
            yield joined
            joined = []
    if joined:
        yield joined


def _push(heap: list[tuple[int, int, _Track]], track: _Track) -> None:
    if track.load():
        heapq.heappush(heap, (*track.head, track))


def _bound(
    heap: list[tuple[int, int, _Track]], waiting: deque[tuple[int, int, CaptureFile]]
) -> tuple[int, int] | None:
    """Where another file's next packet stands in the order."""
    heads = [entry[0][:2] for entry in (heap, waiting) if entry]
    return min(heads) if heads else None
