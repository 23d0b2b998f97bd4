"""Names that are next to topic ids in a body, and the cluster's id, without decoding the other fields.

It uses the emitter of `compiled`: a struct that has both a topic's name and its id returns a pair, whatever
the message.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.generated.compiled import FAULTS, compile_function
from kdissect.decoders.generated.emitter import Emitter, Sink
from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.generated.summary import NO_TOPIC_ID
from kdissect.model.errors import DecodeError
from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type


class Naming(NamedTuple):
    """Names in a body: topic ids and their names, and the cluster id of the broker that responded."""

    names: dict[bytes, str]
    cluster_id: str | None


NOTHING = Naming({}, None)
Reader = Callable[[bytes, int], Naming]


def naming_of(data: bytes, offset: int, api_key: int, api_version: int, is_response: bool) -> Naming:
    """Return the names in the body at `offset`, as far as its bytes go. Raises nothing."""
    try:
        message = body_message(api_key, api_version, is_response, offset)
    except DecodeError:
        return NOTHING
    return naming_reader(message, api_version)(data, offset)


@cache
def naming_reader(message: Message, version: int) -> Reader:
    """Return `(data, offset) -> Naming` for one version of a message. Raises nothing."""
    sink = _NamingSink(Layout(message, version))
    emitter = Emitter(message, version, sink)
    emitter.emit_root(depth=2)
    lines = ["def names(b, p):", "    end = len(b)", "    found = {}", "    cluster = None"]
    lines += ["    try:", *emitter.lines]
    lines += [f"    except {FAULTS}:", "        pass", "    return new(Naming, (found, cluster))"]
    names = emitter.names | {"new": tuple.__new__, "Naming": Naming, "NO_TOPIC_ID": NO_TOPIC_ID}
    read: Reader = compile_function(lines, names, f"<{message.name} v{version} to names>")
    return read


class _NamingSink(Sink):
    """Locals `name` and `topic_id` belong to the struct around. No struct with both contains another one."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._wanted: dict[Struct, bool] = {}

    def begin(self, emitter: Emitter, of: Struct, target: str | None) -> str:
        """Begin a struct: one with both begins without either, because one may be null, or a tag that was not
        sent.
        """
        if self._is_pair(of):
            emitter.emit("name = topic_id = None")
            return "pair"
        return "root" if of is self._layout.message.root else "inner"

    def end(self, emitter: Emitter, of: Struct, owner: str) -> None:
        """Emit the pair of a struct with both."""
        if self._is_pair(of):
            emitter.flush()
            emitter.emit("if name and topic_id and topic_id != NO_TOPIC_ID: found[topic_id] = name")

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """Return a local for what is wanted. A container is wanted if anything in it is."""
        if isinstance(field.type, Array | Struct):
            return "inner" if self._holds(field.type) else None
        if owner == "pair":
            return "name" if _is_name(field) else "topic_id" if _is_id(field) else None
        return "cluster" if owner == "root" and _is_cluster(field) else None

    def wants(self, of: Type) -> bool:
        """Return whether there are pairs below."""
        return self._holds(of)

    def text(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Emit the reading of a name, if all its bytes are there."""
        emitter.emit(f"if {stop} > end: raise ValueError")
        emitter.emit(f'{target} = b[{start}:{stop}].decode("utf-8", "backslashreplace")')

    def null(self, emitter: Emitter, target: str) -> None:
        """No name."""
        emitter.emit("pass" if target == "inner" else f"{target} = None")

    def _fields(self, of: Struct) -> list[Field]:
        return self._layout.plain_fields(of) + self._layout.tagged_fields(of)

    def _is_pair(self, of: Struct) -> bool:
        fields = self._fields(of)
        return any(map(_is_name, fields)) and any(map(_is_id, fields))

    def _holds(self, of: Type) -> bool:
        if isinstance(of, Array):
            return self._holds(of.element)
        if isinstance(of, Primitive):
            return False
        if of not in self._wanted:
            self._wanted[of] = False  # a struct within itself
            self._wanted[of] = self._is_pair(of) or any(self._holds(field.type) for field in self._fields(of))
        return self._wanted[of]


def _is_name(field: Field) -> bool:
    return field.type is Primitive.STRING and field.entity == "topicName"


def _is_id(field: Field) -> bool:
    return field.type is Primitive.UUID and field.entity == "topicId"


def _is_cluster(field: Field) -> bool:
    return field.type is Primitive.STRING and field.name == "cluster_id"
