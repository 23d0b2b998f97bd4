"""Fields of filters as values to print: what a filter can ask for, a column can show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, cast

from kdissect.engine.times import rfc3339
from kdissect.model.record_batch import RecordBatch
from kdissect.query.binding import Binding, Context
from kdissect.query.fields.field_sources import Source
from kdissect.query.fields.lookup import ENTITIES, UnknownFieldError, look_up, matching, payload_place
from kdissect.query.fields.named import ApiName, Choice, ErrorName
from kdissect.query.fields.row_fields import batch_parts, row_fields
from kdissect.query.fields.schema_fields import SIDES, BodyField, all_body_fields
from kdissect.query.values.addresses import ADDRESS
from kdissect.query.values.points_in_time import TIME_MS, TIME_NS
from kdissect.query.values.units import Duration, Size
from kdissect.query.values.value_kinds import FLAG, HEX, NUMBER, REAL, STRUCTURE, ValueKind
from kdissect.schema.types import Array, Primitive
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

_BODY, _BATCH = "body", "batch"
# Names of connection fields.
_OF_CONNECTION = frozenset(
    {
        "client.proxied",
        "cluster",
        "software",
        "principal",
        "mechanism",
        "host",
        "process",
        "pid",
        "pod",
        "namespace",
        "container",
    }
) | {
    f"{end}.{part}"
    for end in ("client", "broker")
    for part in ("ip", "port", "process", "pid", "pod", "namespace", "container")
}


class PrintedField(NamedTuple):
    """Column with its value at `path` of a row. `is_made`: the value comes from `FieldValues`, under its
    whole name, not from the row itself.
    """

    name: str
    path: tuple[str, ...]
    is_made: bool = False


class Behind(StrEnum):
    """Source of a row's facts, from which further fields can be computed."""

    NOTHING = "nothing"
    CONNECTION = "connection"
    EXCHANGE_OF_RECORD = "exchange of a record"
    EXCHANGE = "exchange"


def names_behind(behind: Behind) -> Collection[str]:
    """Return names that can be computed for rows of some kind, without names of body fields."""
    if behind is Behind.NOTHING:
        return ()
    if behind is Behind.CONNECTION:
        return _OF_CONNECTION
    plain = [name for name, entry in row_fields().items() if entry.kind is not STRUCTURE]
    if behind is Behind.EXCHANGE:
        plain.append(_BATCH)
    return (*plain, *ENTITIES)


def printed_field(name: str, known: Collection[str], behind: Behind) -> PrintedField:
    """Return the column of a name, for rows that have the fields `known`. Raises UnknownFieldError."""
    if name in known:
        return PrintedField(name, tuple(name.split(".")))
    entry = row_fields().get(name)
    if entry is not None and entry.alias_of in known:
        return PrintedField(name, tuple(entry.alias_of.split(".")))
    if name in names_behind(behind):
        return PrintedField(name, (name,), is_made=True)
    of_batch = name.removeprefix(f"{_BATCH}.")  # rows that are batches have the names of their parts
    if of_batch in known:
        return PrintedField(name, (of_batch,))
    if behind is not Behind.EXCHANGE:
        raise UnknownFieldError(f"no field {name!r}", "")
    side, _, rest = name.partition(".")
    path = tuple(rest.split("."))
    if side in SIDES and rest and (path[0] == _BODY or _is_in_bodies(side, path)):
        return PrintedField(name, (side, *(path if path[0] == _BODY else (_BODY, *path))))
    if look_up(name).is_of_records:
        raise UnknownFieldError(f"{name!r} is a field of records: kdissect records prints it", "")
    raise UnknownFieldError(f"{name!r} is a pattern: a column has one name", "")


def _is_in_bodies(side: str, path: tuple[str, ...]) -> bool:
    """Return whether a field of some API begins so, or leads into a payload."""
    inside = payload_place(path)
    wanted = path if inside is None else inside
    return any(field.path[: len(wanted)] == wanted for field in all_body_fields(side))


# Names in a report's rows for a sender without a port, and for the subject of a finding.
_CLIENT_IP, _INSIDE = "client.ip", ("where", "who")


def places_of(name: str) -> tuple[str, ...]:
    """Return the names in rows of a report for the filter's `name`, the likeliest first.

    A row about several has a plural, a row about one has a singular, with either name in the filter.
    """
    entry = row_fields().get(name)
    same = [other for other, its in row_fields().items() if its.alias_of == name]
    if entry is not None and entry.alias_of:
        same.append(entry.alias_of)
    if name == _CLIENT_IP:
        same += ["address", "addresses"]
    found = [name, *same, f"{name}s"]
    return (*found, *(f"{inside}.{each}" for inside in _INSIDE for each in found))


def type_of(name: str) -> str:
    """Return the type of a name's value in a row with bodies, or in `FieldValues`, as `RowField` writes it.

    Numbers are int64. A value that is neither number nor truth value is text. Raises UnknownFieldError.
    """
    side, _, rest = name.partition(".")
    path = rest.removeprefix("body.")
    fields = tuple(matching(side, path)) if side in SIDES and name not in row_fields() else ()
    if fields and all(field.kind is STRUCTURE for field in fields):
        return "string"
    if fields:
        return _listed({_of_body(field) for field in fields}, any(field.is_many for field in fields))
    source, entity = look_up(name), ENTITIES.get(name)
    is_one = not source.is_many or (entity is not None and entity.is_one)
    return _listed({_of_kind(kind) for kind in source.kinds}, not is_one)


def _listed(types: set[str], is_many: bool) -> str:
    one = types.pop() if len(types) == 1 else "string"
    return f"list<{one}>" if is_many else one


def _of_body(field: BodyField) -> str:
    """Return the type of the value in JSON."""
    of = field.field.type
    element = of.element if isinstance(of, Array) else of
    return _PRIMITIVES.get(element, "string") if isinstance(element, Primitive) else "string"


_TEXTS = (Primitive.STRING, Primitive.UUID, Primitive.BYTES, Primitive.RECORDS)
_PRIMITIVES = {primitive: "int64" for primitive in Primitive if primitive not in _TEXTS} | {
    Primitive.BOOL: "bool",
    Primitive.FLOAT64: "double",
}


def _of_kind(kind: ValueKind) -> str:
    if kind is FLAG:
        return "bool"
    if kind is REAL:
        return "double"
    return "int64" if kind is NUMBER or kind is TIME_MS or isinstance(kind, (Size, Duration)) else "string"


class OfConnection(NamedTuple):
    """A connection, for `FieldValues` of what belongs to it: they ask an exchange for no more."""

    connection: ConnectionInfo


class FieldValues:
    """Values of named fields, as JSON has them, one exchange after the other."""

    def __init__(self, names: Sequence[str], context: Context) -> None:
        binding = Binding(context)
        self._getters = [(name, _getter(name, binding)) for name in names]

    def __call__(self, exchange: Exchange) -> dict[str, Any]:
        """Return the values by name."""
        return {name: get(exchange) for name, get in self._getters}

    def of_connection(self, info: ConnectionInfo) -> dict[str, Any]:
        """Return the values of a connection, for names that belong to it."""
        return self(cast(Exchange, OfConnection(info)))


def _getter(name: str, binding: Binding) -> Callable[[Exchange], Any]:
    source, entity = look_up(name), ENTITIES.get(name)
    show = _shown(source)
    if not source.is_many:
        one = source.one(binding)

        def single(exchange: Exchange) -> Any:
            value = one(exchange)
            return None if value is None else show(value)

        return single
    getters = source.many(binding)

    def several(exchange: Exchange) -> list[Any]:
        return [show(v) for get in getters for v in get(exchange) if v is not None]

    if entity is None:
        return several
    if entity.is_one:
        return lambda exchange: next(iter(several(exchange)), None)
    return lambda exchange: list(dict.fromkeys(several(exchange)))


def _shown(source: Source) -> Callable[[Any], Any]:
    (kind,) = source.kinds if len(source.kinds) == 1 else (ValueKind(),)
    if isinstance(kind, (Choice, ErrorName, ApiName)):
        return kind.text
    if kind is HEX:
        return kind.text
    if kind is TIME_NS:
        return rfc3339
    if kind is ADDRESS:
        return str
    return _plain


def _plain(value: Any) -> Any:
    if isinstance(value, RecordBatch):
        return {name: get(value) for name, get in batch_parts()}
    return value
