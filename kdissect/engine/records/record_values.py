"""The schemas of keys and values: the ids that records name."""

from __future__ import annotations

from typing import Any, NamedTuple

from kdissect.engine.exchange_rows import Row
from kdissect.model.record_batch import Record
from kdissect.serdes.schema_ids import SchemaId, schema_id

# Of one key or value: brokers take 1 MiB unless told otherwise (message.max.bytes).
MAX_VALUE_BYTES = 4 << 20
PARTS = ("value", "key")
"""By whether it is the key."""


class PartFacts(NamedTuple):
    """What is known of the schema of a key or value. The names are those of the columns behind `key_`."""

    wire_format: str | None = None
    schema_id: int | None = None
    schema_guid: str | None = None
    message_indexes: str | None = None


_NAMES = [[f"{part}_{name}" for name in PartFacts._fields] for part in PARTS]
_NOTHING = PartFacts()


class RecordValues:
    """Works out `SCHEMA_FIELDS` of records, and what keys and values hold."""

    def facts(self, topic: str | None, record: Record, is_key: bool) -> PartFacts:
        """The facts about the key or the value of a record of a topic."""
        found = schema_id(record.key if is_key else record.value, record.headers, is_key)
        return _NOTHING if found is None else _facts(found)

    def decoded(self, topic: str | None, record: Record, is_key: bool) -> Any:
        """What the key or the value holds, as a value for JSON; None where nothing says how to read it."""
        return _json(record.key if is_key else record.value)

    def fill(self, row: Row, record: Record) -> None:
        """Add the columns to a row of the record."""
        for is_key in (True, False):
            row.update(zip(_NAMES[is_key], self.facts(row["topic"], record, is_key), strict=True))


def _json(content: bytes | None) -> Any:
    """An object or list of JSON; None for anything else."""
    if content is None or content[:1] not in (b"{", b"[") or len(content) > MAX_VALUE_BYTES:
        return None
    import json  # start-up: few filters ask for it

    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _facts(found: SchemaId) -> PartFacts:
    indexes = None if found.indexes is None else ",".join(map(str, found.indexes))
    return PartFacts(str(found.wire_format), found.number, found.guid, indexes)
