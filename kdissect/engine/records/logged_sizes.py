"""Sizes of records that are not in a request log, in place of the placeholders that a frame has of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kdissect.decoders.generated.values import CutRecords, Value, present
from kdissect.decoders.logged_bodies import placeholder_size
from kdissect.decoders.records.records_fields import RecordsField, finder_of
from kdissect.engine.records.record_sets import records_side
from kdissect.schema.types import Array, Primitive, Type

if TYPE_CHECKING:
    from kdissect.decoders.trees.node import Node
    from kdissect.session.exchange import Exchange

_BYTES = "bytes"


def logged_records(exchange: Exchange) -> Iterator[tuple[RecordsField, int | None]]:
    """Yield the records fields of an exchange in a request log, and the bytes of their records (None:
    unknown).

    Other exchanges have none. Raises nothing.
    """
    if exchange.connection.logged is not None and exchange.api_key is not None:
        is_response = records_side(exchange.api_key)
        if is_response is not None:
            yield from _fields(exchange, is_response)


def has_unknown_records(exchange: Exchange) -> bool:
    """Return whether an exchange carried records that a request log does not have."""
    return any(size != 0 for _, size in logged_records(exchange))


def _fields(exchange: Exchange, is_response: bool) -> Iterator[tuple[RecordsField, int | None]]:
    frame = exchange.response if is_response else exchange.request
    offset = exchange.response_body_offset if is_response else exchange.request_body_offset
    key, version = exchange.api_key, exchange.api_version
    finder = None if key is None or version is None else finder_of(key, version, is_response)
    if frame is not None and finder is not None and not frame.is_cut:
        for field in finder(frame.data, offset):
            yield field, placeholder_size(frame.data[field.start : field.end])


def with_logged_sizes(exchange: Exchange, is_response: bool, body: Any) -> Any:
    """Return a body as JSON values whose records have their size; None for one that is not known."""
    return _sized(body, iter([size for _, size in _fields(exchange, is_response)]))


def _sized(item: Any, sizes: Iterator[int | None]) -> Any:
    """Return a value with the sizes of its records: they appear in the order of the frame, and only they are
    an object of `bytes`.
    """
    if isinstance(item, list):
        return [_sized(one, sizes) for one in item]
    if not isinstance(item, dict):
        return item
    if item.keys() == {_BYTES}:
        return {_BYTES: next(sizes, None)}
    return {name: _sized(value, sizes) for name, value in item.items()}


def value_with_sizes(value: Value) -> Value:
    """Return a decoded body with the sizes of its records. The body is changed."""
    for field, name, item in present(value):
        if field.type is Primitive.RECORDS:
            if item is not None:
                setattr(value, name, _cut(item))
        else:
            _change(field.type, item)
    return value


def _change(of: Type, item: Any) -> None:
    if isinstance(item, Value):
        value_with_sizes(item)
    elif isinstance(of, Array) and item is not None:
        for element in item:
            _change(of.element, element)


def tree_with_sizes(node: Node) -> None:
    """Do the same to a tree."""
    for child in node.children:
        if child.field is not None and child.field.type is Primitive.RECORDS and child.value is not None:
            child.value = _cut(child.value)
            child.children.clear()
        else:
            tree_with_sizes(child)


def _cut(content: bytes | memoryview) -> CutRecords:
    cut = CutRecords()
    cut.size = placeholder_size(content)
    return cut
