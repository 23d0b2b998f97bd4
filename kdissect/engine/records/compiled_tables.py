"""Records fields to Arrow tables, decoded by the compiled hot path.

Needs pyarrow (extra `arrow`) and the compiled hot path.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pyarrow as pa

from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.compression.codec import decompress_usual, growth, usual_growth
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.records_fields import RecordsField, has_pieces
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.engine.records.acquired import SHARE_FETCH
from kdissect.engine.records.record_rows import RecordRows, TopicNames, record_topic
from kdissect.engine.records.record_sets import RecordSet, direction_of, records_side
from kdissect.engine.records.row_tables import arrow_row, in_tables
from kdissect.model.anomaly import Anomaly
from kdissect.model.errors import DecodeError
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.schema.all_fields import has_records
from kdissect.schema.logs import log
from kdissect.session.exchange import Exchange

Buffers = list[bytes | None]
HeldField = tuple[Exchange, Frame, str | None, bytes | None, int, int, int]
"""A records field: topic, its id, partition, where it begins and ends in the frame."""
# What `HeldRecords.take` answers: there is nothing to do; there is enough to `close`; the caller has to look
# for the fields and `add` them.
TAKEN, ENOUGH, LOOK = range(3)


class CompiledTables:
    """Tables of a schema of `arrow_schema` with these forms of key and value.

    `rows` (of `row_tables.table_rows`) makes those of fields that are left to Python; `report` gets what does
    not fit there.
    """

    def __init__(
        self,
        schema: Any,
        forms: tuple[str | None, str | None],
        files: Sequence[str],
        rows: RecordRows,
        report: Callable[[list[Anomaly]], None],
        topic_name: TopicNames | None = None,
    ) -> None:
        self._schema = schema
        self._rows = rows
        self._report = report
        self.held = native.HeldRecords(Help(files, topic_name), *forms)
        """What waits to be decoded; it says when there is enough."""
        self._count = 0

    def close(self) -> Iterator[Any]:
        """Decode what is held."""
        held = self.held
        while (stopped := held.decode()) is not None:
            if held.rows:
                yield self._table()
            if stopped is not True:
                yield from self._by_rows(_record_set(stopped))
        if held.rows:
            yield self._table()

    def _by_rows(self, records: RecordSet) -> Iterator[Any]:
        anomalies: list[Anomaly] = []
        rows = map(arrow_row, self._rows.rows(records, anomalies))
        for table in in_tables(rows, self._schema):
            yield self._numbered(table)
        self._report(anomalies)

    def _table(self) -> Any:
        """What was decoded so far."""
        columns, rows, headers = self.held.columns()
        made = _Columns(dict(columns), rows, headers, self._numbers(rows))
        return pa.Table.from_arrays([made.array(field) for field in self._schema], schema=self._schema)

    def _numbers(self, rows: int) -> Any:
        """The numbers of so many rows more."""
        first = self._count + 1
        self._count += rows
        numbers = array("q", range(first, first + rows))
        return pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(numbers)])

    def _numbered(self, table: Any) -> Any:
        """A table of rows, whose numbers count only what went by rows, with numbers that count all."""
        numbers = self._numbers(table.num_rows)
        place = self._schema.get_field_index("number")
        return table if place < 0 else table.set_column(place, self._schema.field(place), numbers)


def _record_set(found: RecordSet | HeldField) -> RecordSet:
    """A field that has to be read the other way."""
    if isinstance(found, RecordSet):
        return found
    exchange, frame, topic, topic_id, partition, start, end = found
    records_field = RecordsField(topic, topic_id, partition, None, start, end)
    return RecordSet(exchange, frame is exchange.response, frame, records_field)


class Help:
    """What the compiled decoder asks of Python: once a kind, a topic, a connection, or a batch."""

    growth = staticmethod(growth)
    usual_growth = staticmethod(usual_growth)

    def __init__(self, files: Sequence[str], topic_name: TopicNames | None) -> None:
        self._files = files
        self._topic_name = topic_name

    @staticmethod
    def way(api_key: int, api_version: int) -> tuple[bool, Any] | None:
        """The side that has records (True: the response) and its layout.

        None for what Python reads: pieces of snapshots, and records of which the body says which were
        acquired.
        """
        is_response = records_side(api_key)
        if is_response is None:
            return None
        try:
            message = body_message(api_key, api_version, is_response)
        except DecodeError:
            return None
        if not has_records(message):
            return None
        needs_slow_path = api_key == SHARE_FETCH or has_pieces(message)
        return is_response, None if needs_slow_path else native_layout(message, api_version)[0]

    @staticmethod
    def lz4() -> Callable[[bytes], bytes]:
        """The library's function for frames whose content is bounded by their length."""
        from lz4.frame import decompress  # start-up: few captures have all codecs

        return cast("Callable[[bytes], bytes]", decompress)

    @staticmethod
    def zstd() -> Callable[[bytes], bytes]:
        """The library's function for frames that tell their size."""
        from kdissect.decoders.compression.zstd import whole_frames  # start-up: the same

        return whole_frames()

    @staticmethod
    def decompress(data: bytes, codec: int) -> bytes | None:
        """The records of a batch; None where the bytes are not what the codec writes, or grow much."""
        try:
            return decompress_usual(codec, data)
        except DecodeError:
            return None

    @staticmethod
    def rest_fits(data: bytes, start: int, end: int, may_be_cut: bool) -> bool:
        """Whether bytes behind the batches of a field are the beginning of one that may be cut."""
        found = split_batches(data, start, end, may_be_cut=may_be_cut)
        return not found.batches and not found.faults

    direction = staticmethod(direction_of)
    topic_id_text = staticmethod(topic_id_text)

    def file(self, number: int) -> str:
        """The name of an input."""
        return self._files[number]

    def name(self, exchange: Exchange, frame: Frame, topic_id: bytes) -> str | None:
        """The name of a topic id."""
        records_field = RecordsField(None, topic_id, None, None, 0, 0)
        return record_topic(
            RecordSet(exchange, frame is exchange.response, frame, records_field), self._topic_name
        )

    @staticmethod
    def is_own(topic: str) -> bool:
        """Whether a topic is one of Kafka's own."""
        return log(topic) is not None


class _Columns:
    """Arrow arrays of buffers by the names of columns; `headers`: how many there are in all rows."""

    def __init__(self, buffers: dict[str, Buffers], rows: int, headers: int, numbers: Any) -> None:
        self._buffers = buffers
        self._rows = rows
        self._headers = headers
        self._numbers = numbers

    def array(self, field: Any) -> Any:
        """The array of a column."""
        name, kind = field.name, field.type
        if name == "number":
            return self._numbers
        if name == "headers":
            return self._lists(kind)
        buffers = self._buffers.get(_SOURCE.get(name, name))
        if buffers is None:
            return self._constant(name, kind)
        if pa.types.is_dictionary(kind):
            return self._dictionary(kind, buffers)
        return _array(kind, self._rows, buffers)

    def _constant(self, name: str, kind: Any) -> Any:
        """What is the same in all rows that are decoded here."""
        if name not in _CONSTANT:
            return pa.nulls(self._rows, kind)
        return _array(kind, self._rows, [None, _CONSTANT[name] * self._rows])

    def _dictionary(self, kind: Any, buffers: Buffers) -> Any:
        valid, codes, ends, texts = buffers
        known = _array(kind.value_type, len(ends or b"") // 4 - 1, [None, ends, texts])
        return pa.DictionaryArray.from_arrays(_array(kind.index_type, self._rows, [valid, codes]), known)

    def _lists(self, kind: Any) -> Any:
        pairs = kind.value_type
        parts = [
            _array(pairs.field(name).type, self._headers, self._buffers[f"headers.{name}"])
            for name in ("key", "value")
        ]
        structs = pa.StructArray.from_arrays(parts, fields=list(pairs))
        buffers = [None, pa.py_buffer(self._buffers["headers"][1])]
        return pa.Array.from_buffers(kind, self._rows, buffers, children=[structs])


# Columns with the buffers of others, in another unit or none; and those of one value a row: magic 2, and the
# checksum, which is right (eight bits a byte, of which more than enough are there).
_SOURCE = {"time": "time_ns", "timestamp": "timestamp_ms"}
_CONSTANT = {"magic": b"\x02", "crc_ok": b"\xff"}


def _array(kind: Any, count: int, buffers: Buffers) -> Any:
    return pa.Array.from_buffers(
        kind, count, [None if each is None else pa.py_buffer(each) for each in buffers]
    )
