"""Control records (spec/001 "5.3.1.1 Control Batches"): what a key and a value of a control batch say."""

from typing import Any, NamedTuple

from kdissect.decoders.compiled import decoder
from kdissect.model.errors import DecodeError
from kdissect.model.record import Record
from kdissect.schema import registry

# org.apache.kafka.common.record.ControlRecordType: number -> name, and the payload of its value.
_TYPES = {
    0: ("abort", "EndTxnMarker"),  # 0 and 1 also in spec/001 "5.3.1.1 Control Batches"
    1: ("commit", "EndTxnMarker"),
    2: ("leader_change", "LeaderChangeMessage"),  # KIP-595
    3: ("snapshot_header", "SnapshotHeaderRecord"),  # KIP-630
    4: ("snapshot_footer", "SnapshotFooterRecord"),  # KIP-630
    5: ("kraft_version", "KRaftVersionRecord"),  # KIP-853
    6: ("voters", "VotersRecord"),  # KIP-853
}
_MARKERS = frozenset({0, 1})  # their value has the version before it; the others' first field is the version
_KEY = 4  # version int16, type int16 (spec/001 "5.3.1.1 Control Batches"); later versions may add to it


class ControlRecord(NamedTuple):
    """What a control record says.

    `type` is 0 for abort, 1 for commit ..., `name` None for one that does not exist; `value` is the decoded
    value (`decoders.values`), None where it could not be decoded: then `error` says why.
    """

    version: int
    type: int
    name: str | None
    value: Any
    error: DecodeError | None


def control_record(record: Record) -> ControlRecord | None:
    """Key and value of a control record decoded; None where the key is too short for one. Raises nothing."""
    key = record.key
    if key is None or len(key) < _KEY:
        return None
    version = int.from_bytes(key[:2], signed=True)
    kind = int.from_bytes(key[2:_KEY], signed=True)
    name, payload = _TYPES.get(kind, (None, None))
    if payload is None:
        return ControlRecord(version, kind, None, None, None)
    try:
        value = _value(payload, kind in _MARKERS, record.value)
    except DecodeError as error:
        return ControlRecord(version, kind, name, None, error)
    return ControlRecord(version, kind, name, value, None)


def _value(payload: str, is_marker: bool, data: bytes | None) -> Any:
    if data is None or len(data) < 2:
        raise DecodeError(payload, 0, "there is no version")
    message = registry.payload(payload)
    version = int.from_bytes(data[:2], signed=True)
    # A later version may only add fields: read what is known of it.
    known = min(max(version, message.versions.first), message.versions.last)
    return decoder(message, known)(data, 2 if is_marker else 0)[0]
