"""Chosen fields of many bodies of one version as columns, and of one body as rows.

The compiled part walks each body and skips the rest (native/src/bodies/projection.rs). Without it bodies are
decoded, and their values picked out.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.decoders.generated.projection import Path
from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.generated.values import Value, present
from kdissect.model.errors import DecodeError
from kdissect.model.native import is_compiled, native
from kdissect.schema.types import Array, Field, Message, Primitive, Struct, Type

Column = tuple[list[list[int | None]], list[Any]]
"""The counts of the lists that a field is in, the outermost first, and its values, as `projection` has them.

A list counts its elements in each place, None for null; a struct that may be null counts as a list of one.
"""
Row = tuple[Any, ...]


class Chosen(NamedTuple):
    """A field by its path; of a text or of bytes perhaps only how many bytes it has."""

    path: Path
    only_size: bool = False


class BodyColumns(Protocol):
    """Collects bodies. Fields that the version does not have, or has as a tag, have no column.

    A body is refused if it does not fit, does not end with the data, has a tag that the schema knows, or a
    chosen text that is not UTF-8: such bodies take a closer look.
    """

    def __len__(self) -> int:
        """How many bodies were taken."""

    def add(self, data: bytes, offset: int, /) -> bool:
        """Take the body at `offset`; False, and nothing is taken, of one that is refused. Raises nothing."""

    def take(self) -> list[Column | None]:
        """The columns of the chosen fields, in their order; what was taken is forgotten."""

    def rows(self, data: bytes, offset: int, /) -> list[Row] | None:
        """The body at `offset` alone: a row for each element of the innermost list, None of one refused.

        A row has the chosen fields in their order, those outside the list again in each; None where there is
        no column. Raises ValueError for fields in lists that stand beside each other.
        """


def body_columns(message: Message, version: int, chosen: Sequence[Chosen]) -> BodyColumns:
    """Columns of chosen fields. Raises ValueError for a path that ends at a struct, or is there twice."""
    if is_compiled:
        paths = [(list(path), only_size) for path, only_size in chosen]
        return native.Projection(native_layout(message, version)[0], paths)
    return DecodedColumns(message, version, chosen)


class DecodedColumns:
    """`BodyColumns` of bodies that are decoded: what each column means."""

    def __init__(self, message: Message, version: int, chosen: Sequence[Chosen]) -> None:
        layout = Layout(message, version)
        self._decode = decoder(message, version)
        self._layout = layout
        self._paths = [_resolved(layout, each) for each in chosen]
        if len({each.path for each in chosen}) < len(chosen):
            raise ValueError("a path is there twice")
        self._columns = [_empty(path) for path in self._paths]
        self._bodies = 0

    def __len__(self) -> int:
        return self._bodies

    def add(self, data: bytes, offset: int) -> bool:
        """As `BodyColumns.add`."""
        found = self._columns_of(data, offset)
        for columns, more in zip(self._columns, found or (), strict=False):
            if columns is not None and more is not None:
                for counts, added in zip(columns[0], more[0], strict=True):
                    counts.extend(added)
                columns[1].extend(more[1])
        self._bodies += found is not None
        return found is not None

    def take(self) -> list[Column | None]:
        """As `BodyColumns.take`."""
        taken, self._columns = self._columns, [_empty(path) for path in self._paths]
        self._bodies = 0
        return taken

    def rows(self, data: bytes, offset: int) -> list[Row] | None:
        """As `BodyColumns.rows`."""
        found = self._columns_of(data, offset)
        if found is None:
            return None
        lists = [[] if path is None else path.lists for path in self._paths]
        deepest = max(lists, key=len, default=[])
        if any(each != deepest[: len(each)] for each in lists):
            raise ValueError("lists stand beside each other")
        return list(_rows(found, lists, deepest))

    def _columns_of(self, data: bytes, offset: int) -> list[Column | None] | None:
        try:
            value, end = self._decode(data, offset)
        except DecodeError:
            return None
        if end != len(data) or _has_tag(self._layout, value):
            return None
        columns = [_empty(path) for path in self._paths]
        for path, column in zip(self._paths, columns, strict=True):
            if path is not None and column is not None:
                _collect(value, path, 0, 0, column)
                if path.is_text and any(isinstance(text, bytes) for text in column[1]):
                    return None
                if path.only_size:
                    column[1][:] = [None if found is None else _size(found) for found in column[1]]
        return columns


class _Resolved(NamedTuple):
    """A path in one version: whether each of its steps is a list, and the paths of these lists."""

    path: Path
    is_list: list[bool]
    lists: list[Path]
    is_text: bool
    only_size: bool


def _resolved(layout: Layout, chosen: Chosen) -> _Resolved | None:
    of: Type = layout.message.root
    is_list: list[bool] = []
    for name in chosen.path:
        fields = layout.plain_fields(of) if isinstance(of, Struct) else []
        field = next((field for field in fields if field.name == name), None)
        if field is None:
            return None
        of = field.type.element if isinstance(field.type, Array) else field.type
        is_list.append(_is_list(layout, field))
    if isinstance(of, Struct):
        raise ValueError(f"{'/'.join(chosen.path)} is a struct")  # noqa: TRY004 - as for a path there twice
    lists = [chosen.path[: step + 1] for step, found in enumerate(is_list) if found]
    is_sized = of is Primitive.RECORDS or (chosen.only_size and of in (Primitive.STRING, Primitive.BYTES))
    return _Resolved(chosen.path, is_list, lists, of is Primitive.STRING and not is_sized, is_sized)


def _is_list(layout: Layout, field: Field) -> bool:
    return isinstance(field.type, Array) or (isinstance(field.type, Struct) and layout.is_nullable(field))


def _empty(path: _Resolved | None) -> Column | None:
    return None if path is None else ([[] for _ in path.lists], [])


def _collect(value: Any, path: _Resolved, step: int, depth: int, column: Column) -> None:
    """Add what stands behind a step of the path in a value."""
    if step == len(path.path):
        column[1].append(value)
        return
    found = getattr(value, path.path[step])
    if not path.is_list[step]:
        _collect(found, path, step + 1, depth, column)
        return
    elements = [found] if isinstance(found, Value) else found
    column[0][depth].append(None if elements is None else len(elements))
    for element in elements or ():
        _collect(element, path, step + 1, depth + 1, column)


def _size(found: Any) -> int:
    return len(found.encode() if isinstance(found, str) else found)


def _has_tag(layout: Layout, value: Any) -> bool:
    """Whether a tag that the schema knows was sent."""
    if isinstance(value, list):
        return any(_has_tag(layout, each) for each in value)
    if not isinstance(value, Value):
        return False
    return any(layout.is_tagged(field) or _has_tag(layout, part) for field, _, part in present(value))


def _rows(columns: list[Column | None], lists: list[list[Path]], deepest: list[Path]) -> Iterator[Row]:
    """One body's columns as rows of the innermost list."""
    values = [iter(()) if column is None else iter(column[1]) for column in columns]
    counts = next(
        (column[0] for column, of in zip(columns, lists, strict=True) if column and of == deepest), []
    )
    left = [iter(each) for each in counts]
    row: list[Any] = [None] * len(columns)

    def fill(depth: int) -> Iterator[Row]:
        for place, of in enumerate(lists):
            if len(of) == depth and columns[place] is not None:
                row[place] = next(values[place])
        if depth == len(deepest):
            yield tuple(row)
            return
        for _ in range(next(left[depth]) or 0):
            yield from fill(depth + 1)

    return fill(0)
