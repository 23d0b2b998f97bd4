"""Values of Avro. Needs fastavro (extra `schemas`)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from io import BytesIO
from typing import Any
from uuid import UUID

import fastavro
from fastavro.read import SchemaResolutionError
from fastavro.schema import UnknownType

from kdissect.model.wording import plural
from kdissect.serdes.avro_program import Node, avro_program
from kdissect.serdes.avro_references import whole_schema
from kdissect.serdes.avro_resolution import unreadable
from kdissect.serdes.avro_sizes import Sizes
from kdissect.serdes.faults import SchemaError, ValueFaultError
from kdissect.serdes.json_values import binary, moment, number
from kdissect.serdes.registered import Decode, Registered, Which

_MOST = 200  # characters of a reason


def avro_decoder(schema: Registered, reader: Registered | None = None) -> Decode:
    """Return the function for an Avro schema, which reads values as a reader's schema has them.

    Raises SchemaError.
    """
    parsed = _parsed(schema, _as_it_is)
    wanted = None if reader is None else _parsed(reader, _as_it_is)
    try:
        sizes = Sizes(parsed)
    except (RecursionError, KeyError, TypeError, ValueError) as error:
        raise SchemaError(f"{schema.name}: {error or 'nested too deep'}") from None
    is_plain = sizes.is_plain
    numbers: list[Any] = []

    def decode(data: bytes, _which: Which) -> Any:
        if sizes.need_check:
            sizes.check(data)
        try:
            value = _read(data, parsed, wanted)
        except (OverflowError, ValueError) as error:
            if isinstance(error, UnicodeError):
                raise ValueFaultError("a text is not UTF-8") from None
            # Python has no such date: numbers instead.
            if not numbers:
                numbers.append(_parsed(schema, _without_logical_types))
                numbers.append(None if reader is None else _parsed(reader, _without_logical_types))
            value = _read(data, *numbers)
        return value if is_plain else _plain(value)

    return decode


def avro_nodes(schema: Registered) -> list[Node] | None:
    """Return an Avro schema as the native engine reads it; None if Python reads its values.

    Raises SchemaError.
    """
    avro_decoder(schema)  # its bounds
    return avro_program(_parsed(schema, _as_it_is))


def avro_resolver(schema: Registered, reader: Registered) -> Callable[[bytes], str]:
    """Return what returns why a reader cannot read a value of a schema, or an empty text.

    Raises SchemaError.
    """
    return partial(unreadable, writer=_parsed(schema, _as_it_is), reader=_parsed(reader, _as_it_is))


def avro_names(schema: Registered) -> list[str]:
    """Return the full name of a schema that has one. Raises SchemaError."""
    parsed = _parsed(schema, _as_it_is)
    return [parsed["name"]] if isinstance(parsed, dict) and "name" in parsed else []


def _read(data: bytes, parsed: Any, wanted: Any) -> Any:
    stream = BytesIO(data)
    try:
        value = fastavro.schemaless_reader(stream, parsed, wanted)
    except EOFError:
        raise ValueFaultError("the value ends before its schema does") from None
    except SchemaResolutionError as error:
        raise ValueFaultError(f"the reader's schema does not fit: {error}"[:_MOST]) from None
    except (OverflowError, ValueError):
        raise
    except Exception as error:  # of a union or an enumeration: IndexError, TypeError, KeyError
        raise ValueFaultError(_reason(error)) from None
    left = len(data) - stream.tell()
    if left:
        raise ValueFaultError(f"the schema ends {plural(left, 'byte')} before the value does")
    return value


def _reason(error: Exception) -> str:
    if isinstance(error, (IndexError, KeyError)):
        return "a union or enumeration has no such branch or symbol"
    return f"{type(error).__name__}: {error}"[:_MOST]


def _parsed(schema: Registered, change: Callable[[Any], Any]) -> Any:
    try:
        # Its own way to load what is referred to (load_schema) ends the process at schemas in a circle.
        return fastavro.parse_schema(whole_schema(schema.text, schema.references, change))
    except RecursionError:
        raise SchemaError(f"{schema.name}: nested too deep") from None
    except UnknownType as missing:
        raise SchemaError(f"{schema.name}: no schema {missing.name!r} is available") from None
    except Exception as error:  # fastavro raises several kinds
        why = str(error).partition("\n")[0][:_MOST]
        raise SchemaError(f"{schema.name}: no Avro schema: {why or type(error).__name__}") from None


def _as_it_is(schema: Any) -> Any:
    return schema


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            name: _without_logical_types(value) for name, value in schema.items() if name != "logicalType"
        }
    return [_without_logical_types(one) for one in schema] if isinstance(schema, list) else schema


def _plain(value: Any) -> Any:
    """Return a value of fastavro as JSON has it."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int)):
        return value
    make = _TEXTS.get(type(value))
    return value if make is None else make(value)


_TEXTS: dict[type, Callable[[Any], Any]] = {
    float: number,
    bytes: binary,
    Decimal: lambda value: format(value, "f"),
    datetime: moment,
    date: moment,
    time: moment,
    UUID: str,
}
