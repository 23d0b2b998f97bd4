"""Records fields that wait to be decoded together, without an object for each of them."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.decoders.records.records_fields import Section
from kdissect.engine.records.acquired import SHARE_FETCH
from kdissect.engine.records.record_sets import RecordSet
from kdissect.model.frame import Frame
from kdissect.session.exchange import Exchange

# Bytes of records taken together: numpy's cost for a step is spread over enough batches, and memory stays
# flat.
GROUP_BYTES = 8 << 20
# Fields are small objects: of empty ones there may be many before the bytes make a group.
GROUP_FIELDS = 20_000
# What `take` answers: there is nothing to do; it is enough for a group; the caller has to look for the fields
# and `add` them.
TAKEN, ENOUGH, LOOK = range(3)


def goes_by_rows(exchange: Exchange, section: Section) -> bool:
    """Whether a field is not read by columns, so that it is given as an object (`HeldFields.add_set`).

    A piece of a snapshot knows what stands before it; of records that are shared the rest of the answer says
    which were acquired.
    """
    return section.position is not None or exchange.api_key == SHARE_FETCH


class HeldFields:
    """The records fields of exchanges, in the order they come.

    `exchanges`, `frames` and `counts` have one entry an exchange (`counts`: how many fields), `sections` one
    a field.
    """

    __slots__ = ("_bytes", "_given", "counts", "exchanges", "frames", "sections")

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.frames: list[Frame] = []
        self.counts: list[int] = []
        self.sections: list[Section] = []
        self._given: dict[int, RecordSet] = {}
        self._bytes = 0

    def take(self, exchange: Exchange) -> int:
        """Take the fields of an exchange: `LOOK`, as they have to be looked for first."""
        return LOOK

    def add(self, exchange: Exchange, frame: Frame, sections: Sequence[Section]) -> bool:
        """Take the fields of one frame; whether there is enough for a group."""
        self.exchanges.append(exchange)
        self.frames.append(frame)
        self.counts.append(len(sections))
        self.sections += sections
        self._bytes += len(frame.data)
        return self._bytes >= GROUP_BYTES or len(self.sections) >= GROUP_FIELDS

    def add_set(self, records: RecordSet) -> bool:
        """Take one field that is an object already, as it may know what stands before it."""
        self._given[len(self.sections)] = records
        return self.add(records.exchange, records.frame, (records.section,))

    def record_set(self, index: int, owner: int) -> RecordSet:
        """A field, by its number and that of its exchange, as an object."""
        known = self._given.get(index)
        if known is not None:
            return known
        exchange, frame = self.exchanges[owner], self.frames[owner]
        return RecordSet(exchange, frame is exchange.response, frame, self.sections[index])
