"""Lines of several processes, put in the order of their keys and numbered.

A process sends lines without numbers, and next to them rows: the key of each line (`engine.shards`), which
has `KEY_BYTES`, and the line's length.
"""

from __future__ import annotations

from collections import deque
from heapq import merge
from typing import Protocol

from kdissect.engine.shards import AT_PACKET_BYTES, EventKey
from kdissect.model.native import is_compiled, native

KEY_BYTES = AT_PACKET_BYTES
_ROW_BYTES = KEY_BYTES + 4


def behind_number(line: bytes) -> bytes:
    """Return a line of JSON without its first field, the number."""
    return line.partition(b",")[2]


def line_row(key: EventKey, line: bytes) -> bytes:
    """Return the row of a line, whose key has `KEY_BYTES`."""
    return key + len(line).to_bytes(4)


class LineMerge(Protocol):
    """`_LineMerge`, here or compiled."""

    number: int
    """Of the exchange before."""

    def add(self, process: int, rows: bytes, lines: bytes, /) -> None:
        """Take what a process sent, which is behind what it sent before."""

    def take(self, until: bytes, most: int, /) -> tuple[bytes, int]:
        """Return the lines with keys before `until`, at most `most`, and their number."""


def line_merge(processes: int) -> LineMerge:
    """Return a merge of the lines from this number of processes."""
    return native.LineMerge(processes) if is_compiled else _LineMerge(processes)


class _LineMerge:
    def __init__(self, processes: int) -> None:
        self._held: list[deque[tuple[bytes, bytes]]] = [deque() for _ in range(processes)]
        self.number = 0

    def add(self, process: int, rows: bytes, lines: bytes) -> None:
        held, begin = self._held[process], 0
        for at in range(0, len(rows), _ROW_BYTES):
            end = begin + int.from_bytes(rows[at + KEY_BYTES : at + _ROW_BYTES])
            held.append((rows[at : at + KEY_BYTES], lines[begin:end]))
            begin = end

    def take(self, until: bytes, most: int) -> tuple[bytes, int]:
        ready = [[line for line in held if line[0] < until] for held in self._held]
        taken: list[bytes] = []
        for key, line in merge(*ready):
            if len(taken) == most:
                break
            next(held for held in self._held if held and held[0][0] == key).popleft()
            self.number += 1
            taken.append(b'{"number":%d,%b' % (self.number, line))
        return b"".join(taken), len(taken)
