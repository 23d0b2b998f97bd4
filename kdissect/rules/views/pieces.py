"""The sorts of pieces that node rules look at, a walk over a body that names them, and their numbers."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from kdissect.decoders.body_schemas import CACHE_SIZE
from kdissect.decoders.generated.struct_layout import FIXED, Layout
from kdissect.decoders.generated.values import Value, sent
from kdissect.decoders.trees.node import Node
from kdissect.schema.domains import has_domain
from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type

VARINT = "varint"
BOOL = "bool"
MARKER = "marker"  # before a nullable struct
TAGS = "tags"  # a tag section
STRING = "string"
ENUM = "enum"
ERROR = "error"
UUID = "uuid"
THROTTLE = "throttle"  # throttle_time_ms
NUMBER = "number"  # with a domain (`schema.domains`)
SORTS = (VARINT, BOOL, MARKER, TAGS, STRING, ENUM, ERROR, UUID, THROTTLE, NUMBER)
_NUMBERS = frozenset(FIXED) - {Primitive.BOOL, Primitive.FLOAT64, Primitive.UUID}
_NOT_SENT = object()
Often = dict[str, int]
"""Numbers of pieces by sort, in the order in which the sorts appear."""


def pieces(root: Node) -> Iterator[tuple[str, Node, str]]:
    """Sort, node and path (below the root) of every piece that some rule may look at."""
    stack = [(root, "")]
    while stack:
        node, path = stack.pop()
        sort = _sort(node)
        if sort:
            yield sort, node, path
        children = node.children
        for index in range(len(children) - 1, -1, -1):
            child = children[index]
            stack.append((child, _join(path, child.name)))


@lru_cache(maxsize=CACHE_SIZE)
def piece_counts(message: Message, version: int) -> "PieceCounts":
    """Return the counter for a version of a message."""
    return PieceCounts(message, version)


class PieceCounts:
    """Counter of the pieces in canonical bodies of one version of a message. It makes no tree."""

    def __init__(self, message: Message, version: int) -> None:
        self._layout = Layout(message, version)
        self._runs: dict[Struct, list[tuple[Often, Field | None]]] = {}

    def of(self, body: Value) -> Often:
        """Count the pieces of a body."""
        often: Often = {}
        self._add_structs(often, self._layout.message.root, [body])
        return often

    def _add_structs(self, often: Often, of: Struct, values: Sequence[Value]) -> None:
        """Add the pieces of structs of one type."""
        runs = self._runs.get(of) or self._runs.setdefault(of, self._runs_of(of))
        tagged = self._layout.tagged_fields(of) if self._layout.flexible else ()
        if len(runs) == 1 and not tagged:  # each of them has the same pieces
            _add(often, runs[0][0], len(values))
            return
        for value in values:
            for own, field in runs:
                _add(often, own)
                if field is not None:
                    self._add_below(often, field, sent(value, field.name))
            for field in tagged:
                item = sent(value, field.name, _NOT_SENT)
                if item is not _NOT_SENT:
                    _add(often, Counter([VARINT, VARINT, *self._own(field, field.type)]))  # tag and size
                    self._add_below(often, field, item)

    def _add_below(self, often: Often, field: Field, item: Any) -> None:
        """Add the pieces below a field that is a struct or an array."""
        if isinstance(field.type, Struct) and item is not None:
            self._add_structs(often, field.type, [item])
        elif isinstance(field.type, Array) and item:
            element = field.type.element
            _add(often, Counter(self._own(field, element, is_element=True)), len(item))
            if isinstance(element, Struct):
                self._add_structs(often, element, item)

    def _runs_of(self, of: Struct) -> list[tuple[Often, Field | None]]:
        """Return the pieces of a struct, up to each field with pieces below it, and after the last one."""
        runs: list[tuple[Often, Field | None]] = []
        own: list[str] = []
        for field in self._layout.plain_fields(of):
            own += self._own(field, field.type)
            if not isinstance(field.type, Primitive):
                runs.append((Counter(own), field))
                own = []
        if self._layout.flexible:
            own += [TAGS, VARINT]  # the number of tags
        return [*runs, (Counter(own), None)]

    def _own(self, field: Field, kind: Type, *, is_element: bool = False) -> list[str]:
        """Sorts of a field or element, and of its length, count or marker."""
        sort = _field_sort(field, self._layout.type_name(field, kind), kind in _NUMBERS)
        found = [sort] if sort else []
        if isinstance(kind, Struct):
            has_marker = not is_element and self._layout.is_nullable(field)
            return [*found, MARKER] if has_marker else found
        is_compact = self._layout.flexible if isinstance(kind, Array) else self._layout.is_compact(field)
        return [*found, VARINT] if is_compact and kind not in FIXED else found


def _add(often: Often, more: Often, times: int = 1) -> None:
    for sort, count in more.items():
        often[sort] = often.get(sort, 0) + count * times


def _join(path: str, name: str) -> str:
    return path + name if name.startswith("[") or not path else f"{path}.{name}"


def _sort(node: Node) -> str:
    if node.field is None:
        return _plain_sort(node.type, node.name)
    return _field_sort(node.field, node.type, isinstance(node.value, int))


def _field_sort(field: Field, kind: str, is_number: bool) -> str:
    if field.is_error:
        return ERROR
    if field.name == "throttle_time_ms":
        return THROTTLE
    if kind == Primitive.BOOL:  # also if its two values have names, as in EndTxn
        return BOOL
    if is_number:
        if has_domain(field):
            return NUMBER
        if field.enum is not None:
            return ENUM
    if kind == Primitive.UUID:
        return UUID
    return STRING if kind in ("string", "compact string") else ""


def _plain_sort(kind: str, name: str) -> str:
    if name == "marker":
        return MARKER
    if kind == "uvarint":
        return VARINT
    return TAGS if kind == "tags" else ""
