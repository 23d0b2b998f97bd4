"""Bodies in the form that writers use are decoded in one pass, other bodies are left to slower readers.

Canonical means: shortest varints, UTF-8 strings of an allowed length, booleans of 0 and 1, the struct markers
that Kafka writes, and tags that the schema knows in this version, once each, in ascending order, and not with
their defaults. Bytes that do not fit are not canonical either. The tree decoder shows every other form and
costs a hundred times more. Nearly all bodies are canonical.
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
from kdissect.schema.types import Field, Message, Primitive, Struct

_LONGEST_STRING = 0x7FFF  # the length of a classic string is an int16
CanonicalDecoder = Callable[[bytes, int], Decoded | None]
_CACHE_SIZE = 1024  # bodies of the schema in use


@lru_cache(maxsize=_CACHE_SIZE)
def canonical_decoder(message: Message, version: int) -> CanonicalDecoder:
    """Return `(data, offset) -> Decoded` for one version of a message; None for a body that is not canonical.

    The value is equal to the result of `compiled.decoder`, its records fields to that of
    `records.records_fields`. The decoder raises nothing.
    """
    layout = Layout(message, version)
    return _compiled(layout) or emitted_decoder(layout)


def _compiled(layout: Layout) -> CanonicalDecoder | None:
    """Return the native decoder, if it supports all fields of the body."""
    message, version = layout.message, layout.version
    if not is_compiled or has_pieces(message):
        return None
    known, structs, _ = native_layout(message, version)
    classes = [value_class(message, of) for of in structs]
    return native.CanonicalBody(known, classes, version, tuple.__new__, Decoded, RecordsField).decode


def emitted_decoder(layout: Layout) -> CanonicalDecoder:
    """`canonical_decoder` by code made for the kind of body."""
    message, version = layout.message, layout.version
    sink = _CanonicalSink(layout)
    emitter = _StrictEmitter(message, version, sink)
    owner = emitter.emit_root(depth=2)
    lines = ["def decode_canonical(b, p):", "    end = len(b)"]
    if sink.records_fields:
        lines.append("    found = []")
    if any("m[" in line for line in emitter.lines):
        lines.append("    m = memoryview(b)")
    lines += ["    try:", *emitter.lines, f"    except {FAULTS}:", "        return None"]
    found = "found" if sink.records_fields else None
    lines.append(f"    return new(Decoded, ({owner}, p, {version}, p == end, True, None, {found}))")
    names = emitter.names | {"new": tuple.__new__, "Decoded": Decoded}
    decode: CanonicalDecoder = compile_function(lines, names, f"<canonical {message.name} v{version}>")
    return decode


def _shortest_varint(data: bytes, offset: int, first: int) -> tuple[int, int]:
    """`more_varint`, which raises ValueError for a form that could be shorter as well."""
    value, count = more_varint(data, offset, first)
    if not data[offset + count - 1]:
        raise ValueError("a longer form than need be")
    return value, count


class _StrictEmitter(Emitter):
    """Sees raw bytes of booleans, the form of every varint, markers of structs, and the order of tags."""

    def __init__(self, message: Message, version: int, sink: Sink) -> None:
        super().__init__(message, version, sink)
        self.names["more"] = _shortest_varint
        self._before: list[str] = []  # the variables of the tags before, of each section that is open

    def _add(self, code: str, width: int, target: str | None, field: Field | None = None) -> None:
        super()._add("B" if code == "?" else code, width, target, field)

    def _length(self, code: str, width: int, compact: bool, often_long: bool = False) -> None:
        super()._length(code, width, compact)

    def _marker(self, tagged: bool) -> None:
        self.emit(f"if n != 1 and n != {0 if tagged else -1}: raise ValueError")

    def _tag_loop(self, known: list[tuple[Field, str]], owner: str) -> None:
        self._before.append(self.fresh("l"))
        self.emit(f"{self._before[-1]} = -1")
        super()._tag_loop(known, owner)
        self._before.pop()

    def _tagged_field(self, field: Field, target: str) -> None:
        self._depth += 1
        start, default = self.fresh("s"), self.constant("d", self.layout.default_bytes(field))
        self.emit(f"if t <= {self._before[-1]}: raise ValueError")
        self.emit(f"{self._before[-1]} = t; {start} = p")
        self._depth -= 1
        super()._tagged_field(field, target)
        self.emit(f"    if b[{start}:p] == {default}: raise ValueError")


class _CanonicalSink(ObjectSink):
    """Makes the objects, notes where records are, and raises in the emitted code at another form."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(lenient=False)
        self.records_fields = RecordsFieldPlaces() if has_records(layout.message) else None

    def begin(self, emitter: Emitter, of: Struct, target: str | None) -> str:
        """Return a new object."""
        name = super().begin(emitter, of, target)
        if self.records_fields:
            self.records_fields.begin(name, of)
        return name

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """Return the object's slot."""
        target = super().target(emitter, owner, field)
        if self.records_fields and target:
            self.records_fields.note(owner, field, target)
        return target

    def blob(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Assign the bytes; note the position, too, if they are records."""
        super().blob(emitter, field, target, start, stop)
        if self.records_fields and field.type is Primitive.RECORDS:
            emitter.names |= RECORDS_FIELD_NAMES
            emitter.emit(f"found.append({self.records_fields.records_field(start, stop)})")

    def fixed(self, emitter: Emitter, field: Field, target: str) -> None:
        """Booleans, of which the raw bytes were read."""
        if field.type is Primitive.BOOL:
            emitter.emit(f"if {target} > 1: raise ValueError")
            emitter.emit(f"{target} = {target} == 1")

    def text(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """UTF-8 of a length a string may have."""
        super().text(emitter, field, target, start, stop)
        emitter.emit(f"if {stop} - ({start}) > {_LONGEST_STRING}: raise ValueError")

    def unknown_tag(self, emitter: Emitter, owner: str) -> None:
        """No unknown tag is canonical."""
        emitter.emit("raise ValueError")

    def all_tags(self, emitter: Emitter, owner: str, start: str) -> str:
        """No tag is known."""
        return "raise ValueError"
