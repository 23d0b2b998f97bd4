"""Results of reading a key or value."""

from __future__ import annotations

from typing import Any, NamedTuple

from kdissect.serdes.schema_ids import SchemaId, WireFormat


class Reading(NamedTuple):
    """Result of reading a key or value. `error`: why it is not decoded; `is_fault`: it does not fit;
    `is_unknown`: no schema has its id. `subject` is empty if the schema has none. `is_of_topic`: the schema
    is one of the topic, by its subject or by the map of the user.
    """

    id: SchemaId | None
    wire_format: WireFormat | None = None
    schema: str | None = None
    indexes: tuple[int, ...] | None = None
    value: Any = None
    error: str | None = None
    is_decoded: bool = False
    is_fault: bool = False
    is_unknown: bool = False
    subject: str = ""
    is_of_topic: bool = False


NO_READING = Reading(None)
