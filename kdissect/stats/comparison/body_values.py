"""Fields of a body by path, for comparing bodies of two captures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from kdissect.decoders.generated.values import Value, items, present
from kdissect.model.wording import plural
from kdissect.schema.enums import enum_name
from kdissect.schema.protocol_messages import api_name
from kdissect.schema.secrets import has_config_values, is_secret, is_sensitive
from kdissect.schema.types import Array, Field, Primitive

# Elements of an array to read: the elements of one message are mostly equal.
_MOST_ELEMENTS = 200
_LONGEST_TEXT = 80
# Fields that differ in every run of any client or broker: names of the processed data, positions, epochs,
# sizes of logs, times, addresses, assignments. Also values with a comparison of their own: throttle times,
# software.
_OF_RUN = re.compile(
    r"(\w+_)?(id|id_len|ids|offsets?|timestamp|timestamp_ms|epoch|sequence|watermark|host|port|leader|principal|"
    r"principal_name|partition|partitions|partition_index|partition_indexes|error_message|metadata|lag|name)"
    r"|acknowledge_types|batch_index|coordinator_keys|delivery_\w+|documentation|entity_name|host_name|index|key"
    r"|log_append_time_ms|log_dir|offset_lag|partition_size|path|position|preferred_successors|protocol_data"
    r"|client_software_name|client_software_version|reason|resource_name\w*|size|throttle_time_ms|total_bytes|transaction_start_time_ms|usable_bytes|user"
)
_OF_SETTINGS = frozenset({"rack_id", "protocol_name", "assignor_name"})
# Fields that identify the elements of an array, though their names are in `_OF_RUN`: an API, a config, a
# feature.
_IDENTITIES = ("api_key", "name")


def body_values(body: Value, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield paths and values of the fields that a client or broker is set or made to send, in the schema's
    order.

    Elements of arrays share a path (`topics[].partitions[].max_bytes`), except for named elements
    (`api_keys[Produce].max_version`, `configs[max.message.bytes].value`). Secrets are left out, and so are
    fields that differ between any two runs.
    """
    is_hidden = has_config_values(body.struct_fields) and is_sensitive(dict(items(body)))
    for field, name, item in present(body):
        if is_secret(field, is_hidden) or field.is_error or (name in _IDENTITIES and field.entity is None):
            continue
        where = f"{path}{name}"
        if isinstance(item, Value):
            yield from body_values(item, f"{where}.")
        elif isinstance(field.type, Array):
            yield from _of_array(field, item, where)
        elif not _is_of_run(field):
            yield where, _plain(field, item)


def _of_array(field: Field, item: Any, where: str) -> Iterator[tuple[str, Any]]:
    if item is None:
        yield where, None
        return
    for element in item[:_MOST_ELEMENTS]:
        if not isinstance(element, Value):
            if not _is_of_run(field):
                yield f"{where}[]", _plain(field, element)
        else:
            yield from body_values(element, f"{where}[{_identity(element)}].")


def _identity(element: Value) -> str:
    """Return the name of an element, if it is an API, a config, a feature or a protocol of a group."""
    for field, name, item in present(element):
        if name in _IDENTITIES and field.entity is None:
            if name == "api_key":
                return api_name(item) or str(item)
            if isinstance(item, str):
                return item[:_LONGEST_TEXT]
    return ""


@cache
def _is_of_run(field: Field) -> bool:
    """Return whether a field has another value in every run."""
    if field.entity is not None or field.type in (Primitive.UUID, Primitive.BYTES, Primitive.RECORDS):
        return True
    if field.payload is not None:
        return True
    if field.name in _OF_SETTINGS or (field.enum is not None and not field.name.endswith("epoch")):
        return False
    return _OF_RUN.fullmatch(field.name) is not None


def _plain(field: Field, item: Any) -> Any:
    """Return a value as JSON has it, numbers of an enumeration by name."""
    if field.enum is not None and isinstance(item, int):
        return enum_name(field.enum, item) or item
    if isinstance(item, (bytes, memoryview)):
        return f"<{plural(len(item), 'byte')}>"
    return item[:_LONGEST_TEXT] if isinstance(item, str) else item
