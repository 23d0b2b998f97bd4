"""What becomes of decoded values: objects, or dicts ready for JSON."""

from functools import cache
from struct import Struct as Format
from struct import unpack_from
from typing import Any

from kdissect.decoders import jsonable
from kdissect.decoders.cursor import tag_section
from kdissect.decoders.emitter import Emitter, Sink
from kdissect.decoders.layout import FIXED
from kdissect.decoders.values import Value, value_class
from kdissect.schema.secrets import MASK, conceal, has_config_values
from kdissect.schema.types import Array, Field, Primitive, Struct

# Lists of replicas and the like have a handful of elements: for fewer than this, the format is there already.
FEW = 9


@cache
def _few(code: str) -> tuple[Any, ...]:
    """Unpackers of 0, 1, 2 ... values."""
    return tuple(Format(f">{count}{code}").unpack_from for count in range(FEW))


def _element(field: Field) -> Primitive:
    """Element type of an array of primitives."""
    assert isinstance(field.type, Array)
    assert isinstance(field.type.element, Primitive)
    return field.type.element


class ObjectSink(Sink):
    """Values become the objects of `values`. `lenient` keeps strings that are not UTF-8 as bytes."""

    def __init__(self, lenient: bool) -> None:
        self.lenient = lenient

    def begin(self, emitter: Emitter, of: Struct, target: str | None) -> str:
        """A new object."""
        name = emitter.fresh("o")
        kind = emitter.constant("T", value_class(emitter.layout.message, of))
        emitter.emit(f"{target + ' = ' if target else ''}{name} = {kind}()")
        return name

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """The object's slot."""
        return f"{owner}.{field.name}"

    def text(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """A str, or bytes if lenient and not UTF-8."""
        emitter.emit(f"{target} = {self._decoded(emitter, start, stop)}")

    def _decoded(self, emitter: Emitter, start: str, stop: str) -> str:
        if not self.lenient:
            return f"b[{start}:{stop}].decode()"
        emitter.names["text"] = jsonable.text_or_bytes
        return f"text(b[{start}:{stop}])"

    def blob(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Bytes; records, which are large, as a view of the frame."""
        buffer = "m" if field.type is Primitive.RECORDS else "b"
        emitter.emit(f"{target} = {buffer}[{start}:{stop}]")

    def null(self, emitter: Emitter, target: str) -> None:
        """None."""
        emitter.emit(f"{target} = None")

    def array(self, emitter: Emitter, field: Field, target: str) -> str:
        """An empty list."""
        name = emitter.fresh("x")
        emitter.emit(f"{target} = {name} = []")
        return name

    def item(self, emitter: Emitter, array: str) -> str:
        """A local, to append."""
        return "v"

    def append(self, emitter: Emitter, array: str, item: str) -> None:
        """To the list."""
        emitter.emit(f"{array}.append({item})")

    def items(self, emitter: Emitter, field: Field, target: str, count: str, start: str) -> None:
        """A list of numbers, or of 16 bytes each."""
        emitter.emit(f"{target} = {self._numbers(emitter, field, count, start)}")

    def _numbers(self, emitter: Emitter, field: Field, count: str, start: str) -> str:
        element = _element(field)
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


class JsonSink(ObjectSink):
    """Values become dicts by the JSON rules of `jsonable`, without objects in between."""

    def __init__(self, lenient: bool, show_secrets: bool) -> None:
        super().__init__(lenient)
        self.show_secrets = show_secrets

    def begin(self, emitter: Emitter, of: Struct, target: str | None) -> str:
        """A new dict."""
        name = emitter.fresh("o")
        emitter.emit(f"{target + ' = ' if target else ''}{name} = {{}}")
        return name

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """The dict's key."""
        return f'{owner}["{field.name}"]'

    def fixed(self, emitter: Emitter, field: Field, target: str) -> None:
        """UUIDs and floats are no JSON as they are."""
        if self._is_masked(field):
            emitter.emit(f'{target} = "{MASK}"')
        elif field.type is Primitive.UUID:
            emitter.names["uuid_text"] = jsonable.uuid_text
            emitter.emit(f"{target} = uuid_text({target})")
        elif field.type is Primitive.FLOAT64:
            emitter.names["float_value"] = jsonable.float_value
            emitter.emit(f"{target} = float_value({target})")

    def text(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """A str, or base64 if lenient and not UTF-8."""
        emitter.names["text"] = jsonable.text_value
        value = f"text(b[{start}:{stop}])" if self.lenient else f"b[{start}:{stop}].decode()"
        emitter.emit(f"{target} = {self._masked(field, value)}")

    def blob(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Base64; of records only the number of bytes."""
        if field.type is Primitive.RECORDS:
            value = f'{{"bytes": {stop} - ({start})}}'
        else:
            emitter.names["base64"] = jsonable.bytes_value
            value = f"base64(b[{start}:{stop}])"
        emitter.emit(f"{target} = {self._masked(field, value)}")

    def _is_masked(self, field: Field) -> bool:
        return field.is_secret and not self.show_secrets

    def _masked(self, field: Field, value: str) -> str:
        return f'"{MASK}"' if self._is_masked(field) else value

    def _numbers(self, emitter: Emitter, field: Field, count: str, start: str) -> str:
        numbers = super()._numbers(emitter, field, count, start)
        element = _element(field)
        if element is Primitive.UUID:
            emitter.names["uuid_text"] = jsonable.uuid_text
            return f"[uuid_text(i) for i in {numbers}]"
        if element is Primitive.FLOAT64:
            emitter.names["float_value"] = jsonable.float_value
            return f"[float_value(i) for i in {numbers}]"
        return numbers

    def end(self, emitter: Emitter, of: Struct, owner: str) -> None:
        """Configs: only the whole struct tells whether its value is a password."""
        if self.show_secrets or not has_config_values(of.fields):
            return
        emitter.flush()
        emitter.names["conceal"] = conceal
        emitter.emit(f"conceal({owner}, {emitter.constant('f', of.fields)})")

    def unknown_tag(self, emitter: Emitter, owner: str) -> None:
        """Kept under `_tags`, keyed by text as JSON wants it."""
        emitter.names["base64"] = jsonable.bytes_value
        emitter.emit(f'{owner}.setdefault("_tags", {{}})[str(t)] = base64(b[p:p + k])')

    def all_tags(self, emitter: Emitter, owner: str, start: str) -> str:
        """Kept under `_tags`."""
        emitter.names["keep_tags"] = jsonable.keep_tags
        return f"p = keep_tags({owner}, b, {start})"
