"""Personal data in records and names of clients, replaced by filler of the same length."""

from __future__ import annotations

import re
from functools import partial

from kdissect.engine.records.personal_parts import PersonalParts
from kdissect.engine.records.record_rows import TopicNames, record_topic
from kdissect.engine.records.record_sets import RecordSet
from kdissect.excerpt.batch_redaction import Parts, Redact
from kdissect.model.record_batch import NO_TIMESTAMP, Header, Record
from kdissect.personal.contents import examine, masked
from kdissect.schema.logs import is_own_log

_MEMBER_ID = re.compile(rb"(.+)(-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.DOTALL)


class PersonalRedaction:
    """Removes the personal data that `kdissect personal-data` finds, and no other byte."""

    def __init__(self, parts: PersonalParts, topic_name: TopicNames) -> None:
        self._parts = parts
        self._topic_name = topic_name

    def of_records(self, records: RecordSet) -> Redact | None:
        """Return the function for the records of a field; None if they are Kafka's own."""
        topic = record_topic(records, self._topic_name)
        return None if is_own_log(topic) else partial(self._redacted, topic)

    def name(self, name: bytes) -> bytes:
        """Return a client id, member id or principal without its personal data.

        A member id is a client id and a UUID (Kafka's GroupCoordinator): the two together look like neither.
        """
        found = _MEMBER_ID.fullmatch(name)
        return masked(examine(name)) if found is None else masked(examine(found[1])) + found[2]

    def _redacted(self, topic: str | None, parts: Parts) -> Parts:
        key, value, *headers = parts
        pairs = tuple(
            _header(name, content) for name, content in zip(headers[::2], headers[1::2], strict=True)
        )
        made = self._parts.masked(topic, Record(0, NO_TIMESTAMP, key, value, pairs))
        return [made.key, made.value, *(part for header in made.headers for part in header)]  # type: ignore[list-item]


def _header(name: bytes | None, content: bytes | None) -> Header:
    try:
        return (name or b"").decode(), content
    except UnicodeDecodeError:
        return name or b"", content
