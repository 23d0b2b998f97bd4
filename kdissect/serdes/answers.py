"""Responses of schema registries, saved or fresh, and what kind of schema a text is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kdissect.serdes.faults import SchemaError
from kdissect.serdes.registered import SchemaType
from kdissect.serdes.schemas import GUID, NUMBER, Entry, Reference

_AVRO_TYPES = frozenset(
    {
        "null", "boolean", "int", "long", "float", "double", "bytes", "string", "record", "enum", "array",
        "map", "fixed", "error",
    }
)  # fmt: skip
_OF_AVRO = frozenset({"record", "enum", "fixed", "error", "map"})  # JSON Schema has no such types


def entry_of_content(where: str, text: str, references: tuple[Reference, ...] = ()) -> Entry:
    """Return the schema that Apicurio responds with, as it is: JSON, or else Protobuf. Raises SchemaError."""
    try:
        kind = type_of(json.loads(text))
    except RecursionError:
        raise SchemaError(f"{where}: nested too deep") from None
    except ValueError:
        kind = SchemaType.PROTOBUF
    if kind is None:
        raise SchemaError(f"{where}: no schema")
    return Entry(kind, text, where, references=references)


def type_of(contents: Any) -> SchemaType | None:
    """Return whether JSON is a schema of Avro or a JSON Schema; None for neither."""
    if isinstance(contents, str):
        return SchemaType.AVRO if contents in _AVRO_TYPES else None
    if isinstance(contents, list):
        return SchemaType.AVRO if contents and all(map(type_of, contents)) else None
    if not isinstance(contents, dict):
        return None
    kind = contents.get("type")
    if isinstance(kind, str) and (
        kind in _OF_AVRO or (kind == "array" and isinstance(contents.get("items"), str))
    ):
        return SchemaType.AVRO
    words = (
        "$schema",
        "$ref",
        "$id",
        "properties",
        "type",
        "oneOf",
        "anyOf",
        "allOf",
        "$defs",
        "definitions",
    )
    return SchemaType.JSON if any(word in contents for word in words) else None


def entry_of_answer(where: str, answer: dict[str, Any], ids: Sequence[tuple[str, int | str]] = ()) -> Entry:
    """Return the schema of a response of Confluent's API: `/schemas`, `/subjects/S/versions/V`,
    `/schemas/ids/N`. It has `ids` if it names no id itself. Raises SchemaError.
    """
    if isinstance(answer.get("id"), int):
        ids = [(NUMBER, answer["id"])]
    if isinstance(answer.get("guid"), str):
        ids = [*ids, (GUID, answer["guid"].lower())]
    try:
        kind = SchemaType(str(answer.get("schemaType") or SchemaType.AVRO).upper())
    except ValueError:
        raise SchemaError(f"{where}: no type of schemas: {answer.get('schemaType')!r}") from None
    references = answer.get("references")
    return Entry(
        kind,
        answer["schema"],
        where,
        str(answer.get("subject") or ""),
        str(answer.get("version") or ""),
        tuple(ids),
        tuple(map(reference, references if isinstance(references, list) else ())),
    )


def reference(given: Any) -> Reference:
    """Return a reference of Confluent's form or of Apicurio's."""
    if not isinstance(given, dict):
        return Reference("", "", "")
    subject = given.get("subject") or given.get("artifactId") or ""
    return Reference(str(given.get("name") or ""), str(subject), str(given.get("version") or ""))
