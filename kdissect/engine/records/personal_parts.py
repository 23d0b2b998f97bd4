"""The parts of records that may have personal data: keys, values and headers."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.model.record_batch import Header, Record
from kdissect.personal.contents import Content, Decode, Form, examine, masked
from kdissect.personal.zlib_lengths import zlib_of_length
from kdissect.serdes.contents import content_of
from kdissect.serdes.schema_ids import schema_id

if TYPE_CHECKING:
    from kdissect.serdes.schemas import Schemas


class Part(StrEnum):
    """Where personal data is."""

    KEY = "key"
    VALUE = "value"
    HEADER = "header"
    CLIENT_ID = "client_id"
    PRINCIPAL = "principal"


class ExaminedPart(NamedTuple):
    """A part of a record. `name` is the key of its header, empty for other parts."""

    part: Part
    name: str
    content: Content


class PersonalParts:
    """Examines the parts of records, decoded with the user's schemas if there are some."""

    def __init__(self, schemas: Schemas | None = None) -> None:
        self._schemas = schemas

    def of(self, topic: str | None, record: Record) -> Iterator[ExaminedPart]:
        """Yield the parts that are not null. Raises nothing."""
        for is_key, content in ((True, record.key), (False, record.value)):
            if content is not None:
                decode = self._decode(topic, record.headers, is_key)
                yield ExaminedPart(Part.KEY if is_key else Part.VALUE, "", examine(content, "", decode))
        for name, content in record.headers:
            text = _text(name)
            yield ExaminedPart(Part.HEADER, "*", examine(text.encode()))
            if content is not None:
                yield ExaminedPart(Part.HEADER, text, examine(content, text))

    def masked(self, topic: str | None, record: Record) -> Record:
        """Return the record without its personal data. All parts have the same length. Raises nothing."""
        key, value = (
            None if content is None else self._masked(topic, content, record.headers, is_key)
            for is_key, content in ((True, record.key), (False, record.value))
        )
        headers = tuple(
            (
                masked(examine(name.encode() if isinstance(name, str) else name)),
                None if content is None else masked(examine(content, _text(name))),
            )
            for name, content in record.headers
        )
        return record._replace(key=key, value=value, headers=headers)

    def _masked(self, topic: str | None, content: bytes, headers: tuple[Header, ...], is_key: bool) -> bytes:
        decode = self._decode(topic, headers, is_key)
        examined = examine(content, "", decode)
        if examined.form is Form.SCHEMA and examined.found:
            found = schema_id(content, headers, is_key)
            if found is not None and found.is_zlib:
                made = _masked_inside(content, found.start, decode)
                return masked(examined) if made is None else made
        return masked(examined, decode)

    def _decode(self, topic: str | None, headers: tuple[Header, ...], is_key: bool) -> Decode:
        schemas = self._schemas
        if schemas is None:
            return content_of

        def decode(data: bytes) -> Any:
            reading = schemas.read(topic, data, headers, is_key)
            return reading.value if reading.is_decoded else content_of(data)

        return decode


def _masked_inside(content: bytes, start: int, decode: Decode) -> bytes | None:
    """Return a content whose bytes from `start` on are zlib data, masked inside; None if it does not fit."""
    head = content[:start]

    def decode_inside(data: bytes) -> Any:
        return decode(head + zlib.compress(data))

    inside = masked(examine(zlib.decompress(content[start:]), "", decode_inside), decode_inside)
    made = zlib_of_length(inside, len(content) - start)
    return None if made is None else head + made


def _text(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode("utf-8", "replace")
