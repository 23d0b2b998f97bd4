"""The parts of records that may have personal data: keys, values and headers."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from kdissect.engine.records.record_values import RecordValues
from kdissect.model.record_batch import Header, Record
from kdissect.personal.contents import Content, Decode, examine, masked


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
    """Examines the parts of records. `values` decodes them with the user's schemas."""

    def __init__(self, values: RecordValues) -> None:
        self._schemas = values.schemas

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
            None if content is None else self._masked(content, self._decode(topic, record.headers, is_key))
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

    def _masked(self, content: bytes, decode: Decode | None) -> bytes:
        return masked(examine(content, "", decode), decode)

    def _decode(self, topic: str | None, headers: tuple[Header, ...], is_key: bool) -> Decode | None:
        schemas = self._schemas
        if schemas is None:
            return None

        def decode(data: bytes) -> Any:
            reading = schemas.read(topic, data, headers, is_key)
            return reading.value if reading.is_decoded else None

        return decode


def _text(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode("utf-8", "replace")
