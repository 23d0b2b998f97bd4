"""Lines of several processes in their order: the compiled merge is that of Python."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.cli.jobs.line_merge import KEY_BYTES, LineMerge, _LineMerge, line_row
from kdissect.model.native import is_compiled, native

pytestmark = pytest.mark.skipif(not is_compiled, reason="the compiled part is not there")

KEYS = st.integers(0, 300).map(lambda number: number.to_bytes(KEY_BYTES))
LINES = st.binary(max_size=9)
OWNERS = st.dictionaries(KEYS, st.tuples(st.integers(0, 2), LINES), max_size=40)


def merged(
    made: LineMerge, sent: list[tuple[int, bytes, bytes]], asked: list[tuple[bytes, int]]
) -> list[tuple[bytes, int, int]]:
    for message in sent:
        made.add(*message)
    return [(*made.take(until, most), made.number) for until, most in asked]


def messages(owners: dict[bytes, tuple[int, bytes]], size: int) -> list[tuple[int, bytes, bytes]]:
    """Return what three processes send of the lines that they have, so many in a message."""
    found = []
    for process in range(3):
        own = sorted((key, line) for key, (owner, line) in owners.items() if owner == process)
        for at in range(0, len(own), size):
            some = own[at : at + size]
            rows = b"".join(line_row(key, line) for key, line in some)
            found.append((process, rows, b"".join(line for _, line in some)))
    return found


@settings(max_examples=60, deadline=None)
@given(OWNERS, st.integers(1, 5), st.lists(st.tuples(KEYS, st.integers(0, 20)), max_size=4))
def test_lines_of_processes(
    owners: dict[bytes, tuple[int, bytes]], size: int, asked: list[tuple[bytes, int]]
) -> None:
    sent = messages(owners, size)
    asked = [*sorted(asked), (b"\xff", len(owners))]
    python = merged(_LineMerge(3), sent, asked)
    assert merged(native.LineMerge(3), sent, asked) == python
    lines = [line for _, (_, line) in sorted(owners.items())]
    numbered = [b'{"number":%d,%b' % (number, line) for number, line in enumerate(lines, 1)]
    assert b"".join(text for text, _, _ in python) == b"".join(numbered)
