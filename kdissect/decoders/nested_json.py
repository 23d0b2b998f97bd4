"""Bodies as dicts for JSON in one pass, with their records put in where they stand.

The same dicts as `compiled.json_decoder` makes and `engine.nested_records` fills, for bodies without tags
whose bytes fit and are UTF-8 where they should be: nearly all. The code says nothing about the others, the
general path does. What makes it faster: values are locals until one dict is made of a whole struct, arrays
of structs of a fixed width are one comprehension, and the records need no second look for their places.
"""

from collections.abc import Callable
from functools import lru_cache
from struct import Struct as Format
from typing import Any

from kdissect.decoders.body_schemas import CACHE_SIZE, known_body
from kdissect.decoders.compiled import FAULTS, compile_function
from kdissect.decoders.emitter import Emitter
from kdissect.decoders.json_sink import JsonSink
from kdissect.decoders.jsonable import float_value, uuid_text
from kdissect.decoders.layout import FIXED, Layout
from kdissect.decoders.quirks import UNSUPPORTED_START, may_answer_in_other_version
from kdissect.decoders.records.sections import SectionPlaces, has_pieces
from kdissect.schema.secrets import may_hold_secrets
from kdissect.schema.types import Field, Message, Primitive, Struct
from kdissect.schema.walk import has_records

Nest = Callable[[bytes, int, int, str | None, bytes | None], dict[str, Any]]
"""`(data, start, end, topic, topic id)` of a records field to what stands in its place.

Raises ValueError where the general path must be taken.
"""
NestedDecoder = Callable[[bytes, int, Nest], dict[str, Any] | None]


@lru_cache(maxsize=CACHE_SIZE)
def nested_decoder(api_key: int, api_version: int, is_response: bool) -> NestedDecoder | None:
    """`(data, offset, nest) -> dict`; None of bytes that are not one body and nothing else, or have tags.

    None for what is no `plain_body`. The decoder raises nothing but what `nest` does beside ValueError.
    """
    message = plain_body(api_key, api_version, is_response)
    return None if message is None else _compiled(message, api_version, foreign_start(api_key, is_response))


def plain_body(api_key: int, api_version: int, is_response: bool) -> Message | None:
    """The schema of a body that shows what it has as it is, but for payloads.

    None for bodies that may hold secrets, for pieces of snapshots, and for what the schema does not know.
    """
    message = known_body(api_key, api_version, is_response)
    return None if message is None or may_hold_secrets(message) or has_pieces(message) else message


def foreign_start(api_key: int, is_response: bool) -> bytes:
    """What bodies begin with whose version the bytes decide; empty where that cannot be."""
    return UNSUPPORTED_START if is_response and may_answer_in_other_version(api_key) else b""


def _compiled(message: Message, version: int, foreign: bytes) -> NestedDecoder:
    sink = _NestedSink(Layout(message, version))
    emitter = _NestedEmitter(message, version, sink)
    owner = emitter.emit_root(depth=2)
    lines = ["def decode(b, p, nest):", "    end = len(b)"]
    if foreign:
        lines.append(f"    if b.startswith({foreign!r}, p): return None")
    lines += ["    try:", *emitter.lines]
    lines += [f"    except {FAULTS}:", "        return None", f"    return {owner} if p == end else None"]
    decode: NestedDecoder = compile_function(lines, emitter.names, f"<{message.name} v{version} nested>")
    return decode


class _NestedSink(JsonSink):
    """Values are locals; the end of a struct makes its dict."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(lenient=False, show_secrets=True)
        self._layout = layout
        self._values: dict[str, dict[str, str]] = {}  # by owner: expressions by name
        self._places: dict[str, str] = {}  # by owner: the statement that its dict goes into
        self.sections = SectionPlaces() if has_records(layout.message) else None

    def begin(self, emitter: Emitter, of: Struct, target: str | None) -> str:
        """Nothing yet."""
        owner = emitter.fresh("o")
        self._values[owner] = {}
        self._places[owner] = f"{target or owner} = %s"
        if self.sections:
            self.sections.begin(owner, of)
        return owner

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """A local; bodies with tagged fields take the general path."""
        if self._layout.is_tagged(field):
            return None
        target = emitter.fresh("v")
        self._values[owner][field.name] = shown_value(emitter, field, target)
        if self.sections:
            self.sections.note(owner, field, target)
        return target

    def fixed(self, emitter: Emitter, field: Field, target: str) -> None:
        """As it is: `shown_value` does the rest."""

    def blob(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Base64; records as `nest` has them. What payloads hold is for the general path."""
        if field.payload is not None:
            emitter.emit(f"if {start} != {stop}: raise ValueError")
        if field.type is not Primitive.RECORDS or self.sections is None:
            super().blob(emitter, field, target, start, stop)
            return
        emitter.emit(f"{target} = nest(b, {start}, {stop}, {self.sections.topic()})")

    def array(self, emitter: Emitter, field: Field, target: str) -> str:
        """An empty list."""
        emitter.emit(f"{target} = []")
        return target

    def append(self, emitter: Emitter, array: str, item: str) -> None:
        """To the list, when the dict is made."""
        if item in self._values:
            self._places[item] = f"{array}.append(%s)"
        else:
            super().append(emitter, array, item)

    def end(self, emitter: Emitter, of: Struct, owner: str) -> None:
        """The dict."""
        emitter.flush()
        emitter.emit(self._places.pop(owner) % dict_display(self._values.pop(owner)))

    def all_tags(self, emitter: Emitter, owner: str, start: str) -> str:
        """For the general path."""
        return "raise ValueError"


class _NestedEmitter(Emitter):
    """Makes a comprehension of arrays of structs that have nothing of a variable width.

    A count that is too high, or negative, needs no check where each element reads a byte: the loop runs into
    the end of the bytes, and takes no more memory than a count that fits.
    """

    def _check_count(self, element: Primitive | Struct) -> None:
        if isinstance(element, Primitive) and element in FIXED:
            self.emit("if n < 0: raise ValueError")

    def _elements(self, field: Field, element: Primitive | Struct, target: str | None) -> None:
        codes = self._codes(element) if isinstance(element, Struct) and target else None
        if codes is None or not isinstance(element, Struct):
            super()._elements(field, element, target)
            return
        self._comprehension(element, str(target), codes)

    def _codes(self, of: Struct) -> str | None:
        """The format of a struct without its tags, None where something has no fixed width."""
        codes = ""
        for field in self.layout.plain_fields(of):
            if not isinstance(field.type, Primitive) or field.type not in FIXED:
                return None
            codes += FIXED[field.type][0]
        return codes or None

    def _comprehension(self, of: Struct, target: str, codes: str) -> None:
        fields = self.layout.plain_fields(of)
        names = [self.fresh("v") for _ in fields]
        shown = {
            field.name: shown_value(self, field, name) for field, name in zip(fields, names, strict=True)
        }
        flexible = self.layout.flexible
        unpack = Format(f">{codes}{'B' if flexible else ''}")
        all_of = self.constant("u", unpack.iter_unpack)
        locals_ = "".join(f"{name}, " for name in ([*names, "t"] if flexible else names))
        only = " if not t" if flexible else ""
        self.emit("if n > 0:")
        self.emit(f"    q = p + n * {unpack.size}")
        self.emit(f"    {target} = [{dict_display(shown)} for {locals_}in {all_of}(b[p:q]){only}]")
        self.emit("    p = q")
        if flexible:
            self.emit(f"    if len({target}) != n: raise ValueError")
        self.emit("elif n: raise ValueError")
        self.emit(f"else: {target} = []")


def shown_value(emitter: Emitter, field: Field, target: str) -> str:
    """The expression of what JSON has of a local that holds a value as `struct` gives it."""
    if field.type is Primitive.UUID:
        emitter.names["uuid_text"] = uuid_text
        return f"uuid_text({target})"
    if field.type is Primitive.FLOAT64:
        emitter.names["float_value"] = float_value
        return f"float_value({target})"
    return target


def dict_display(values: dict[str, str]) -> str:
    """The source of a dict."""
    return "{" + ", ".join(f'"{name}": {expression}' for name, expression in values.items()) + "}"
