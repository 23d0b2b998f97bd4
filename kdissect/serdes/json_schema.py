"""Values of JSON with a schema. Needs jsonschema (extra `schemas`)."""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft7Validator
from jsonschema.exceptions import SchemaError as WrongSchemaError
from jsonschema.validators import validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7

from kdissect.serdes.faults import SchemaError, ValueFaultError
from kdissect.serdes.registered import Decode, Registered, Which

_MOST = 200  # characters of a reason

_NAME_ITEMS = frozenset({"additionalItems", "items", "unevaluatedItems"})
"""Keywords whose messages have values in parentheses."""


def json_decoder(schema: Registered) -> Decode:
    """Return the function for a JSON Schema.

    Raises SchemaError. The caller supplies all schemas: this module fetches none.
    """
    try:
        contents = json.loads(schema.text)
        kind = validator_for(contents, default=Draft7Validator)
        kind.check_schema(contents)
        given = {
            name: Resource.from_contents(json.loads(text), default_specification=DRAFT7)
            for name, text in schema.references.items()
        }
        given |= {resource.id() or name: resource for name, resource in given.items()}

        def retrieve(uri: str) -> Any:
            """Return a schema whose name the address ends with: it counts from the address of who refers to
            it.
            """
            for name, resource in given.items():
                if uri.endswith(f"/{name}"):
                    return resource
            raise KeyError(uri)  # which jsonschema reports as Unresolvable

        registry: Any = Registry
        validator = kind(contents, registry=registry(retrieve=retrieve).with_resources(given.items()))
    except (ValueError, WrongSchemaError, RecursionError) as error:
        why = str(error).partition("\n")[0][:_MOST] or "nested too deep"
        raise SchemaError(f"{schema.name}: no JSON Schema: {why}") from None

    def decode(data: bytes, _which: Which) -> Any:
        try:
            value = json.loads(data)
            error = next(iter(validator.iter_errors(value)), None)
        except RecursionError:
            raise ValueFaultError("nested too deep") from None
        except ValueError as wrong:
            raise ValueFaultError(f"no JSON: {wrong}"[:_MOST]) from None
        except Unresolvable as missing:
            raise SchemaError(f"{schema.name}: no schema {missing.ref!r} is available") from None
        if error is not None:
            raise ValueFaultError(f"{error.json_path}: {_without_value(error)}"[:_MOST])
        return value

    return decode


def json_names(schema: Registered) -> list[str]:
    """Return the title of a schema that has one: its serializers use it as the name of the record."""
    try:
        contents = json.loads(schema.text)
    except (ValueError, RecursionError):
        return []
    title = contents.get("title") if isinstance(contents, dict) else None
    return [title] if isinstance(title, str) else []


def _without_value(error: Any) -> str:
    """Return the message without the value that does not fit: findings are shared, and it may be a secret."""
    message, value = str(error.message), repr(error.instance)
    if message.startswith(value):
        message = f"the value{message[len(value) :]}"
    return message.partition(" (")[0] if error.validator in _NAME_ITEMS else message
