"""Fields of records: keys, values, headers, and the schemas that they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from kdissect.engine.exchange_rows import RowField
from kdissect.engine.records.record_fields import SCHEMA_FIELDS
from kdissect.model.record_batch import Record
from kdissect.query.binding import Binding
from kdissect.query.fields.decoded_values import DECODED, values_at
from kdissect.query.fields.field_sources import RECORD_PARTS, Cost, Many, Source
from kdissect.query.syntax.filter_tokens import unescape
from kdissect.query.values.value_kinds import NUMBER, REAL, TEXT, ValueKind
from kdissect.session.exchange import Exchange

_KEY, _VALUE, _HEADER = RECORD_PARTS
_LONGEST_NUMBER = 40  # characters of a text that is compared as a number
_STEP = re.compile(r"""\.([^.\[\]"']+)|\[(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)')\]""", re.DOTALL)
_PARTS = re.compile(r"([A-Za-z_]+)((?:[.\[].*)?)", re.DOTALL)

RECORD_FILTER_FIELDS = (
    RowField(_KEY, "string", "keys of records as text; `key.NAME` is a field of a key that is decoded"),
    RowField(
        _VALUE, "string", "values of records as text; `value.NAME` is a field of a value that is decoded"
    ),
    RowField(_HEADER, "string", 'keys of record headers; `header["NAME"]` is the value of a header'),
    *SCHEMA_FIELDS,
)
"""Names that filters know besides names with a path."""

_Values = Callable[[Binding, str | None, Record], Iterable[Any]]
"""The values of a field in a topic's record."""


class RecordSource(Source):
    """A field of an exchange's records, or of one record if the filter chooses among them.

    `values` are those for each kind.
    """

    is_of_records = True

    def __init__(self, name: str, kinds: Sequence[ValueKind], values: Sequence[_Values]) -> None:
        super().__init__(name, kinds, True, Cost.WHOLE_BODY)
        self._values = tuple(values)

    def many(self, binding: Binding) -> tuple[Many, ...]:
        """Return one getter for each kind."""
        return tuple(_getter(binding, values) for values in self._values)

    def presence(self, binding: Binding) -> Callable[[Exchange], bool]:
        """Return whether there is a value that is not null."""
        get = self.many(binding)[0]
        return lambda exchange: any(value is not None for value in get(exchange))

    def counter(self, binding: Binding) -> Callable[[Exchange], int]:
        """Return how many values there are that are not null: the first kind has all of them."""
        get = self.many(binding)[0]
        return lambda exchange: sum(value is not None for value in get(exchange))


def _getter(binding: Binding, values: _Values) -> Many:
    def get(exchange: Exchange) -> Sequence[Any]:
        return [
            value for topic, record in binding.records(exchange) for value in values(binding, topic, record)
        ]

    return get


class _Path(NamedTuple):
    root: str
    steps: tuple[str, ...]


@cache
def record_source(name: str) -> RecordSource | None:
    """Return the field of a name, or None if no record has it."""
    field = _schema_fields().get(name)
    if field is not None:
        return _of_schema(field)
    path = _path(name)
    if path is None:
        return None
    root, steps = path
    if root == _HEADER:
        return _of_header(name, steps) if len(steps) < 2 else None
    is_key = root == _KEY
    if not steps:
        return RecordSource(name, (TEXT,), (lambda _, __, record: (_content(record, is_key),),))
    return _of_decoded(
        name, lambda binding, topic, record: binding.values.decoded(topic, record, is_key), steps
    )


@cache
def _schema_fields() -> dict[str, RowField]:
    return {field.name: field for field in SCHEMA_FIELDS}


def _of_schema(field: RowField) -> RecordSource:
    part, _, fact = field.name.partition("_")

    def values(binding: Binding, topic: str | None, record: Record) -> tuple[Any, ...]:
        return (getattr(binding.values.facts(topic, record, part == _KEY), fact),)

    return RecordSource(field.name, (NUMBER if field.type == "int64" else TEXT,), (values,))


def _of_header(name: str, steps: tuple[str, ...]) -> RecordSource:
    if not steps:
        return RecordSource(
            name, (TEXT,), (lambda _, __, record: map(_text, (key for key, _ in record.headers)),)
        )
    wanted = steps[0]

    def values(binding: Binding, topic: str | None, record: Record) -> list[Any]:
        return [_text(value) for key, value in record.headers if key == wanted]

    return RecordSource(name, (TEXT,), (values,))


def _of_decoded(
    name: str, decoded: Callable[[Binding, str | None, Record], Any], steps: tuple[str, ...]
) -> RecordSource:
    def values(binding: Binding, topic: str | None, record: Record) -> Iterator[Any]:
        return values_at(decoded(binding, topic, record), steps)

    def numbers(binding: Binding, topic: str | None, record: Record) -> list[float]:
        found = map(_number, values(binding, topic, record))
        return [number for number in found if number is not None]

    return RecordSource(name, (DECODED, REAL), (values, numbers))


def _number(value: Any) -> float | None:
    """Return a number, also one that JSON has as text: 64-bit integers of Protobuf, decimals."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str) and len(value) > _LONGEST_NUMBER:
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _content(record: Record, is_key: bool) -> str | None:
    return _text(record.key if is_key else record.value)


def _text(content: bytes | str | None) -> str | None:
    return content.decode("utf-8", "replace") if isinstance(content, bytes) else content


def _path(name: str) -> _Path | None:
    """Return the steps of `root.name["name"]`; None for what is none, or of another root."""
    found = _PARTS.fullmatch(name)
    if found is None or found[1] not in RECORD_PARTS:
        return None
    steps: list[str] = []
    at = 0
    while at < len(found[2]):
        step = _STEP.match(found[2], at)
        if step is None:
            return None
        plain = step[1]
        steps.append(unescape(step[2] or step[3] or "") if plain is None else plain)
        at = step.end()
    return _Path(found[1], tuple(steps))
