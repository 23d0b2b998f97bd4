"""Offsets that a member of a share group received to acknowledge (KIP-932)."""

from bisect import bisect_right

RANGES_KEPT = 1_000  # of one member, apart from each other. Beyond this number they are unknown

Partition = tuple[bytes, int]


class AcquiredRecords:
    """All offsets that a member was given and is not done with, by partition, in ranges that lie apart.

    `is_known` is False where some may be missing: the member was there before the capture, or an answer was
    not seen.
    """

    __slots__ = ("_ends", "_starts", "is_known", "ranges")

    def __init__(self, *, is_known: bool) -> None:
        self.is_known = is_known
        self.ranges = 0
        self._starts: dict[Partition, list[int]] = {}
        self._ends: dict[Partition, list[int]] = {}

    def add(self, partition: Partition, first: int, last: int) -> None:
        """Add a range and join it with the ranges that it touches."""
        if last < first or not self.is_known:
            return
        starts, ends = self._starts.setdefault(partition, []), self._ends.setdefault(partition, [])
        low = bisect_right(ends, first - 2)  # the first that ends at `first - 1` or later
        high = bisect_right(starts, last + 1)
        if low < high:
            first, last = min(first, starts[low]), max(last, ends[high - 1])
        self.ranges += 1 - (high - low)
        starts[low:high], ends[low:high] = [first], [last]
        if self.ranges > RANGES_KEPT:
            self.forget()

    def holds(self, partition: Partition, first: int, last: int) -> bool:
        """Return whether the member received all of a range."""
        at = bisect_right(self._starts.get(partition, []), first) - 1
        return at >= 0 and last <= self._ends[partition][at]

    def remove(self, partition: Partition, first: int, last: int) -> None:
        """End a range that the member `holds`."""
        starts, ends = self._starts.get(partition, []), self._ends.get(partition, [])
        at = bisect_right(starts, first) - 1
        if at < 0 or last > ends[at] or last < first:
            return
        around = (starts[at], first - 1), (last + 1, ends[at])
        left = [(start, end) for start, end in around if start <= end]
        self.ranges += len(left) - 1
        starts[at : at + 1] = [start for start, _ in left]
        ends[at : at + 1] = [end for _, end in left]
        if self.ranges > RANGES_KEPT:
            self.forget()

    def forget(self) -> None:
        """Forget all ranges: they are unknown from now on."""
        self.is_known, self.ranges = False, 0
        self._starts.clear()
        self._ends.clear()
