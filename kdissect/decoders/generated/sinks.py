"""Sinks that turn decoded values into objects."""

from functools import cache
from struct import Struct as Format
from struct import unpack_from
from typing import Any

from kdissect.decoders.cursor import tag_section
from kdissect.decoders.generated.emitter import Emitter, Sink
from kdissect.decoders.generated.struct_layout import FIXED
from kdissect.decoders.generated.values import Value, value_class
from kdissect.schema.types import Array, Field, Primitive, Struct

# Lists of replicas and the like have a handful of elements: for fewer than this, the format is there already.
FEW = 9


@cache
def _few(code: str) -> tuple[Any, ...]:
    """Return unpackers of 0, 1, 2 ... values."""
    return tuple(Format(f">{count}{code}").unpack_from for count in range(FEW))


def element_of(field: Field) -> Primitive:
    """Return the primitive type of an array's elements."""
    assert isinstance(field.type, Array)
    assert isinstance(field.type.element, Primitive)
    return field.type.element


class ObjectSink(Sink):
    """Values become the objects of `values`. `lenient` keeps strings that are not UTF-8 as bytes."""

    def __init__(self, lenient: bool) -> None:
        self.lenient = lenient

    def begin(self, emitter: Emitter, of: Struct, target: str | None) -> str:
        """Return a new object."""
        name = emitter.fresh("o")
        kind = emitter.constant("T", value_class(emitter.layout.message, of))
        emitter.emit(f"{target + ' = ' if target else ''}{name} = {kind}()")
        return name

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """Return the object's slot."""
        return f"{owner}.{field.name}"

    def text(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Emit a str, or bytes if lenient and not UTF-8."""
        emitter.emit(f"{target} = {self._decoded(emitter, start, stop)}")

    def _decoded(self, emitter: Emitter, start: str, stop: str) -> str:
        if not self.lenient:
            return f"b[{start}:{stop}].decode()"
        from kdissect.decoders.as_json.jsonable import text_or_bytes  # next to no string is not UTF-8

        emitter.names["text"] = text_or_bytes
        return f"text(b[{start}:{stop}])"

    def blob(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Emit the bytes, or, for records, which are large, a view of the frame."""
        buffer = "m" if field.type is Primitive.RECORDS else "b"
        emitter.emit(f"{target} = {buffer}[{start}:{stop}]")

    def null(self, emitter: Emitter, target: str) -> None:
        """None."""
        emitter.emit(f"{target} = None")

    def array(self, emitter: Emitter, field: Field, target: str) -> str:
        """Return an empty list."""
        name = emitter.fresh("x")
        emitter.emit(f"{target} = {name} = []")
        return name

    def item(self, emitter: Emitter, array: str) -> str:
        """Return a local, to append."""
        return "v"

    def append(self, emitter: Emitter, array: str, item: str) -> None:
        """To the list."""
        emitter.emit(f"{array}.append({item})")

    def items(self, emitter: Emitter, field: Field, target: str, count: str, start: str) -> None:
        """Emit a list of numbers, or of 16 bytes each."""
        emitter.emit(f"{target} = {self._numbers(emitter, field, count, start)}")

    def _numbers(self, emitter: Emitter, field: Field, count: str, start: str) -> str:
        element = element_of(field)
        if element is Primitive.UUID:
            return f"[b[i:i + 16] for i in range({start}, {start} + {count} * 16, 16)]"
        code = FIXED[element][0]
        emitter.names |= {"unpack_from": unpack_from, f"few_{code}": _few(code)}
        many = f'unpack_from(">%d{code}" % {count}, b, {start})'
        return f"list(few_{code}[{count}](b, {start}) if {count} < {FEW} else {many})"

    def unknown_tag(self, emitter: Emitter, owner: str) -> None:
        """Kept under `_tags`."""
        emitter.names["keep_tag"] = Value.keep_tag
        emitter.emit(f"keep_tag({owner}, t, b[p:p + k])")

    def all_tags(self, emitter: Emitter, owner: str, start: str) -> str:
        """Kept under `_tags`."""
        emitter.names["tag_section"] = tag_section
        return f"{owner}._tags, p = tag_section(b, {start})"
