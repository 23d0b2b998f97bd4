"""Packets of several files in one order: (running maximum of time within the file, file order, index).

Raw time steps backwards within real captures. Its running maximum does not, so the order is well defined,
keeps every file's own order, and can be produced as a stream.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from operator import itemgetter

from kdissect.capture.capture_file import CaptureFile
from kdissect.model.native import is_compiled
from kdissect.model.packets.packet import MergedBlock, PacketBlock, PlainPacket

# Packets of a stretch, all files together: who numbers stretches (`engine.shards`) keeps what comes of one
# until it is over.
_STRETCH = 4096

_key = itemgetter(0)


class _Track:
    """One file being merged: its current batch, the merge keys of that batch, and the position in it."""

    __slots__ = ("_batches", "batch", "keys", "order", "position")

    batch: PacketBlock

    def __init__(self, order: int, file: CaptureFile) -> None:
        self.order = order
        self.position = 0
        self.keys: list[int] = []
        self._batches = file.batches()

    def load(self) -> bool:
        """Have packets that are yet to come; False at the end of the file."""
        if self.position < len(self.keys):
            return True
        batch = next(self._batches, None)
        if batch is None:
            return False
        # The maximum starts again with the batch, without any effect: a file is advanced only when all other
        # files are at its maximum or later, so a packet below that maximum comes next either way.
        self.batch, self.position = batch, 0
        self.keys = list(accumulate(batch.times(), max))
        return True

    @property
    def head(self) -> tuple[int, int]:
        """(key of the next packet, order of the file)."""
        return self.keys[self.position], self.order

    def last(self, most: int) -> tuple[int, int]:
        """Return (key of the batch's last packet within the next `most` ones, order of the file)."""
        return self.keys[min(self.position + most, len(self.keys)) - 1], self.order

    def take(self, bound: tuple[int, int]) -> tuple[PacketBlock, int, int]:
        """Return the packets up to `bound`: their batch, and their begin and end in it."""
        start = self.position
        cut = bisect_left if bound[1] < self.order else bisect_right
        self.position = cut(self.keys, bound[0], start)
        return self.batch, start, self.position


def merge(
    files: list[tuple[int, CaptureFile]], opening: Callable[[CaptureFile, int], None]
) -> Iterator[Sequence[PlainPacket]]:
    """Merge files as pairs of (time of the first packet, file), sorted by that time. Yield non-empty runs.

    A file is opened only when its turn has come: `opening` is called before with the file and the number of
    files open.
    """
    waiting = deque((time, order, file) for order, (time, file) in enumerate(files))
    tracks: list[_Track] = []  # of the files that are open, in their order
    while tracks or waiting:
        while waiting and (not tracks or waiting[0][0] < min(track.head for track in tracks)[0]):
            _, order, file = waiting.popleft()
            opening(file, len(tracks) + 1)
            track = _Track(order, file)
            if track.load():
                tracks.append(track)
        if tracks:
            yield _stretch(tracks, waiting[0][:2] if waiting else None)
            tracks = [track for track in tracks if track.load()]


def _stretch(tracks: list[_Track], opening: tuple[int, int] | None) -> Sequence[PlainPacket]:
    """Return the packets up to the end of the batch that is over first, or up to the start of the next file.

    With many files it ends sooner. A file alone returns what is left of its batch.
    """
    most = max(1, _STRETCH // len(tracks))
    bound = min(track.last(most) for track in tracks)
    if opening is not None:
        bound = min(bound, opening)
    due = [track for track in tracks if track.head <= bound]
    taken = [track.take(bound) for track in due]
    if len(due) == 1:
        [(batch, start, stop)] = taken
        return batch if stop - start == len(batch) else batch[start:stop]
    if is_compiled:
        return MergedBlock(taken)
    found: list[tuple[int, PlainPacket]] = []
    for track, (batch, start, stop) in zip(due, taken, strict=True):
        found += zip(track.keys[start:stop], batch[start:stop], strict=True)
    found.sort(key=_key)  # which leaves files in their order, and packets in that of their file
    return [packet for _, packet in found]
