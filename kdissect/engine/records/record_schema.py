"""The Arrow form of `RECORD_FIELDS`. Needs pyarrow (extra `arrow`)."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kdissect.engine.exchange_rows import RowField
from kdissect.engine.records.record_fields import RECORD_FIELDS, SCHEMA_COLUMNS

_TYPES: dict[str, Any] = {
    "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(), "string": pa.string(),
    "bool": pa.bool_(),
}  # fmt: skip
# Times are timestamps there, without text. The content of an own record is JSON.
_TIMES = {
    "time": pa.timestamp("ns", "UTC"),
    "timestamp": pa.timestamp("ms", "UTC"),
    "max_timestamp": pa.timestamp("ms", "UTC"),
    "last_timestamp": pa.timestamp("ms", "UTC"),
}


# Texts that repeat on every row: as dictionaries they are never spread out. In Parquet they are strings.
_REPEATED = frozenset(
    {
        "connection", "direction", "client", "broker", "client_id", "principal", "software", "file", "topic",
        "topic_id", "timestamp_type", "codec", "key_wire_format", "value_wire_format",
    }
)  # fmt: skip


def arrow_schema(
    key_form: str | None, value_form: str | None, columns: Sequence[str] = (), with_schemas: bool = False
) -> Any:
    """Return the schema of the usual columns, with those about schemas or without, or of those named.

    Without a form keys and values are binary.
    """
    columns = columns or [
        field.name
        for field in RECORD_FIELDS
        if "." not in field.name and (with_schemas or field.name not in SCHEMA_COLUMNS)
    ]
    schema = schema_of(RECORD_FIELDS, (key_form, value_form), columns)
    for place, field in enumerate(schema):
        if field.name in _REPEATED:
            schema = schema.set(place, field.with_type(pa.dictionary(pa.int32(), pa.string())))
    return schema


def schema_of(
    fields: Sequence[RowField], forms: tuple[str | None, str | None], columns: Sequence[str] = ()
) -> Any:
    """Return a schema for rows of `fields`, like `arrow_schema`."""
    key, value = (pa.binary() if form is None else pa.string() for form in forms)
    special = _TIMES | {
        "key": key,
        "value": value,
        "headers": pa.list_(pa.struct([("key", pa.string()), ("value", value)])),
        "decoded": pa.string(),
        "faults": pa.list_(pa.string()),
    }
    types = {field.name: field.type for field in fields if "." not in field.name}
    return pa.schema([(name, special.get(name) or _TYPES[types[name]]) for name in columns or types])
