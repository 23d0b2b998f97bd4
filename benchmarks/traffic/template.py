"""Frames encoded once by kafka-python and patched each time they are sent."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from .batches import Batch, Stamp

_correlation = struct.Struct(">i")
_int64 = struct.Struct(">q")
MARK = 0x5EC7_1E55_0000_0000
"""Placeholders of int64 fields: MARK + n, found again in the encoded frame by their eight bytes."""
MARK32 = 0x7A55_10D5
"""Placeholder of the int32 session id of a Fetch."""
SESSION_WITHIN = 128  # it stands in the first bytes of both bodies, before any record
REQUEST_CORRELATION = 8  # behind size, api_key, api_version
RESPONSE_CORRELATION = 4  # behind size


class Template:
    """One frame: bytes with the size prefix, and where to patch it."""

    __slots__ = ("_correlation_at", "api_key", "data", "marks", "records", "session_at", "stamps", "version")

    def __init__(self, api_key: int, version: int, data: bytes, is_request: bool) -> None:
        self.api_key = api_key
        self.version = version
        self.data = data
        self._correlation_at = REQUEST_CORRELATION if is_request else RESPONSE_CORRELATION
        self.marks: list[int] = []
        self.session_at = data.find(_correlation.pack(MARK32), 0, SESSION_WITHIN)
        self.stamps: list[Stamp] = []
        self.records = 0
        self._find_marks()

    def _find_marks(self) -> None:
        """Offsets of MARK + 0, MARK + 1, ..., which lie in this order, up to the first that is missing."""
        at = 0
        while (at := self.data.find(_int64.pack(MARK + len(self.marks)), at)) >= 0:
            self.marks.append(at)

    def find_batches(self, batches: list[tuple[int, Batch]]) -> None:
        """Note where the batches, given in frame order with their partition, lie."""
        position = 0
        for partition, batch in batches:
            position = self.data.index(batch.data, position)
            end = position + len(batch.data)
            self.stamps.append(Stamp(position, end, partition, batch.records, batch.span_ms))
            self.records += batch.records
            position = end

    def take(self, correlation_id: int) -> bytearray:
        """Return a fresh copy with this correlation id."""
        frame = bytearray(self.data)
        _correlation.pack_into(frame, self._correlation_at, correlation_id)
        return frame

    def patch(self, frame: bytearray, mark: int, value: int) -> None:
        """Put `value` where MARK + `mark` was encoded."""
        _int64.pack_into(frame, self.marks[mark], value)


def _container(kind: Any, version: int, values: Mapping[str, Any]) -> Any:
    """kafka-python's object for nested dicts and lists of dicts; fields this version lacks are left out."""
    out = {}
    for name, value in values.items():
        field = kind.fields[name]
        if not field.for_version_q(version):
            continue
        if value is None or not (field.is_struct() or field.is_struct_array()):
            out[name] = value
        elif field.is_struct_array():
            out[name] = [_container(field.data_class, version, item) for item in value]
        else:
            out[name] = _container(field.data_class, version, value)
    return kind(version=version, **out)


def build(kind: Any, version: int, values: Mapping[str, Any], client_id: str | None = None) -> Template:
    """Encode one message of kafka-python's class `kind`, with header and size."""
    message = _container(kind, version, values)
    if kind.is_request():
        message.with_header(0, client_id)
    else:
        message.with_header(0)
    data = bytes(message.encode(header=True, framed=True))
    return Template(kind.API_KEY, version, data, kind.is_request())
