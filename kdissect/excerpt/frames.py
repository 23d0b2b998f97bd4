"""The frames that are to be kept, by the packet in which each begins."""

import pickle
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from kdissect.engine.secrets.patches import Patch
from kdissect.excerpt.edit import Edit

_HEAD = Struct("<QI")  # the packet's reference, the bytes that follow


class FramePlan(NamedTuple):
    """A frame to be kept.

    `mark` are its first bytes, size included, `length` all of them as the size says. Over its content go
    `blanks` (spans to be filled), then `patches`; `edits` then change its length. `known` bytes of it, size
    included, were captured without a hole; `label` says what it is, for people.
    """

    first_ref: int
    mark: bytes
    length: int
    patches: tuple[Patch, ...]
    exchange: int
    is_request: bool
    known: int = 0
    blanks: tuple[tuple[int, int], ...] = ()
    edits: tuple[Edit, ...] = ()
    label: str = ""

    def packed(self) -> bytes:
        """As it is held until its packet comes: 150 bytes, a fourth of what its objects take."""
        body = pickle.dumps(tuple(self), pickle.HIGHEST_PROTOCOL)
        return _HEAD.pack(self.first_ref, len(body)) + body


class Frames:
    """Frames of any connections: a packet is of one direction of one connection.

    Two readings of 100,000 open connections hold theirs at once, so they stay packed until they are taken.
    """

    def __init__(self) -> None:
        self._held: dict[int, bytes | bytearray] = {}

    def add(self, packed: bytes | bytearray) -> None:
        """Keep some frames, one `packed` behind the other."""
        for ref, one in _each(packed):
            held = self._held.get(ref)
            if held is None:
                self._held[ref] = one
            elif isinstance(held, bytearray):
                held += one
            else:
                self._held[ref] = bytearray(held + one)

    def take(self, ref: int) -> list[FramePlan]:
        """Those that begin in a packet, in the order in which they were added; they are not held any more."""
        head = _HEAD.size
        return [FramePlan(*pickle.loads(one[head:])) for _, one in _each(self._held.pop(ref, b""))]


def _each(packed: bytes | bytearray) -> Iterator[tuple[int, bytes]]:
    """The packets and the packed frames."""
    view, at = memoryview(packed), 0
    while at < len(view):
        ref, size = _HEAD.unpack_from(view, at)
        end = at + _HEAD.size + size
        yield ref, bytes(view[at:end])
        at = end
