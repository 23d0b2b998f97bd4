"""Last stable offsets that do not move while records come after them, and the transaction that holds them."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.history.fact import Evidence
from kdissect.history.state_table import Table

PARTITIONS_KEPT = 100_000  # 200 bytes each
BATCHES_KEPT = 100_000  # of transactions, that may be the first of one; 200 bytes each
WAITING_KEPT = 20  # clients named among the waiting ones
Place = tuple[str, str, int]
"""Capture set, topic and partition."""


class Holder(NamedTuple):
    """The producer of a transaction's batch."""

    producer_id: int
    epoch: int
    transactional_id: str | None
    client_id: str | None
    evidence: Evidence


class Held:
    """A last stable offset below the high watermark, from the first answer that shows it to the last.

    `moved_ns` is the time of the answer that shows another one, None if there was none. `gone_ns` is the time
    from which brokers report that there is no such topic, None if they do not report it.
    """

    __slots__ = (
        "first", "gone_ns", "high_watermark", "holder", "is_wanted", "last_ns", "moved_ns", "offset", "place",
        "waiting",
    )  # fmt: skip

    def __init__(self, place: Place, offset: int, first: Evidence) -> None:
        self.place = place
        self.offset = offset
        self.first = first
        self.last_ns = first.answered_ns
        self.high_watermark = offset
        self.moved_ns: int | None = None
        self.gone_ns: int | None = None
        self.holder: Holder | None = None
        self.waiting: dict[str, None] = {}
        self.is_wanted = False

    @property
    def held_ns(self) -> int:
        """How long it is known to have stood still."""
        return (self.moved_ns or self.last_ns) - self.first.answered_ns


class HeldOffsets:
    """Last stable offsets by partition."""

    def __init__(self) -> None:
        self._held: Table[Place, Held] = Table(PARTITIONS_KEPT)
        self._begun: Table[tuple[Place, int], Holder] = Table(BATCHES_KEPT)

    def written(self, place: Place, offset: int, holder: Holder) -> None:
        """Note a batch of a transaction at an offset."""
        known = self._begun.peek((place, offset))
        if known is None or known.transactional_id is None:
            self._begun.put((place, offset), holder)

    def told(self, place: Place, stable: int, high_watermark: int, evidence: Evidence) -> Held | None:
        """Take both offsets of an answer. Return the hold until then, if it moved on."""
        held, over = self._held.peek(place), None
        if held is not None and stable > held.offset:
            held.moved_ns = evidence.answered_ns
            self._name(held)
            self._held.pop(place)
            held, over = None, held
        if stable < high_watermark and (held is None or stable == held.offset):
            held = held or self._held.put(place, Held(place, stable, evidence))
            held.last_ns = max(held.last_ns, evidence.answered_ns)
            held.gone_ns = None
            held.high_watermark = max(held.high_watermark, high_watermark)
        return over

    def gone(self, place: Place, time_ns: int) -> None:
        """Note a broker's report that a partition has no topic."""
        held = self._held.peek(place)
        if held is not None and held.gone_ns is None:
            held.gone_ns = time_ns

    def waits(self, place: Place, client_id: str | None, wanted: bool) -> None:
        """Note a client that reads only committed records and asked for a partition."""
        held = self._held.peek(place)
        if held is not None:
            held.is_wanted |= wanted
            if client_id is not None and len(held.waiting) < WAITING_KEPT:
                held.waiting[client_id] = None

    def finish(self) -> list[Held]:
        """Return the holds that last to the end of the input."""
        rest = list(self._held)
        for held in rest:
            self._name(held)
        return rest

    def _name(self, held: Held) -> None:
        held.holder = self._begun.peek((held.place, held.offset))
