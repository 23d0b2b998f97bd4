"""Rows of single connections: connections, exchanges, topic partitions, batches, records, anomalies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from kdissect.decoders.compression.codec import codec_name
from kdissect.decoders.generated.values import sent
from kdissect.decoders.listed_partitions import topic_namer
from kdissect.decoders.records.records_fields import RecordsField
from kdissect.engine.connection_rows import connection_row
from kdissect.engine.exchange_rows import Row, topic_id_text, wire_topics
from kdissect.engine.half_open import was_one_syn
from kdissect.engine.listed_rows import ListedRows
from kdissect.engine.records.record_rows import RecordRows, record_topic, timestamp_type
from kdissect.engine.records.record_sets import RecordSet, record_sets
from kdissect.engine.records.record_values import RecordValues
from kdissect.engine.records.row_tables import arrow_row
from kdissect.engine.records.snapshot_pieces import SnapshotPieces
from kdissect.engine.segments.segment_rows import batch_attributes, millis
from kdissect.engine.tables.all_tables import TABLES
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.anomaly import Anomaly
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.packet import FILE_SHIFT, NUMBER_MASK
from kdissect.model.record_batch import RecordBatch
from kdissect.schema.error_codes import error_name
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stages.rows.compiled_rows import CompiledRows
from kdissect.stages.rows.record_columns import RecordColumns
from kdissect.stages.rows.table_rows import DAY_NS, TableRows, batch_of, counts, when
from kdissect.stages.rows.timestamps import US

_VARYING = ("connection", "client", "broker", "capture_set", "start_ns", "event_order")


class OneSynRows:
    """Takes connections, and gives batches of their rows.

    `row_of` returns the row of one connection: all columns take their common values from the first row.
    """

    def __init__(self, row_of: Callable[[ConnectionInfo, bytes], Row]) -> None:
        self._row_of = row_of
        self._first: Any = None
        """The row of the first one, as a batch."""
        self._rows: list[tuple[str, str, str, str, int, bytes, str | None]] = []

    def add(self, info: ConnectionInfo, order: bytes) -> bool:
        """Add the row of a connection; return False, without adding it, if the connection has more than a
        SYN.
        """
        # Hot: a separate row costs ten times more.
        if not was_one_syn(info) or info.names or info.close is None:
            return False
        if self._first is None:
            self._first = batch_of(TABLES["connections"], [self._row_of(info, order)])
        self._rows.append((*info.id_and_ends(), info.capture_set, info.start_ns, order, info.close.how.value))
        return True

    def rows(self, _table: str) -> int:
        """Return how many rows there are."""
        return len(self._rows)

    def take(self, _table: str) -> Any:
        """Return the rows as a record batch, and forget them."""
        rows, self._rows = self._rows, []
        *varying, hows = zip(*rows, strict=True)
        columns: dict[str, Sequence[Any]] = dict(zip(_VARYING, varying, strict=True))
        columns["start"] = [start_ns // US for start_ns in columns["start_ns"]]
        columns["day"] = [start_ns // DAY_NS for start_ns in columns["start_ns"]]
        schema = self._first.schema
        arrays = []
        for place, field in enumerate(schema):
            if field.name in columns:
                arrays.append(pa.array(columns[field.name], field.type))
            elif field.name == "closed":
                by, how = pa.nulls(len(rows), pa.string()), pa.array(hows, pa.string())
                arrays.append(pa.StructArray.from_arrays([by, how], fields=list(field.type)))
            else:
                arrays.append(pa.repeat(self._first.column(place)[0], len(rows)))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


_BY_RECORDS = frozenset({"topic_partitions", "batches", "records", "anomalies"})
_OF_EXCHANGES = _BY_RECORDS | {"exchanges"}
# Numbers of anomalies in records: each records field has its own range of numbers.
_SECTION_SHIFT = 16


class ExchangeTables:
    """Puts the rows of each event into `rows`. `files` are the inputs' names by file index.

    Without `names` rows have the names of topics that stand on the wire alone, and that of the metadata log,
    whose id never changes: see `stages.topic_names`.
    """

    def __init__(
        self,
        files: Sequence[str],
        rows: TableRows,
        names: TopicNames | None = None,
        values: RecordValues | None = None,
    ) -> None:
        self._files = files
        self._names = names or TopicNames()
        self._rows = rows
        self._wanted = rows.tables
        topics_of = wire_topics if names is None else names.topics_of
        self._exchanges = ListedRows(files, topics_of=topics_of)
        topic_name = self._names.of_records
        self._records = RecordRows(
            files, "raw", "raw", topic_name=topic_name, values=values or RecordValues()
        )
        compiled = None
        if is_compiled and not rows.tables.isdisjoint(_OF_EXCHANGES):
            compiled = CompiledRows(files, rows.tables, topics_of, self._name_in, names)
        columns = None
        if is_compiled and "records" in rows.tables and values is not None and values.schemas is not None:
            columns = RecordColumns(files, topic_name, values, values.schemas)
        rows.keep_in(compiled, OneSynRows(_connection_row), columns)

    def exchange(self, exchange: Exchange, order: bytes, pieces: SnapshotPieces) -> None:
        """Add the rows of an exchange; `pieces` belong to its connection, perhaps also to other ones."""
        # The native engine has one `same_as` for all exchanges of a connection.
        if exchange.connection.share is None and self._rows.exchange(exchange, order):
            return
        if "exchanges" in self._wanted:
            row = _exchange_row(self._exchanges.row(exchange), order)
            self._rows.add("exchanges", row | {"same_as": exchange.connection.same_as})
        if "anomalies" in self._wanted:
            self._anomalies(exchange.connection, "exchange", exchange.ordinal, exchange.all_anomalies())
        if self._wanted & _BY_RECORDS:
            self._record_sets(exchange, order, pieces)

    def exchange_block(self, block: native.ExchangeBlock, start: int, number_of: Callable[[int], int]) -> int:
        """Add the rows of a block's exchanges, from one on, and return the number of the next one for
        `exchange`, or the block's length. `number_of` gives for a file its number in its capture set.
        """
        if self._wanted.isdisjoint(_OF_EXCHANGES):
            return len(block)
        return self._rows.exchange_block(block, start, number_of)

    def connection(self, info: ConnectionInfo, order: bytes) -> None:
        """Add the rows of a connection that is over."""
        if "connections" in self._wanted and not self._rows.connection(info, order):
            self._rows.add("connections", _connection_row(info, order))
        if "anomalies" in self._wanted:
            self._anomalies(info, "connection", None, info.anomalies)

    # records

    def _record_sets(self, exchange: Exchange, order: bytes, pieces: SnapshotPieces) -> None:
        errors: dict[Any, int] | None = None
        for number, records in enumerate(record_sets(exchange)):
            pieces.join(records)
            if errors is None:
                errors = _errors(exchange)
            head = self._head(records, number) | {"event_order": order}
            self._record_set(records, head, errors)

    def _record_set(self, records: RecordSet, head: Row, errors: dict[Any, int]) -> None:
        field, batches = records.records_field, records.found.batches
        rows = self._rows
        if "topic_partitions" in self._wanted:
            named: str | bytes | None = field.topic if field.topic is not None else field.topic_id
            code = errors.get((named, field.partition))
            rows.add("topic_partitions", head | _partition_row(records, code))
        if "batches" in self._wanted:
            for index, batch in enumerate(batches):
                rows.add("batches", head | _batch_row(index, batch))
        if "records" in self._wanted and not rows.records(records, head):
            for row in self._records.rows(records, []):
                size = (row["key_bytes"] or 0) + (row["value_bytes"] or 0)
                rows.add("records", arrow_row(row) | head, size)
        if "anomalies" in self._wanted:
            faults = [(index, fault) for index, batch in enumerate(batches) for fault in batch.faults]
            exchange, first = records.exchange, head["section"] << _SECTION_SHIFT
            found = records.anomalies(faults) if faults or records.found.faults else ()
            self._anomalies(exchange.connection, "records", exchange.ordinal, found, first)

    def _head(self, records: RecordSet, number: int) -> Row:
        exchange, field, frame = records.exchange, records.records_field, records.frame
        info = exchange.connection
        row: Row = {
            "capture_set": info.capture_set,
            "connection": info.id,
            "exchange": exchange.ordinal,
            "direction": records.direction,
            "client": info.client_text,
            "broker": info.broker_text,
            "client_id": exchange.client_id,
            "file": self._files[frame.first_ref >> FILE_SHIFT],
            "packet": frame.first_ref & NUMBER_MASK,
            "topic": record_topic(records, self._names.of_records),
            "topic_id": None if field.topic_id is None else topic_id_text(field.topic_id),
            "partition": field.partition,
            "section": number,
        }
        return when(row, frame.time_ns)

    def _name_in(self, exchange: Exchange, topic_id: bytes) -> str | None:
        """Return the topic of an id in the records of an exchange."""
        frame = exchange.response or exchange.request
        assert frame is not None
        records_field = RecordsField(None, topic_id, None, None, 0, 0)
        return record_topic(
            RecordSet(exchange, frame is exchange.response, frame, records_field), self._names.of_records
        )

    # anomalies

    def _anomalies(
        self, info: ConnectionInfo, scope: str, ordinal: int | None, found: Sequence[Anomaly], first: int = 0
    ) -> None:
        for index, anomaly in enumerate(found, first):
            row = anomaly_row(anomaly, self._files)
            row |= {"capture_set": info.capture_set, "scope": scope, "index": index}
            self._rows.add("anomalies", row | {"connection": info.id, "exchange": ordinal})


def anomaly_row(anomaly: Anomaly, files: Sequence[str]) -> Row:
    """Return an anomaly with its place, where it has one."""
    file, number = anomaly.ref >> FILE_SHIFT, anomaly.ref & NUMBER_MASK
    is_placed = number > 0 and file < len(files)
    return {
        "kind": str(anomaly.kind),
        "detail": anomaly.detail,
        "file": files[file] if is_placed else None,
        "packet": number if is_placed else None,
        "time_ns": anomaly.time_ns or None,
    }


def _connection_row(info: ConnectionInfo, order: bytes) -> Row:
    row = connection_row(0, info)
    row["event_order"] = order
    row["day"] = info.start_ns // DAY_NS
    row["cluster"] = info.named_cluster
    row["anomalies"] = counts(row["anomalies"])
    if row["tls"] is not None:
        row["tls"]["alerts"] = counts(row["tls"]["alerts"])
    return row


def _exchange_row(row: Row, order: bytes) -> Row:
    frame = row["request"] or row["response"]
    row["event_order"] = order
    return when(row, None if frame is None else frame["time_ns"])


def _partition_row(records: RecordSet, code: int | None) -> Row:
    batches, field = records.found.batches, records.records_field
    row = {
        "error": error_name(code) if code else None,
        "batches": len(batches),
        "records": sum(batch.count or 0 for batch in batches),
        "bytes": max(0, records.end - field.start),
        "first_offset": batches[0].base_offset if batches else None,
        "last_offset": batches[-1].last_offset if batches else None,
    }
    return arrow_row(row)


def _batch_row(index: int, batch: RecordBatch) -> Row:
    row: Row = {
        "bytes": batch.size,
        "batch": index,
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "count": batch.count,
        "magic": batch.magic,
        "codec": codec_name(batch.codec),
        "timestamp_type": timestamp_type(batch),
        "base_timestamp_ms": millis(batch.base_timestamp),
        "max_timestamp_ms": millis(batch.max_timestamp),
        **batch_attributes(batch),
        "faults": [str(fault) for fault in batch.faults if fault.path != "crc"],
    }
    return arrow_row(row)


def _errors(exchange: Exchange) -> dict[Any, int]:
    """Return error codes of the response by topic (name or id) and partition."""
    view = ExchangeView(exchange)
    found: dict[Any, int] = {}
    named = topic_namer(view.key, view.version, True)
    for topic in sent(view.response, "responses", None) or ():
        for number, row in _partition_rows(topic):
            found[named(topic), number] = row.error_code
    return found


def _partition_rows(topic: Any) -> Iterator[tuple[int, Any]]:
    for row in sent(topic, "partition_responses", None) or ():
        yield row.index, row
    for row in sent(topic, "partitions", None) or ():
        yield row.partition_index, row
