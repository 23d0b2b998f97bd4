"""Names of topic ids in rows of the per-flow stage, which has only the names that stand on the wire.

An exchange may name a topic by an id whose name is in another connection, or in a later exchange. The
per-capture-set stage knows all names of a capture set, and rows are completed when they are written.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Iterable
from json import dumps
from typing import Any

import pyarrow as pa

from kdissect.engine.records.internal_forms import own_record
from kdissect.engine.records.record_fields import SCHEMA_COLUMNS
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.record_batch import Record
from kdissect.schema.logs import is_own_log
from kdissect.session.exchange import Exchange
from kdissect.stages.forwarding import NAMES
from kdissect.stages.replay import replay

WITH_NAMES = frozenset({"exchanges", "topic_partitions", "batches", "records"})
_PADDING = b"=="  # 16 bytes take 22 letters


class Names:
    """Names that complete rows. Picklable, so that every task gets one."""

    def __init__(self, known: TopicNames | None = None) -> None:
        self.topics = known or TopicNames()
        self._addresses: dict[str, str] = {}

    def learn(self, forwarded: Iterable[tuple[bytes, bytes]]) -> None:
        """Take forwarded events (`event_order`, blob) that contain names, and skip other events."""
        for order, blob in forwarded:
            if not order.startswith(NAMES):
                continue
            for event, _ in replay([blob]):
                if isinstance(event, Exchange):
                    self._addresses[event.connection.broker_text] = event.connection.broker_address
                    self.topics.learn(event)

    def name(self, capture_set: str, broker: str, topic_id: str) -> str | None:
        """Return the name of an id as rows have it, on a connection to a broker as rows have it."""
        raw = urlsafe_b64decode(topic_id.encode() + _PADDING)
        return self.topics.name_at(capture_set, self._addresses.get(broker, broker), raw)

    def complete(self, table: str, batch: Any, again: bool = False) -> Any:
        """Return a record batch of a table with the names of its topic ids.

        `again`: rows may have some of them already, which are to stand as if all had been known.
        """
        if table not in WITH_NAMES or not batch.num_rows:
            return batch
        if table == "exchanges":
            return self._exchanges(batch, again)
        named = self._sections(batch)
        return _with_own_records(named) if table == "records" else named

    def _exchanges(self, batch: Any, again: bool) -> Any:
        columns = ("capture_set", "broker", "topics", "topic_ids")
        rows = zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
        return _replaced(batch, "topics", [self._topics(*row, again=again) for row in rows])

    def _topics(
        self, capture_set: str, broker: str, topics: list[str], ids: list[str], *, again: bool
    ) -> list[str]:
        told = (self.name(capture_set, broker, topic_id) for topic_id in ids)
        names = dict.fromkeys(name for name in told if name is not None)
        if again and len(topics) < len(names) and names.keys() >= set(topics):
            # the existing names came from ids: with the added ones, in the order of the ids
            return list(names)
        return list(dict.fromkeys(topics) | names)

    def _sections(self, batch: Any) -> Any:
        columns = ("capture_set", "broker", "topic", "topic_id")
        rows = zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
        names = [
            topic if topic is not None or topic_id is None else self.name(capture_set, broker, topic_id)
            for capture_set, broker, topic, topic_id in rows
        ]
        return _replaced(batch, "topic", names)


def _with_own_records(batch: Any) -> Any:
    """Decode records of Kafka's own topics whose name was not known before, and mask their secrets.

    Kafka's own records have no schema ids.
    """
    topics = batch.column("topic").to_pylist()
    own = [place for place, topic in enumerate(topics) if is_own_log(topic)]
    if not own:
        return batch
    columns = {name: batch.column(name).to_pylist() for name in ("key", "value", "decoded")}
    control = batch.column("control").to_pylist()
    for place in own:
        if columns["decoded"][place] is not None or control[place] is not None:
            continue
        record = Record(0, 0, columns["key"][place], columns["value"][place])
        found = own_record(topics[place], record, False, False)
        if found is not None:
            columns["decoded"][place] = dumps({"key": found.key, "value": found.value}, ensure_ascii=False)
            columns["key"][place] = found.key_mask or record.key
            columns["value"][place] = found.value_mask or record.value
    for name in SCHEMA_COLUMNS:
        columns[name] = batch.column(name).to_pylist()
        for place in own:
            columns[name][place] = None
    for name, values in columns.items():
        batch = _replaced(batch, name, values)
    return batch


def _replaced(batch: Any, name: str, values: list[Any]) -> Any:
    place = batch.schema.get_field_index(name)
    field = batch.schema.field(place)
    return batch.set_column(place, field, pa.array(values, field.type))
