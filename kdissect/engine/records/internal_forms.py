"""Records of Kafka's own topics and control records, decoded for rows."""

from functools import cache
from typing import Any, NamedTuple

from kdissect.decoders.as_json.jsonable import blanked, may_be_misread
from kdissect.decoders.payloads.internal_records import decode_record, record_log
from kdissect.decoders.payloads.nesting import payload_jsonable
from kdissect.decoders.payloads.payload import Payload
from kdissect.model.record_batch import Record
from kdissect.schema import protocol_messages
from kdissect.schema.logs import Framing
from kdissect.schema.secrets import MASK, may_hold_secrets


class OwnRecord(NamedTuple):
    """Key and value as plain JSON values, None without a format.

    The masks stand for bytes that hold secrets.
    """

    key: dict[str, Any] | None
    value: dict[str, Any] | None
    key_mask: str | None
    value_mask: str | None


def own_record(topic: str | None, record: Record, is_control: bool, show_secrets: bool) -> OwnRecord | None:
    """Return a record of Kafka's own topics decoded, None for users' records. Raises nothing."""
    if record_log(topic, is_control) is None:
        return None
    found = decode_record(topic, record.key, record.value, is_control)
    is_near = may_hold_secrets_of(topic) and not show_secrets
    return OwnRecord(
        _told(found.key, is_near),
        _told(found.value, is_near),
        _mask(found.key, is_near),
        _mask(found.value, is_near),
    )


def _told(payload: Payload | None, is_near: bool) -> dict[str, Any] | None:
    """Return the content of a key or value. Near secrets, blank each value that is not where it belongs."""
    if payload is None:
        return None
    told = payload_jsonable(payload, show_secrets=not is_near)
    return told | {"value": blanked(told["value"])} if is_near and _is_odd(payload) else told


def _is_odd(payload: Payload) -> bool:
    if payload.error is not None:
        return True
    return may_be_misread(payload_jsonable(payload)["value"])


@cache
def may_hold_secrets_of(topic: str | None) -> bool:
    """Return whether records of a topic may contain secrets, as in some of Kafka's own topics."""
    logged = record_log(topic)
    if logged is None:
        return False
    suffixes = ("",) if logged.framing is Framing.FRAMED else ("Key", "Value")
    return any(_holds(name + suffix) for name in logged.records.values() for suffix in suffixes)


def _holds(payload: str) -> bool:
    try:
        return may_hold_secrets(protocol_messages.payload(payload))
    except KeyError:
        return True  # a record of an unknown type


def _mask(payload: Payload | None, is_near: bool) -> str | None:
    """Return the mask for bytes that may contain a secret, including bytes that cannot be decoded."""
    if payload is None or not is_near:
        return None
    return MASK if _holds(payload.name) or _is_odd(payload) else None
