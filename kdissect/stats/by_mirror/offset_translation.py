"""Which offset of a mirror's partition has the record of an offset of its source, as runs."""

from __future__ import annotations

from bisect import bisect_right

MOST_RUNS = 10_000


class OffsetTranslation:
    """Pairs of offsets. Neighbours in both partitions are one run; the oldest runs are forgotten."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: list[list[int]] = []
        """First offset at the source, first offset at the mirror, length."""

    def add(self, source: int, target: int) -> None:
        """Add a record that is at `source` and, as a copy, at `target`."""
        runs = self._runs
        if runs:
            first, copied, length = last = runs[-1]
            if source == first + length and target == copied + length:
                last[2] = length + 1
                return
            if source < first + length:  # a copy that was late, or out of order
                runs.insert(bisect_right(runs, [source, target, 0]), [source, target, 1])
                return
            if len(runs) >= MOST_RUNS:
                del runs[: MOST_RUNS // 2]
        runs.append([source, target, 1])

    def of(self, source: int) -> int | None:
        """Return the offset of the copy; None if it is not known.

        The offset after the last record of a run is the one after its copy: a consumer commits the offset
        that it reads next.
        """
        at = bisect_right(self._runs, [source, 1 << 63, 0]) - 1
        if at < 0:
            return None
        first, target, length = self._runs[at]
        return target + source - first if source <= first + length else None
