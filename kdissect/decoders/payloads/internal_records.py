"""Keys and values of records in Kafka's own logs, and of control records (`schema.logs`)."""

from typing import NamedTuple

from kdissect.decoders.cursor import uvarint
from kdissect.decoders.payloads.payload import Found, Layout, Payload, Plain
from kdissect.decoders.payloads.versioned import VERSION_SIZE, versioned
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.schema import protocol_messages
from kdissect.schema.logs import CONTROL, Framing, Log, log

_FRAME_VERSIONS = (
    0,
    1,
)  # 0 in Kafka 2.8 (org.apache.kafka.server.common.serialization.AbstractApiMessageSerde)
_MARKERS = frozenset({0, 1})  # abort and commit: a version precedes their value
_CONTROL_KEY = "ControlRecordTypeSchema"

Bytes = tuple[bytes, int, int]
"""`(data, start, end)`"""


class RecordPayloads(NamedTuple):
    """Contents of a record's key and value; None if the log has no format for it, or for null."""

    key: Payload | None
    value: Payload | None


class FoundRecord(NamedTuple):
    """The layouts of key and value."""

    key: Found | None
    value: Found | None


NOTHING = FoundRecord(None, None)


def record_log(topic: str | None, is_control: bool = False) -> Log | None:
    """Return the log whose formats a record has, None for records of users."""
    return log(CONTROL) if is_control else None if topic is None else log(topic)


def decode_record(
    topic: str | None, key: bytes | None, value: bytes | None, is_control: bool = False
) -> RecordPayloads:
    """Return the key and value of a record decoded.

    Raises nothing: `error` of each describes what does not fit.
    """
    found = find_record(
        topic,
        None if key is None else (key, 0, len(key)),
        None if value is None else (value, 0, len(value)),
        is_control,
    )
    return RecordPayloads(
        found.key.decode(key, len(key)) if found.key and key is not None else None,
        found.value.decode(value, len(value)) if found.value and value is not None else None,
    )


def find_record(
    topic: str | None, key: Bytes | None, value: Bytes | None, is_control: bool = False
) -> FoundRecord:
    """Return how key and value are laid out, for decoding or dissecting them where they stand.

    Raises nothing.
    """
    logged = record_log(topic, is_control)
    if logged is None:
        return NOTHING
    if logged.framing is Framing.FRAMED:
        return FoundRecord(None, None if value is None else _framed(logged, *value))
    if key is None:
        return NOTHING
    return _control(logged, key, value) if is_control else _keyed(logged, key, value)


def _keyed(logged: Log, key: Bytes, value: Bytes | None) -> FoundRecord:
    data, start, end = key
    number = int.from_bytes(data[start : min(start + VERSION_SIZE, end)], signed=True)
    name = logged.records.get(number)
    if end - start < VERSION_SIZE or name is None:
        return FoundRecord(_unknown(logged, number, start), None)
    layout = Layout(protocol_messages.payload(f"{name}Key"), 0, start + VERSION_SIZE, number)
    return FoundRecord(layout, None if value is None else versioned(f"{name}Value", *value))


def _framed(logged: Log, data: bytes, start: int, end: int) -> Found:
    try:
        frame, at = uvarint(data, start)
        number, at = uvarint(data, at)
        version, at = uvarint(data, at)
    except (IndexError, ValueError):
        return Plain(logged.name, None, DecodeError(logged.name, start, "the frame does not fit"))
    if frame not in _FRAME_VERSIONS:
        return Plain(logged.name, None, DecodeError(logged.name, start, f"there is no frame version {frame}"))
    name = logged.records.get(number)
    if name is None or at > end:
        return _unknown(logged, number, start)
    message = protocol_messages.payload(name)
    if version not in message.versions:
        why = f"version {version} is not in the schema"
        return Plain(name, None, DecodeError(name, start, why, FaultKind.UNKNOWN))
    return Layout(message, version, at, version)


def _control(logged: Log, key: Bytes, value: Bytes | None) -> FoundRecord:
    data, start, end = key
    body = start + VERSION_SIZE
    if end - body < VERSION_SIZE:
        return FoundRecord(Plain(_CONTROL_KEY, None, DecodeError(_CONTROL_KEY, start, "too short")), None)
    version = int.from_bytes(data[start:body], signed=True)
    number = int.from_bytes(data[body : body + VERSION_SIZE], signed=True)
    layout = Layout(protocol_messages.payload(_CONTROL_KEY), 0, body, version, may_trail=version > 0)
    name = logged.records.get(number)
    if name is None or value is None:
        return FoundRecord(layout, None)
    return FoundRecord(layout, _control_value(name, number in _MARKERS, *value))


def _control_value(name: str, is_marker: bool, data: bytes, start: int, end: int) -> Found:
    """Return the layout of a control value.

    In markers a version precedes the value; in other records it is the first field.
    """
    if is_marker:
        return versioned(name, data, start, end)
    message = protocol_messages.payload(name)
    said = int.from_bytes(data[start : min(start + VERSION_SIZE, end)], signed=True)
    known = min(max(said, message.versions.first), message.versions.last)
    return Layout(message, known, start, said, may_trail=said > known)


def _unknown(logged: Log, number: int, start: int) -> Plain:
    why = f"there is no record type {number}"
    return Plain(logged.name, None, DecodeError(logged.name, start, why, FaultKind.UNKNOWN))
