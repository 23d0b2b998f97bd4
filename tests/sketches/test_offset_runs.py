"""Sets of offsets against sets of Python."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.sketches.offset_runs import OffsetRuns


def lengths(offsets: list[int]) -> list[int]:
    """Return the lengths of stretches of neighbours."""
    found: list[int] = []
    for i, offset in enumerate(offsets):
        if i and offsets[i - 1] == offset - 1:
            found[-1] += 1
        else:
            found.append(1)
    return found


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 5)), max_size=60), st.integers(1, 5))
@settings(deadline=None)
def test_runs_are_a_set_of_offsets(added: list[tuple[int, int]], most: int) -> None:
    for runs in (OffsetRuns(), OffsetRuns(most)):
        offsets: set[int] = set()
        for first, more in added:
            runs.add(first, first + more)
            offsets |= set(range(first, first + more + 1))
            offsets |= set(range(runs.floor))
        for offset in range(-1, 310):
            assert runs.covers(offset, offset) == (offset in offsets or offset < runs.floor), offset
        for first in range(0, 300, 37):
            unseen = [offset for offset in range(first, 308) if offset not in offsets]
            assert runs.unseen(first, 307) == len(unseen)
            begin = max(first, runs.floor)
            assert runs.gaps(begin, 307) == lengths([one for one in unseen if one >= begin])
            assert runs.covers(first, first + 5) == all(first + i in offsets for i in range(6))
