"""Bodies that are plain: nothing in their encoding or their common values is worth a second look.

The tree decoder shows every oddity and costs hundred times what this does; nearly all bodies are plain.
Plain means: shortest varints, no tags, strings of UTF-8, booleans of 0 and 1, enumerated values and error
codes the schema knows, no zero or reserved topic id, no negative throttle time, timeout or partition. Bytes
that do not fit are not plain either. A plain body is decoded in the same pass.
"""

from collections.abc import Callable
from functools import lru_cache

from kdissect.decoders.cursor import more_varint
from kdissect.decoders.decoded import Decoded
from kdissect.decoders.generated.compiled import FAULTS, compile_function
from kdissect.decoders.generated.emitter import Emitter, Sink
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.decoders.generated.sinks import ObjectSink
from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.generated.values import value_class
from kdissect.decoders.records.records_fields import (
    RECORDS_FIELD_NAMES,
    RecordsField,
    RecordsFieldPlaces,
    has_pieces,
)
from kdissect.model.native import is_compiled, native
from kdissect.schema.all_fields import has_records
from kdissect.schema.enums import enumeration
from kdissect.schema.error_codes import all_codes
from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type

_LONGEST_STRING = 0x7FFF  # the length of a classic string is an int16
# ZERO_UUID and METADATA_TOPIC_ID of Apache Kafka (org.apache.kafka.common.Uuid)
_SPECIAL_IDS = frozenset({bytes(16), bytes(15) + b"\x01"})
_NEVER_NEGATIVE = frozenset(
    {"throttle_time_ms", "timeout_ms", "max_wait_ms", "session_timeout_ms", "index", "partition",
     "partition_index", "partition_id", "partitions", "partition_indexes", "partition_max_bytes"}
)  # fmt: skip
"""Fields of numbers of which a negative one means nothing (the rules BDY021, BDY023, BDY024, FET003)."""


def _known_codes(field: Field) -> frozenset[int] | None:
    """The numbers the schema knows for an error code, or for a field of a closed enumeration."""
    return all_codes() if field.is_error else _enumerated(field)


def _enumerated(field: Field) -> frozenset[int] | None:
    """The values of a closed enumeration of numbers."""
    known = enumeration(field.enum) if field.enum is not None else None
    if known is None or known.is_open:
        return None
    numbers = frozenset(value for value in known.values if isinstance(value, int))
    return numbers or None


def _plain_values(field: Field) -> frozenset[int] | frozenset[bytes] | bool | None:
    """What is plain of the values of a fixed width in a field, for the compiled decoder.

    None: all; True: those that are not negative; False: none; a set: these numbers, of ids none of these.
    """
    kind = field.type
    if kind is Primitive.UUID:
        return _SPECIAL_IDS if field.entity == "topicId" else None
    if isinstance(kind, Array):
        if kind.element is Primitive.UUID or _enumerated(field) is not None:
            return False
    elif (known := _known_codes(field)) is not None:
        return known
    return True if field.name in _NEVER_NEGATIVE else None


PlainDecoder = Callable[[bytes, int], Decoded | None]
_CACHE_SIZE = 1024  # bodies of the schema that are asked for


@lru_cache(maxsize=_CACHE_SIZE)
def plain_decoder(message: Message, version: int) -> PlainDecoder:
    """`(data, offset) -> Decoded` for one version of a message; None for a body that is not plain.

    The value is what `compiled.decoder` gives, its records fields those of `records.records_fields`. The
    decoder raises nothing.
    """
    layout = Layout(message, version)
    if _has_nullable_struct(layout, message.root):
        return _never  # the emitted code does not see which marker stands before a struct
    return _compiled(layout) or emitted_decoder(layout)


def _compiled(layout: Layout) -> PlainDecoder | None:
    """The compiled one, where there is one that knows all that stands in the body."""
    message, version = layout.message, layout.version
    if not is_compiled or has_pieces(message):
        return None
    known, structs, fields_of = native_layout(message, version)
    specs = [
        (value_class(message, of), [_plain_values(field) for field in fields])
        for of, fields in zip(structs, fields_of, strict=True)
    ]
    return native.PlainBody(known, specs, version, tuple.__new__, Decoded, RecordsField).decode


def emitted_decoder(layout: Layout) -> PlainDecoder:
    """`plain_decoder` by code made for the kind of body, which has no nullable structs."""
    message, version = layout.message, layout.version
    sink = _PlainSink(layout)
    emitter = _StrictEmitter(message, version, sink)
    owner = emitter.emit_root(depth=2)
    lines = ["def decode_plain(b, p):", "    end = len(b)"]
    if sink.records_fields:
        lines.append("    found = []")
    if any("m[" in line for line in emitter.lines):
        lines.append("    m = memoryview(b)")
    lines += ["    try:", *emitter.lines, f"    except {FAULTS}:", "        return None"]
    found = "found" if sink.records_fields else None
    lines.append(f"    return new(Decoded, ({owner}, p, {version}, p == end, True, None, {found}))")
    names = emitter.names | {"new": tuple.__new__, "Decoded": Decoded}
    decode: PlainDecoder = compile_function(lines, names, f"<plain {message.name} v{version}>")
    return decode


def _never(_data: bytes, _offset: int) -> None:
    return None


def _has_nullable_struct(layout: Layout, of: Struct) -> bool:
    for field in layout.plain_fields(of):
        inner: Type = field.type.element if isinstance(field.type, Array) else field.type
        if isinstance(inner, Struct) and (
            (inner is field.type and layout.is_nullable(field)) or _has_nullable_struct(layout, inner)
        ):
            return True
    return False


def _shortest_varint(data: bytes, offset: int, first: int) -> tuple[int, int]:
    """`more_varint`, which raises ValueError for a form that could be shorter as well."""
    value, count = more_varint(data, offset, first)
    if not data[offset + count - 1]:
        raise ValueError("a longer form than need be")
    return value, count


class _StrictEmitter(Emitter):
    """Sees raw bytes of booleans and the form of every varint."""

    def __init__(self, message: Message, version: int, sink: Sink) -> None:
        super().__init__(message, version, sink)
        self.names["more"] = _shortest_varint

    def _add(self, code: str, width: int, target: str | None, field: Field | None = None) -> None:
        super()._add("B" if code == "?" else code, width, target, field)

    def _length(self, code: str, width: int, compact: bool, often_long: bool = False) -> None:
        super()._length(code, width, compact)


class _PlainSink(ObjectSink):
    """Makes the objects, notes where records stand, and raises in the emitted code at the first thing that is
    not plain.
    """

    def __init__(self, layout: Layout) -> None:
        super().__init__(lenient=False)
        self._layout = layout
        self.records_fields = RecordsFieldPlaces() if has_records(layout.message) else None

    def begin(self, emitter: Emitter, of: Struct, target: str | None) -> str:
        """A new object."""
        name = super().begin(emitter, of, target)
        if self.records_fields:
            self.records_fields.begin(name, of)
        return name

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """The object's slot; tagged fields are odd by being there."""
        if self._layout.is_tagged(field):
            return None
        target = super().target(emitter, owner, field)
        if self.records_fields and target:
            self.records_fields.note(owner, field, target)
        return target

    def blob(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Bytes; of records also the place."""
        super().blob(emitter, field, target, start, stop)
        if self.records_fields and field.type is Primitive.RECORDS:
            emitter.names |= RECORDS_FIELD_NAMES
            emitter.emit(f"found.append({self.records_fields.records_field(start, stop)})")

    def fixed(self, emitter: Emitter, field: Field, target: str) -> None:
        """Booleans, error codes, enumerated values, topic ids, numbers that are never negative."""
        known = _known_codes(field)
        if field.type is Primitive.BOOL:
            emitter.emit(f"if {target} > 1: raise ValueError")
            emitter.emit(f"{target} = {target} == 1")
        elif known is not None:
            emitter.emit(f"if {target} not in {emitter.constant('k', known)}: raise ValueError")
        elif field.type is Primitive.UUID and field.entity == "topicId":
            emitter.emit(f"if {target} in {emitter.constant('k', _SPECIAL_IDS)}: raise ValueError")
        elif field.name in _NEVER_NEGATIVE:
            emitter.emit(f"if {target} < 0: raise ValueError")

    def text(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """UTF-8 of a length a string may have."""
        super().text(emitter, field, target, start, stop)
        emitter.emit(f"if {stop} - ({start}) > {_LONGEST_STRING}: raise ValueError")

    def items(self, emitter: Emitter, field: Field, target: str, count: str, start: str) -> None:
        """Arrays of numbers: only enumerated ones and partitions have odd values."""
        super().items(emitter, field, target, count, start)
        if _enumerated(field) is not None or field.type == Array(Primitive.UUID):
            emitter.emit(f"if {count}: raise ValueError")
        elif field.name in _NEVER_NEGATIVE:
            emitter.emit(f"if {count} and min({target}) < 0: raise ValueError")

    def all_tags(self, emitter: Emitter, owner: str, start: str) -> str:
        """Any tag deserves a look."""
        return "raise ValueError"
