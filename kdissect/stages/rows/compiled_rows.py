"""Rows of exchanges without anything unusual as columns, made by the compiled part (native/src/tables)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kdissect.decoders.bodies import request_summarizer, response_summarizer
from kdissect.decoders.generated.summary import NO_SUMMARY, Summary
from kdissect.engine.exchange_rows import More, TopicsOf, more_of, topic_id_text, union
from kdissect.engine.records.compiled_records import rest_fits, way_to_batches
from kdissect.engine.tables.all_tables import TABLES
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.engine.transfer_rows import transfer_rows
from kdissect.history.api_keys import FETCH, PRODUCE
from kdissect.history.topics.topic_names import ANNOUNCING, DESCRIBE_CLUSTER, FETCH_SNAPSHOT, TopicNames
from kdissect.model.native import native
from kdissect.schema.error_codes import error_name
from kdissect.schema.logs import may_be_metadata_topic
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo

Buffers = dict[str, list[bytes | None]]
_KAFKA, _COMPLETE, _SILENT = ExchangeKind.KAFKA, State.COMPLETE, State.NO_RESPONSE_EXPECTED
# How long facts hold for the same summaries, as native/src/tables/asked.rs numbers it.
_NOT, _WHILE_NAMES_STAY, _ALWAYS = range(3)
# Equal values in all rows of this module: lists are empty, other fields are null.
_CONSTANT = {"kind": str(_KAFKA)}


class CompiledRows:
    """Takes exchanges, and gives batches of the tables `NAMES` that are wanted. Compiled only."""

    NAMES = ("exchanges", "topic_partitions", "batches")

    def __init__(
        self,
        files: Sequence[str],
        wanted: frozenset[str],
        topics_of: TopicsOf,
        name_of: Callable[[Exchange, bytes], str | None],
        names: TopicNames | None = None,
    ) -> None:
        self._topics_of = topics_of
        self._name_of = name_of
        self._names = names
        exchanges, partitions, batches = (name in wanted for name in self.NAMES)
        asked = (
            _fields_of, _connection_of, _kind_of if "records" not in wanted else _kind_without_records,
            self._facts_of, self._name, topic_id_text, files.__getitem__, rest_fits, self._changes,
            error_name,
        )  # fmt: skip
        looks = not wanted.isdisjoint({"anomalies", "records"})
        wants, told = (exchanges, partitions, batches, looks), None if names is None else names.told_before
        self._tables = native.ExchangeTables(asked, wants, told)
        self.add = self._tables.add
        """Add the rows of an exchange; Return False and add no row if it is unusual."""
        self.add_block = self._tables.add_block
        """Add the rows of a block's exchanges from one on, with the number of its file, up to a limit.
        Return the next exchange for Python, or the number of exchanges."""
        self.rows = self._tables.rows
        """How many rows there are of a table."""

    def take(self, table: str) -> Any:
        """Return the rows of a table as a record batch, and empty the table."""
        rows = self.rows(table)
        buffers = dict(self._tables.take(table))
        schema = arrow_schema(TABLES[table])
        arrays = [_array(field.type, field.name, rows, buffers) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _facts_of(
        self, exchange: Exchange, asked: Summary, answered: Summary | None
    ) -> tuple[list[str], list[str], list[str], int, More]:
        """Return topics, topic ids and errors, how long they are the same for the same summaries, and groups,
        throttle time and rack, which always are.
        """
        answered = answered or NO_SUMMARY
        topics = self._topics_of(exchange, asked, answered)
        ids = union(asked.topic_ids, answered.topic_ids)
        key = exchange.api_key
        lasting = _ALWAYS
        if key == DESCRIBE_CLUSTER:
            lasting = _NOT
        elif ids and self._names is not None:
            lasting = _NOT if key in ANNOUNCING else _WHILE_NAMES_STAY
        texts = [topic_id_text(raw) for raw in ids]
        errors = [error_name(code) for code in answered.errors]
        return list(topics), texts, errors, lasting, more_of(asked, answered)

    def _name(self, exchange: Exchange, topic_id: bytes) -> tuple[str | None, bool]:
        """Return the name of a topic id, and whether all exchanges with the broker have it."""
        name = self._name_of(exchange, topic_id)
        return name, name is not None or not may_be_metadata_topic(topic_id)

    def _changes(self) -> int:
        return 0 if self._names is None else self._names.changes


def _fields_of(exchange: Exchange) -> tuple[Any, ...] | None:
    """Return the values that rows need of an exchange; None for an unusual one."""
    # Hot, once an exchange.
    request, response, state = exchange.request, exchange.response, exchange.state
    if (
        request is None or request.anomalies or exchange.anomalies or exchange.close
        or exchange.kind is not _KAFKA or len(request.data) != request.size or request.is_logged
    ):  # fmt: skip
        return None
    answered = None
    if response is not None:
        if state is not _COMPLETE or response.anomalies or len(response.data) != response.size:
            return None
        answered = (
            response.data, exchange.response_body_offset, response.first_ref, response.last_ref,
            response.time_ns, response.end_time_ns,
        )  # fmt: skip
    elif state is not _SILENT:
        return None
    return (
        exchange.connection,
        (
            exchange.ordinal, exchange.api_key, exchange.api_version, exchange.correlation_id,
            exchange.client_id,
        ),
        (
            request.data, exchange.request_body_offset, request.first_ref, request.last_ref,
            request.time_ns, request.end_time_ns,
        ),
        answered,
    )  # fmt: skip


def _connection_of(info: ConnectionInfo) -> tuple[str | None, ...]:
    return (
        info.id, info.capture_set, info.client_text, info.broker_text, info.same_as, info.broker_address,
        info.software, info.principal, info.proxied_text,
    )  # fmt: skip


def _kind_of(api_key: int, api_version: int) -> tuple[Any, ...]:
    """Return the name, whether the API may contain names of topic ids, summarizers, the form of partitions in
    both bodies, and the side with records.
    """
    transfers = transfer_rows(api_key, api_version) if api_key in (PRODUCE, FETCH) else None
    return (
        api_name(api_key),
        api_key in ANNOUNCING or api_key == FETCH_SNAPSHOT,
        (request_summarizer(api_key, api_version, True), response_summarizer(api_key, api_version, True)),
        transfers,
        way_to_batches(api_key, api_version),
    )  # fmt: skip


def _kind_without_records(api_key: int, api_version: int) -> tuple[Any, ...]:
    """Return the same where the records of exchanges are wanted themselves, which Python reads."""
    *kind, _ = _kind_of(api_key, api_version)
    return *kind, way_to_batches(api_key, api_version, needs_slow_path=True)


def _array(kind: Any, name: str, rows: int, buffers: Buffers) -> Any:
    """Return a column of buffers, by its name."""
    if pa.types.is_struct(kind):
        return _struct(kind, name, rows, buffers)
    own = buffers.get(name)
    if own is None:
        return _same(kind, name, rows)
    if pa.types.is_list(kind):
        ends: bytes = own[1] or b""
        count = int.from_bytes(ends[-4:], "little")
        items = _array(kind.value_type, f"{name}.item", count, buffers)
        return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(ends)], children=[items])
    return _flat(kind, rows, own)


def _struct(kind: Any, name: str, rows: int, buffers: Buffers) -> Any:
    """Return a struct, which is null where its times are."""
    if not any(known.startswith(f"{name}.") for known in buffers):
        return pa.nulls(rows, kind)
    frame = buffers[f"{name.split('.', 1)[0]}.time_ns"]
    children = [_array(field.type, f"{name}.{field.name}", rows, buffers) for field in kind]
    valid = None if frame[0] is None else pa.py_buffer(frame[0])
    return pa.Array.from_buffers(kind, rows, [valid], children=children)


def _same(kind: Any, name: str, rows: int) -> Any:
    """Return a column of one value."""
    if name in _CONSTANT:
        return pa.repeat(pa.scalar(_CONSTANT[name], kind), rows)
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(
            pa.array([0] * (rows + 1), pa.int32()), pa.nulls(0, kind.value_type), type=kind
        )
    return pa.nulls(rows, kind)


def _flat(kind: Any, rows: int, buffers: Sequence[bytes | None]) -> Any:
    return pa.Array.from_buffers(
        kind, rows, [None if each is None else pa.py_buffer(each) for each in buffers]
    )
