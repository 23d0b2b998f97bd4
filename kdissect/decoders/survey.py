"""What a glance of one body tells, by walking it: that it fits, its error codes, its batches."""

from struct import Struct as Format

from kdissect.decoders.records.tally import count_batches
from kdissect.decoders.walk import Route, Walk
from kdissect.schema.registry import payload
from kdissect.schema.types import Field, Message, MessageKind, Struct
from kdissect.schema.walk import has_errors

# What stands in these places in a group of consumers (`payloads.groups`); in others a walk does not look.
_OF_CONSUMERS = {
    "groupAssignment": "ConsumerProtocolAssignment",
    "groupMetadata": "ConsumerProtocolSubscription",
}
_CONSUMER = b"consumer"
_PROTOCOL_TYPE = "protocol_type"

# Of a body with more to look at code is sooner done, and their places are no small memory: 100 bytes each.
_MOST_MARKS = 1024

_INT16 = Format(">h").unpack_from


class SurveyRoute(Route):
    """Wants error codes, and looks into all tags: what stands in them may not fit."""

    def __init__(self, message: Message, version: int) -> None:
        super().__init__(message, version)
        self.may_be_cut = message.kind is MessageKind.RESPONSE
        self._inner: dict[tuple[str, int], SurveyRoute] = {}

    def wants(self, of: Struct, field: Field) -> bool:
        """Error codes."""
        return field.is_error or has_errors(field.type)

    def is_looked_at(self, of: Struct, field: Field) -> bool:
        """Every known one."""
        return True

    def inner(self, name: str, version: int) -> "SurveyRoute":
        """That of a payload. Raises ValueError for a version it does not have."""
        found = self._inner.get((name, version))
        if found is None:
            message = payload(name)
            if version not in message.versions:
                raise ValueError("a payload of an unknown version")
            found = self._inner[name, version] = SurveyRoute(message, version)
        return found


class Survey(Walk[SurveyRoute]):
    """A walk; its constructor raises like `go`.

    It refuses what takes more than a walk: most payloads, batches that are not right, very many elements.

    `batches` counts those of records. Besides error codes, types of groups are marked. Before the first
    `head` marks nothing stands of which the length is free (None: before none of them).
    """

    __slots__ = ("_group", "batches", "head")

    def __init__(self, route: SurveyRoute, data: bytes, offset: int) -> None:
        super().__init__(route, data, offset)
        self._group = b""
        self.batches = 0
        self.head: int | None = None
        self.go()

    def _decide(self, width: int) -> None:
        if len(self.marks) >= _MOST_MARKS:
            raise ValueError("too much for a walk")
        self.marks.append((self._at, width))
        self._at += width

    def _content(self, field: Field, size: int, wanted: bool) -> None:
        if not size:
            return
        if self.head is None:
            self.head = len(self.marks)
        if field.payload:
            self._payload(field.payload, self._at + size)
        elif field.name == _PROTOCOL_TYPE:
            self._group = self._data[self._at : self._at + size]
            self._decide(size)
        else:
            self._at += size

    def _pass(self, size: int) -> None:
        if self.head is None:
            self.head = len(self.marks)
        self._at += size

    def _records(self, size: int) -> None:
        if self.head is None:
            self.head = len(self.marks) - 1
        start = self._at
        super()._records(size)
        self.batches += count_batches(self._data, start, self._at, self._route.may_be_cut)

    def _payload(self, place: str, end: int) -> None:
        """Bytes up to `end` that exactly fit what consumers tell each other, which is also how those are
        recognised where the type of the group is not told."""
        name = _OF_CONSUMERS.get(place)
        if name is None or self._group not in (b"", _CONSUMER):
            raise ValueError("a payload to be decoded")
        (version,) = _INT16(self._data, self._at)
        self._decide(2)
        around = self._route
        self._route = around.inner(name, version)
        self._flexible = self._route.layout.flexible
        self._struct(self._route.root)
        self._route, self._flexible = around, around.layout.flexible
        if self._at != end:
            raise ValueError("a payload of another size")
