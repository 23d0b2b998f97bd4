"""The bytes that a frame reader stores around gaps, to read late bytes that fill them as if they had been
there.

It stores everything from the last certain position on: the beginning of the current frame, then bytes and
holes. It is open while no frame was delivered that begins after the first hole: then the reader goes back and
reads all of it again. It is closed once the next frame was found: then the frames of the holes are whole,
once all holes are filled, and end at the start of that frame.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from kdissect.model.anomaly import Anomaly
from kdissect.model.frame import Frame
from kdissect.model.packets.stream import Hole, Part
from kdissect.net.store import Store

# Bytes stored during the search for a frame whose beginning is missing.
MOST_LOST_BYTES = 1 << 20
# Held once the next frame was found: requests and answers are smaller, but for records.
CLOSED_BYTES = 1 << 16
_PREFIX = 4  # the size of a frame (spec/004 "Frame Structure")
PART_COSTS = 200  # bytes of memory for a part, however small


class Mark(NamedTuple):
    """State of a conversation at a moment.

    The ordinal of the next request, the number of orphans, and up to which request responses may be lost.
    """

    next: int
    orphans: int
    lost_before: int


class Stand(NamedTuple):
    """Position of a reader before the first hole.

    `begun` are the bytes of the current frame, including its size or a part of the size. `first` and `last`
    are reference and time of its first and last packets with bytes.
    """

    begun: bytes
    first: tuple[int, int]
    last: tuple[int, int]


class TornHole(Hole):
    """A hole among the parts of a `Torn`. `parts` fill it."""

    __slots__ = ("length", "parts", "ref", "time_ns", "torn")

    def __init__(self, torn: "Torn", length: int, ref: int, time_ns: int) -> None:
        super().__init__()
        self.torn = torn
        self.length = length
        self.ref = ref
        self.time_ns = time_ns
        self.parts: list[Part] = []


class Torn:
    """Bytes with holes.

    `is_cut`: the current frame was delivered, without its end. `replaces`: it was, and can be replaced.

    `notes` are the connection's anomalies because of the holes, `mark` is the state of the conversation.
    `behind` is how many of its bytes belong to the next frame. `is_over`: it was released.
    """

    __slots__ = (
        "_bytes",
        "_store",
        "behind",
        "is_cut",
        "is_over",
        "mark",
        "notes",
        "parts",
        "replaces",
        "stand",
    )

    def __init__(self, store: Store, stand: Stand, mark: Mark) -> None:
        self._store = store
        self._bytes = 0
        self.stand = stand
        self.mark = mark
        self.parts: list[Part | TornHole] = []
        self.notes: list[Anomaly] = []
        self.behind = 0
        self.is_cut = self.replaces = self.is_over = False
        self._count(len(stand.begun))

    def tear(self, hole: TornHole) -> None:
        """Add a hole."""
        self.parts.append(hole)
        self._count(PART_COSTS)

    def add(self, payload: bytes, ref: int, time_ns: int, is_lost: bool) -> bool:
        """Store bytes. Return whether the limits allow them. `is_lost`: the start of the next frame is
        unknown.
        """
        self.parts.append((payload, ref, time_ns))
        self._count(len(payload) + PART_COSTS)
        most = MOST_LOST_BYTES if is_lost else self._store.limits.direction_out_of_order_bytes
        return self._bytes <= most and self._store.has_room_for_torn

    def close(self, behind: int) -> None:
        """Close it, because the next frame was found, with `behind` bytes of it stored."""
        self.behind = behind
        if self._bytes > CLOSED_BYTES:
            self.release()

    @property
    def is_filled(self) -> bool:
        """Whether no hole is left."""
        return all(part.parts for part in self.parts if isinstance(part, TornHole))

    def release(self) -> None:
        """Hold nothing any more."""
        self._count(-self._bytes)
        self.parts, self.notes = [], []
        self.is_over = True

    def _count(self, change: int) -> None:
        self._bytes += change
        self._store.torn_bytes += change

    def bytes_read(self) -> Iterator[Part]:
        """Yield the bytes before the first hole that is not filled."""
        if self.stand.begun:
            yield (self.stand.begun, *self.stand.first)
        for part in self.parts:
            if not isinstance(part, TornHole):
                yield part
            elif part.parts:
                yield from part.parts
            else:
                return


def frames_of(torn: Torn) -> tuple[list[Frame], int]:
    """Return the whole frames before the first hole that is not filled, and how many bytes follow the last
    one.
    """
    parts = list(torn.bytes_read())
    ends = list(accumulate(len(payload) for payload, _, _ in parts))
    data = b"".join(payload for payload, _, _ in parts)
    length = len(data) - torn.behind
    frames: list[Frame] = []
    at = 0
    while length - at >= _PREFIX:
        size = int.from_bytes(data[at : at + _PREFIX], signed=True)
        end = at + _PREFIX + size
        if size < 0 or end > length:
            break
        _, first_ref, first_ns = parts[bisect_right(ends, at)]
        _, last_ref, last_ns = parts[bisect_left(ends, end)]
        frames.append(Frame(data[at + _PREFIX : end], size, first_ref, last_ref, first_ns, last_ns))
        at = end
    return frames, length - at
