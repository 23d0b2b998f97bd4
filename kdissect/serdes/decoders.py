"""A registered schema to a function that decodes values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kdissect.model.extras import are_installed, how_to_install
from kdissect.serdes.avro_program import Node
from kdissect.serdes.faults import SchemaError
from kdissect.serdes.registered import Decode, Registered, SchemaType, Which

_MODULES = {
    SchemaType.AVRO: ("Avro", ("fastavro",)),
    SchemaType.PROTOBUF: ("Protobuf", ("google.protobuf", "grpc_tools")),
    SchemaType.JSON: ("JSON Schema", ("jsonschema", "referencing")),
}


def installed_modules() -> tuple[str, ...]:
    """Return the modules of the extra `schemas` that are there: tasks elsewhere need the same ones."""
    found = (*(module for _, modules in _MODULES.values() for module in modules), "cbor2", "msgpack")
    return tuple(module for module in found if _are_there((module,)))


def missing_modules(modules: tuple[str, ...]) -> str | None:
    """Return the message that some of the modules are missing; None if all are there."""
    missing = [module for module in modules if not _are_there((module,))]
    return f"--schemas needs {', '.join(missing)}: {how_to_install('schemas')}" if missing else None


def decoder_of(schema: Registered, reader: Registered | None = None) -> Decode:
    """Return the function for a schema, and for the schema of a reader (Avro only).

    Raises SchemaError where the schema is wrong, or its library is missing.
    """
    name, modules = _MODULES[schema.type]
    if not _are_there(modules):
        raise SchemaError(f"{schema.name}: values of {name} need {how_to_install('schemas')}")
    if schema.type is SchemaType.AVRO:
        from kdissect.serdes.avro import avro_decoder  # an extra

        if reader is not None and reader.type is not SchemaType.AVRO:
            raise SchemaError(f"{reader.name}: no Avro schema, so it reads no value of {schema.name}")
        return avro_decoder(schema, reader)
    if reader is not None:
        raise SchemaError(f"{schema.name}: only Avro has schemas of readers")
    if schema.type is SchemaType.PROTOBUF:
        from kdissect.serdes.protobuf import protobuf_decoder  # an extra

        return protobuf_decoder(schema)
    from kdissect.serdes.json_schema import json_decoder  # an extra

    return json_decoder(schema)


def nodes_of(schema: Registered) -> list[Node] | None:
    """Return a schema as the native engine reads it; None if only the function for it reads its values.

    Raises SchemaError where the schema is wrong.
    """
    if schema.type is not SchemaType.AVRO or not _are_there(_MODULES[schema.type][1]):
        return None
    from kdissect.serdes.avro import avro_nodes  # an extra

    return avro_nodes(schema)


def resolver_of(schema: Registered, reader: Registered) -> Callable[[bytes], str]:
    """Return what returns why a reader of another Avro schema cannot read a value, or an empty text.

    Raises SchemaError.
    """
    from kdissect.serdes.avro import avro_resolver  # an extra

    return avro_resolver(schema, reader)


def message_of(schema: Registered, which: Which) -> str:
    """Return the full name of a message of a Protobuf schema. Raises SchemaError, or ValueFaultError."""
    from kdissect.serdes.protobuf import message_name  # an extra

    return message_name(schema, which)


def names_of(schema: Registered) -> Sequence[str]:
    """Return the full names of the records that a schema describes: serializers may use them as subjects.

    Raises SchemaError.
    """
    if not _are_there(_MODULES[schema.type][1]):
        return ()
    if schema.type is SchemaType.PROTOBUF:
        from kdissect.serdes.protobuf import message_names  # an extra

        return message_names(schema)
    if schema.type is SchemaType.AVRO:
        from kdissect.serdes.avro import avro_names  # an extra

        return avro_names(schema)
    from kdissect.serdes.json_schema import json_names  # an extra

    return json_names(schema)


def _are_there(modules: tuple[str, ...]) -> bool:
    try:
        return are_installed(*modules)
    except ModuleNotFoundError:  # the package that the module is in
        return False
