"""A few fields of a body by their paths, without decoding the other fields.

It uses the emitter of `compiled`, with a sink that collects the values at the wanted paths. Which bytes fit
is judged as there. If a body does not fit, `collected` reads its values as far as they go.
"""

from collections.abc import Callable, Mapping, Sequence
from struct import unpack_from
from typing import Any

from kdissect.decoders.generated.compiled import FAULTS, compile_function
from kdissect.decoders.generated.emitter import Emitter, Sink
from kdissect.decoders.generated.struct_layout import FIXED
from kdissect.decoders.generated.values import CutRecords, Value, present
from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type

Path = tuple[str, ...]
"""Names of fields from the root on. Arrays have no step of their own."""

Values = tuple[Sequence[Any], ...]
"""For each slot what was found, in the order of the wire. Null is None."""

Projector = Callable[[bytes, int], Values | None]
_ROOT = "/"


def projector(message: Message, version: int, wanted: Mapping[Path, Sequence[int]], slots: int) -> Projector:
    """Return `(data, offset) -> values` for one version; `wanted` has the slots of each path's values.

    Numbers and truth values are themselves, texts are `str` (bytes that are not UTF-8 as `\\\\xNN`), uuids 16
    bytes, bytes fields bytes, records their length. Structs and elements of struct arrays are True each. The
    projector returns None if the bytes do not fit, and raises nothing.
    """
    sink = _Collector(wanted)
    emitter = Emitter(message, version, sink)
    emitter.emit_root(depth=2)
    lines = ["def project(b, p):", "    end = len(b)"]
    lines += [f"    list{slot} = []" for slot in sorted(sink.used)]
    lines += ["    try:", *emitter.lines, f"    except {FAULTS}:", "        return None"]
    found = ", ".join(f"list{slot}" if slot in sink.used else "()" for slot in range(slots))
    lines.append(f"    return ({found}{',' if slots == 1 else ''})")
    project: Projector = compile_function(lines, emitter.names, f"<{message.name} v{version} projected>")
    return project


class _Collector(Sink):
    """Appends the values of wanted fields to the lists of their slots.

    A struct's name is its path. The target of a fixed-width field is a local, that of any other its path.
    """

    def __init__(self, wanted: Mapping[Path, Sequence[int]]) -> None:
        self._wanted = {_ROOT + "/".join(path): tuple(slots) for path, slots in wanted.items()}
        self._inner = {_ROOT + "/".join(path[:i]) for path in wanted for i in range(len(path))}
        self._locals: dict[str, tuple[int, ...]] = {}
        self._element: str | None = None  # the path of the array whose elements come next
        self.used: set[int] = set()

    def begin(self, emitter: Emitter, of: Struct, target: str | None) -> str:
        """Return the struct's path."""
        element, self._element = self._element, None
        if of is emitter.layout.message.root:
            return _ROOT
        if target is not None:
            self._append(emitter, target, "True")
            return target
        return element or "skipped"

    def target(self, emitter: Emitter, owner: str, field: Field) -> str | None:
        """Return the field's path, or a local for its value, if it or anything in it is wanted."""
        if owner == "skipped":
            return None
        path = owner + field.name if owner == _ROOT else f"{owner}/{field.name}"
        slots = self._wanted.get(path)
        if slots is None:
            return path if path in self._inner else None
        self.used.update(slots)
        if field.type in FIXED:
            name = emitter.fresh("v")
            self._locals[name] = slots
            return name
        return path

    def fixed(self, emitter: Emitter, field: Field, target: str) -> None:
        """Emit the number itself."""
        for slot in self._locals[target]:
            emitter.emit(f"list{slot}.append({target})")

    def text(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Emit a str."""
        self._append(emitter, target, f'b[{start}:{stop}].decode("utf-8", "backslashreplace")')

    def blob(self, emitter: Emitter, field: Field, target: str, start: str, stop: str) -> None:
        """Emit the bytes, or the length of records."""
        is_records = field.type is Primitive.RECORDS
        self._append(emitter, target, f"{stop} - ({start})" if is_records else f"b[{start}:{stop}]")

    def null(self, emitter: Emitter, target: str) -> None:
        """None."""
        emitter.emit("pass")
        self._append(emitter, target, "None")

    def array(self, emitter: Emitter, field: Field, target: str) -> str:
        """Return the elements' path. Elements that are structs count as True each."""
        if isinstance(field.type, Array) and isinstance(field.type.element, Struct):
            self._element = target
            for slot in self._wanted.get(target, ()):
                emitter.emit(f"list{slot} += [True] * n")
        return target

    def item(self, emitter: Emitter, array: str) -> str:
        """Return the array's list: a text of a list goes where the list goes."""
        return array

    def items(self, emitter: Emitter, field: Field, target: str, count: str, start: str) -> None:
        """Emit all numbers at once, or uuids as 16 bytes each."""
        assert isinstance(field.type, Array)
        assert isinstance(field.type.element, Primitive)
        if field.type.element is Primitive.UUID:
            found = f"[b[i:i + 16] for i in range({start}, {start} + {count} * 16, 16)]"
        else:
            emitter.names["unpack_from"] = unpack_from
            found = f'unpack_from(">%d{FIXED[field.type.element][0]}" % {count}, b, {start})'
        for slot in self._wanted.get(target, ()):
            emitter.emit(f"list{slot} += {found}")

    def _append(self, emitter: Emitter, target: str, value: str) -> None:
        for slot in self._wanted.get(target, ()):
            emitter.emit(f"list{slot}.append({value})")


def collected(value: Value, wanted: Mapping[Path, Sequence[int]], slots: int) -> Values:
    """Return the values that a projector returns for the bytes of a decoded body. Raises nothing."""
    found: list[list[Any]] = [[] for _ in range(slots)]
    inner = {path[:i] for path in wanted for i in range(len(path))}

    def look(item: Any, of: Type, path: Path) -> None:
        if isinstance(of, Array) and item is not None:
            for element in item:
                look(element, of.element, path)
            return
        for slot in wanted.get(path, ()):
            found[slot].append(_plain(item, of))
        if isinstance(item, Value) and path in inner:
            fields(item, path)

    def fields(item: Value, path: Path) -> None:
        for field, name, part in present(item):
            look(part, field.type, (*path, name))

    fields(value, ())
    return tuple(found)


def _plain(item: Any, of: Type) -> Any:
    """Return a value as a projector has it."""
    if isinstance(item, Value):
        return True
    if of is Primitive.RECORDS and item is not None:
        return item.size if isinstance(item, CutRecords) else len(item)
    return (
        item.decode("utf-8", "backslashreplace")
        if of is Primitive.STRING and isinstance(item, bytes)
        else item
    )
