"""A schema as a registry or a file has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple


class SchemaType(StrEnum):
    """Types of schemas, by the names that registries use."""

    AVRO = "AVRO"
    PROTOBUF = "PROTOBUF"
    JSON = "JSON"


class Registered(NamedTuple):
    """A schema: its text, and by name the texts that it refers to, each after the texts that it needs.

    `name` is for people. `message` is the name of a Protobuf message, empty for the first.
    """

    name: str
    type: SchemaType
    text: str
    references: Mapping[str, str]
    message: str = ""


Which = tuple[int, ...] | str | int | None
"""The message of a .proto file: Confluent's indexes, its name (Apicurio), its number among all messages of
the file in the order of their full names (AWS Glue), or None for the first.
"""
Decode = Callable[[bytes, Which], Any]
"""Bytes and the Protobuf message to a value for JSON. Raises ValueFaultError, or SchemaError."""
