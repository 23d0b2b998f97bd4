"""Summaries of bodies that repeat: the decisive bytes are the same again, so the summary is.

On a connection the bodies of a kind differ in numbers (offsets, times, sizes, positions in a log), seldom in
what a summary looks at. The bytes that decide (`outline`) are taken out with one `unpack_from` and looked up.
What is new is outlined and remembered; what is not ordinary goes to the compiled summarizer, which most kinds
of a short capture then need not have.
"""

import sys
from collections.abc import Callable

from kdissect.decoders.outline import MOST_BEHIND, Form, NotOrdinaryError, Outline, OutlineRoute
from kdissect.decoders.summary import Summarizer, Summary, summarizer
from kdissect.decoders.walk import Unpack, unpacker
from kdissect.schema.types import Message
from kdissect.schema.walk import has_records

# Of one version of a message: a topic, an error code and a place of records more are each one more.
MOST_OF_A_KIND = 64
# One that is not ordinary costs as much as so many others, and teaches nothing.
_NO_LESSON = 4
# For all together, about: hostile bodies can be new for ever. A summary takes some 1000 bytes, its decisive
# pieces 100 each besides what stands in them.
ROOM = 16 << 20
_SUMMARY_ROOM, _PIECE_ROOM = 1000, 100
MOST_FREE_FORMS = 16  # are tried one by one: a place of the records each
_LENGTHS = 4096  # sizes of records whose encoded length is kept, of each of the two encodings
_WIDE_LENGTH = 4  # an int32; compact ones are varints of n + 1 (KIP-482)
_NEVER = bytes(MOST_BEHIND + _WIDE_LENGTH)  # longer than what follows records and a length cut short

Look = Callable[[tuple[object, ...]], Summary | None]
# A form of bodies of one size; one of bodies with records: also where the length of these stands, how many
# bytes follow them, and what takes the decisive ones out of those.
SizedForm = tuple[Unpack, Look]
FreeForm = tuple[Unpack, Look, int, int, Unpack]


def remembering(message: Message, version: int) -> Summarizer:
    """`(data, offset) -> Summary`, equal to `summary.summarizer` of the same."""
    memory = Memory(message, version)
    forms, miss = memory.forms.get, memory.miss

    def summarize(data: bytes, offset: int) -> Summary:
        form = forms(len(data) - offset)
        if form is not None:
            unpack, look = form
            found = look(unpack(data, offset))
            if found is not None:
                return found
        return miss(data, offset)

    return _with_records(memory, summarize) if has_records(message) else summarize


def _with_records(memory: "Memory", others: Summarizer) -> Summarizer:
    """For a message that has records: of these the length may differ from body to body."""
    forms, lengths, encode = memory.free_forms.get, memory.lengths.get, memory.encode

    def summarize(data: bytes, offset: int) -> Summary:
        end = len(data)
        at = offset + memory.sign
        if at >= end:
            return others(data, offset)
        for unpack, look, free, behind, unpack_behind in forms(data[at], ()):
            at = offset + free
            rest = end - behind - at
            # Once the length is what it must be, all that is unpacked is there.
            if data.startswith(lengths(rest) or encode(rest), at):
                decisive = unpack(data, offset)
                if behind:
                    decisive += unpack_behind(data, end - behind)
                found = look(decisive)
                if found is not None:
                    return found
        return others(data, offset)

    return summarize


class Memory:
    """What is remembered of one version of a message.

    `forms` are those of bodies of one size, by that size; `free_forms` those of bodies with records, by the
    byte at `sign`, the latest first; `lengths` the encoded lengths of records by the bytes that these and
    their length take.
    """

    room = ROOM
    """What is left of it."""

    def __init__(self, message: Message, version: int) -> None:
        self.forms: dict[int, SizedForm] = {}
        self.free_forms: dict[int, list[FreeForm]] = {}
        self.sign = 0
        self._body = message, version
        self._route = OutlineRoute(message, version)
        self._encode = _compact_length if message.is_flexible(version) else _wide_length
        self.lengths = _COMPACT if message.is_flexible(version) else _WIDE
        self._lessons = MOST_OF_A_KIND
        self._has_records = has_records(message)
        self._too_large = sys.maxsize  # bodies of so many bytes were not ordinary, without records
        self._known: dict[Form, tuple[Unpack, Unpack, dict[tuple[object, ...], Summary]]] = {}
        self._compiled: Summarizer | None = None

    def miss(self, data: bytes, offset: int) -> Summary:
        """The summary of a body that is not remembered."""
        if self._lessons > 0 and Memory.room > 0 and len(data) - offset < self._too_large:
            self._lessons -= 1
            try:
                outline = self._route.outline(data, offset)
            except NotOrdinaryError:
                self._lessons -= _NO_LESSON
                if not self._has_records:
                    self._too_large = len(data) - offset
            else:
                self._remember(outline, data, offset)
                return outline.summary
        if self._compiled is None:
            self._compiled = summarizer(*self._body)
        return self._compiled(data, offset)

    def encode(self, rest: int) -> bytes:
        """The length of records that take `rest` bytes together with it."""
        if len(self.lengths) >= _LENGTHS:
            self.lengths.clear()
        found = self.lengths[rest] = self._encode(rest)
        return found

    def _remember(self, outline: Outline, data: bytes, offset: int) -> None:
        pieces, size, free, behind, pieces_behind = form = outline.form
        if form not in self._known:
            self._known[form] = unpacker(pieces), unpacker(pieces_behind), {}
        unpack, unpack_behind, summaries = self._known[form]
        decisive = unpack(data, offset)
        if free is None:
            self.forms[size] = unpack, summaries.get  # another one of that size gives way
        else:
            decisive += unpack_behind(data, len(data) - behind)
            if not self.free_forms:
                self.sign = outline.sign
            forms = self.free_forms.setdefault(data[offset + self.sign], [])
            found = unpack, summaries.get, free, behind, unpack_behind
            if found not in forms:
                forms.insert(0, found)
                del forms[MOST_FREE_FORMS:]
        summaries[decisive] = outline.summary
        Memory.room -= _SUMMARY_ROOM + sum(_PIECE_ROOM + width for _, width in pieces + pieces_behind)


_WIDE: dict[int, bytes] = {}
_COMPACT: dict[int, bytes] = {}


def _wide_length(rest: int) -> bytes:
    return (rest - _WIDE_LENGTH).to_bytes(_WIDE_LENGTH) if rest >= _WIDE_LENGTH else _NEVER


def _compact_length(rest: int) -> bytes:
    if rest < 1:
        return _NEVER
    width = 1
    while rest - width + 1 >> 7 * width:
        width += 1
    # Where no length of the usual width comes out, one with a zero more: as good for who reads it.
    number = rest - width + 1
    return bytes(number >> 7 * i & 127 | (128 if i < width - 1 else 0) for i in range(width))
