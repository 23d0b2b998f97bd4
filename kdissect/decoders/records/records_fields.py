"""Positions of a body's records, and their partitions, without decoding the other fields.

It uses the emitter of `compiled`, with a sink that reads topic, partition and records, and skips other
fields.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

from kdissect.decoders.body_schemas import CACHE_SIZE, body_message
from kdissect.decoders.generated.compiled import FAULTS, compile_function
from kdissect.decoders.generated.emitter import Emitter, Sink
from kdissect.decoders.generated.native_plan import POSITION, part_of
from kdissect.model.errors import DecodeError
from kdissect.schema.all_fields import has_records, holds_records
from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type

_SNAPSHOT = "snapshot_id"
_SNAPSHOT_PARTS = ("end_offset", "epoch")


class RecordsField(NamedTuple):
    """A records field that is not null: `data[start:end]`; `end` may lie past the data of a cut frame.

    `topic` is None where the wire has a topic id, and the other way round. In FetchSnapshot `position` is the
    offset of the bytes in the snapshot, and `snapshot` its end offset and epoch. Both are None elsewhere.
    """

    topic: str | None
    topic_id: bytes | None
    partition: int | None
    position: int | None
    start: int
    end: int
    snapshot: tuple[int, int] | None = None


RECORDS_FIELD_NAMES = {"new": tuple.__new__, "RecordsField": RecordsField}
"""Names that emitted code needs to make a records field: without the call of a NamedTuple's own
constructor.
"""
_RecordsFieldFinder = Callable[[bytes, int], list[RecordsField]]


@lru_cache(maxsize=CACHE_SIZE)
def finder_of(api_key: int, api_version: int, is_response: bool) -> _RecordsFieldFinder | None:
    """`_records_field_finder` of a body; None for one without records, and for one not in the schema."""
    try:
        message = body_message(api_key, api_version, is_response)
    except DecodeError:
        return None
    return _records_field_finder(message, api_version)


@cache
def has_pieces(message: Message) -> bool:
    """Return whether the records of a message are pieces of a file, which begin and end anywhere
    (KIP-630).
    """
    return _has_position(message.root)


def _has_position(of: Type) -> bool:
    if isinstance(of, Array):
        return _has_position(of.element)
    if not isinstance(of, Struct):
        return False
    kinds = [field.type for field in of.fields]
    if Primitive.RECORDS in kinds and any(field.name == POSITION for field in of.fields):
        return True
    return any(_has_position(kind) for kind in kinds)


@cache
def _records_field_finder(message: Message, version: int) -> _RecordsFieldFinder | None:
    """Return `(data, offset) -> records fields` for one version; None for a message without records."""
    if not has_records(message):
        return None
    emitter = Emitter(message, version, _RecordsFieldSink())
    emitter.emit_root(depth=2)
    lines = ["def records_fields(b, p):", "    end = len(b)", "    found = []"]
    lines += ["    topic = topic_id = partition = position = end_offset = epoch = None"]
    lines += ["    try:", *emitter.lines]
    lines += [f"    except {FAULTS}:", "        pass", "    return found"]
    names = emitter.names | RECORDS_FIELD_NAMES
    finder: _RecordsFieldFinder = compile_function(
        lines, names, f"<{message.name} v{version}, records fields>"
    )
    return finder


class _RecordsFieldSink(Sink):
    """Locals `topic`, `topic_id`, `partition` ... hold what was read last when records appear."""

    enters = True

    def __init__(self) -> None:
        self._has_snapshot = False

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """Return a local for what is wanted, and for containers of records."""
        if isinstance(field.type, Array | Struct):
            return "inner" if holds_records(field.type) else self._snapshot_target(field)
        if owner == _SNAPSHOT:
            return field.name if field.name in _SNAPSHOT_PARTS else None
        return part_of(field)

    def begin(self, emitter: Emitter, of: Struct, target: str | None) -> str:
        """Return the name by which `target` knows the fields of a snapshot's id."""
        return _SNAPSHOT if target == _SNAPSHOT else "skipped"

    def wants(self, of: Type) -> bool:
        """Return whether there are records below."""
        return holds_records(of)

    def text(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Emit the reading of the topic's name, if all its bytes are there."""
        emitter.emit(f"if {stop} > end: raise ValueError")
        emitter.emit(f'{target} = b[{start}:{stop}].decode("utf-8", "backslashreplace")')

    def blob(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """One more records field."""
        snapshot = "(end_offset, epoch)" if self._has_snapshot else "None"
        place = f"{start}, {stop}, {snapshot}"
        emitter.emit(f"found.append(new(RecordsField, (topic, topic_id, partition, position, {place})))")

    def _snapshot_target(self, field: Field) -> str | None:
        """Of structs without records only the snapshot's id before a piece of it; Fetch has one as a tag."""
        if field.name != _SNAPSHOT or field.tag is not None:
            return None
        self._has_snapshot = True
        return _SNAPSHOT


class RecordsFieldPlaces:
    """Where a decoder that keeps all values finds the parts of a records field, as expressions."""

    def __init__(self) -> None:
        self._owners: set[str] = set()
        self._parts = {"topic": "None", "topic_id": "None", "partition": "None", POSITION: "None"}
        self._snapshot = "None"

    def begin(self, owner: str, of: Struct) -> None:
        """Begin a struct: the fields matter if it contains records."""
        if holds_records(of):
            self._owners.add(owner)

    def note(self, owner: str, field: Field, target: str) -> None:
        """Note that a field goes to `target`."""
        if owner not in self._owners:
            return
        if isinstance(field.type, Array | Struct):
            if field.name == _SNAPSHOT and field.tag is None:
                self._snapshot = f"({', '.join(f'{target}.{part}' for part in _SNAPSHOT_PARTS)})"
            return
        part = part_of(field)
        if part in self._parts:
            self._parts[part] = target

    def topic(self) -> str:
        """Return the topic and topic id of the records that come now."""
        return f"{self._parts['topic']}, {self._parts['topic_id']}"

    def records_field(self, start: str, stop: str) -> str:
        """Return the records field of the records that come now."""
        return f"new(RecordsField, ({', '.join(self._parts.values())}, {start}, {stop}, {self._snapshot}))"
