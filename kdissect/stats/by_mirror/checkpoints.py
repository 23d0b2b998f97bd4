"""Offsets of groups that MirrorMaker 2 translates, as its checkpoint topics hold them."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

# org.apache.kafka.connect.mirror.Checkpoint: KEY_SCHEMA is group, topic, partition; VALUE_SCHEMA_V0, after a
# version, is upstream offset, offset, metadata. ReplicationPolicy#checkpointsTopic ends so.
SUFFIX = ".checkpoints.internal"
_LENGTH, _PARTITION, _VALUE = Struct(">h"), Struct(">i"), Struct(">hqq")
_VERSION = 0


class Checkpoint(NamedTuple):
    """The offset of a group at the source, and in the mirror. `topic` is the name in the mirror."""

    group: str
    topic: str
    partition: int
    source_offset: int
    target_offset: int


def checkpoint_of(key: bytes | None, value: bytes | None) -> Checkpoint | None:
    """Return the checkpoint of a record; None if it is none."""
    if key is None or value is None or len(value) < _VALUE.size:
        return None
    version, source, target = _VALUE.unpack_from(value)
    try:
        group, at = _text(key, 0)
        topic, at = _text(key, at)
    except (ValueError, IndexError):
        return None
    if version != _VERSION or at + _PARTITION.size != len(key):
        return None
    return Checkpoint(group, topic, _PARTITION.unpack_from(key, at)[0], source, target)


def _text(data: bytes, at: int) -> tuple[str, int]:
    """Return a text and where it ends. Raises ValueError."""
    begin = at + _LENGTH.size
    if begin > len(data):
        raise ValueError("cut")
    end = begin + _LENGTH.unpack_from(data, at)[0]
    if not begin <= end <= len(data):
        raise ValueError("cut")
    return data[begin:end].decode(), end
