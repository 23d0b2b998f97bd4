"""Records fields to Arrow tables of `arrow_schema`, in the order of `RecordRows`, without an object per
record.

Needs numpy and pyarrow (extra `arrow`).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kdissect.decoders.records.columns import Spans
from kdissect.engine.arrow_values import (
    bytes_array,
    fitted,
    in_order_of_use,
    numbers_array,
    strings_array,
    values_array,
)
from kdissect.engine.field_columns import FieldColumns
from kdissect.engine.record_groups import RecordGroup, decode_groups
from kdissect.engine.records.held_fields import HeldFields
from kdissect.engine.records.record_rows import TopicNames
from kdissect.engine.records.record_schema import arrow_schema
from kdissect.engine.records.row_tables import RowTables
from kdissect.engine.section_columns import SECTION_COLUMNS, Sections
from kdissect.model.anomaly import Anomaly
from kdissect.model.record_batch import CODEC_NAMES, LOG_APPEND_TIME, MAX_SEQUENCE, NO_SEQUENCE, TRANSACTIONAL


class RecordTables:
    """Fields are given to `held` in their order; `close()` gives tables of them, when there are enough and at
    the end.

    `forms` are those of key and value (None: binary), `columns` names what is wanted (none: everything);
    `report` is told what does not fit.
    """

    def __init__(
        self,
        files: Sequence[str],
        forms: tuple[str | None, str | None],
        report: Callable[[list[Anomaly]], None],
        show_secrets: bool = False,
        topic_name: TopicNames | None = None,
        columns: Sequence[str] = (),
    ) -> None:
        self.schema = arrow_schema(*forms, columns)
        self._files = files
        self._forms = forms
        self._topic_name = topic_name
        self._slow = RowTables(self.schema, files, forms, report, show_secrets, topic_name)
        self.held = HeldFields()
        """What waits to be decoded; it says when there is enough."""
        self._count = 0

    def close(self) -> Iterator[Any]:
        """Decode what is held."""
        fields = FieldColumns(self.held, self._topic_name)
        self.held = HeldFields()
        for group in decode_groups(fields):
            yield from self._tables(group, fields)

    def _tables(self, group: RecordGroup, fields: FieldColumns) -> Iterator[Any]:
        """The tables of a group: rows by columns, interrupted by the fields that do not go that way."""
        rows = _Rows(group, fields, self._files, self._forms)
        table = rows.table(self.schema)
        done = 0
        for index in (np.flatnonzero(~group.fits[group.first : group.stop]) + group.first).tolist():
            stop = int(np.searchsorted(rows.section, index))
            yield from self._numbered(table.slice(done, stop - done))
            done = stop
            for part in self._slow.tables(fields.record_set(index)):
                yield from self._numbered(part)
        yield from self._numbered(table.slice(done))

    def _numbered(self, table: Any) -> Iterator[Any]:
        if not table.num_rows:
            return
        place = table.schema.get_field_index("number")
        if place >= 0:
            numbers = numbers_array(np.arange(self._count + 1, self._count + 1 + table.num_rows))
            table = table.set_column(place, self.schema.field(place), numbers)
        self._count += table.num_rows
        for place, field in enumerate(self.schema):
            if pa.types.is_dictionary(field.type):
                table = table.set_column(place, field, in_order_of_use(table.column(place)))
        yield table


class _Rows:
    """The columns of a group; each is made only when it is asked for."""

    def __init__(
        self,
        group: RecordGroup,
        fields: FieldColumns,
        files: Sequence[str],
        forms: tuple[str | None, str | None],
    ) -> None:
        columns, header = group.columns, group.batches.header
        kept = group.fits[group.batches.section[columns.batch]]
        self._kept = None if kept.all() else kept
        self._group = group
        self._columns = columns
        self._forms = forms
        self._batch = self._row(columns.batch)
        self._header = header
        self.section = group.batches.section[self._batch]
        self._sections = Sections(fields, self.section, files)

    def table(self, schema: Any) -> Any:
        """All columns of a schema."""
        arrays = []
        for field in schema:
            make = SECTION_COLUMNS.get(field.name)
            array = make(self._sections) if make else getattr(self, f"_make_{field.name}")()
            arrays.append(array if array.type == field.type else fitted(array, field.type))
        return pa.Table.from_arrays(arrays, schema=schema)

    def _row(self, values: Any) -> Any:
        return values if self._kept is None else values[self._kept]

    def _of_batch(self, name: str) -> Any:
        """A header's field for each row."""
        return self._header[name].astype(np.int64)[self._batch]

    def _nullable(self, values: Any, null: Any) -> Any:
        return numbers_array(values, null)

    def _small(self, values: Any, dtype: Any, null: Any = None) -> Any:
        return numbers_array(values.astype(dtype), null)

    def _make_number(self) -> Any:
        return numbers_array(np.zeros(len(self._batch), np.int64))  # given when the order is known

    def _make_batch(self) -> Any:
        section = self._group.batches.section
        index = np.arange(len(section)) - np.searchsorted(section, section)
        return self._small(index[self._batch], np.int32)

    def _make_record(self) -> Any:
        first = np.searchsorted(self._batch, self._batch)
        return self._small(np.arange(len(self._batch)) - first, np.int32)

    def _make_offset(self) -> Any:
        return numbers_array(self._of_batch("base_offset") + self._row(self._columns.offset_delta))

    def _millis(self) -> Any:
        times = self._of_batch("base_timestamp") + self._row(self._columns.timestamp_delta)
        appended = (self._of_batch("attributes") & LOG_APPEND_TIME).astype(np.bool_)
        times = np.where(appended, self._of_batch("max_timestamp"), times)
        return self._nullable(times, times == -1)

    def _make_timestamp(self) -> Any:
        return self._millis().view(pa.timestamp("ms", "UTC"))

    def _make_timestamp_ms(self) -> Any:
        return self._millis()

    def _make_timestamp_type(self) -> Any:
        appended = (self._of_batch("attributes") & LOG_APPEND_TIME).astype(np.bool_)
        names = strings_array(["create_time", "log_append_time"])
        return pa.DictionaryArray.from_arrays(numbers_array(appended.astype(np.int32)), names)

    def _make_key(self) -> Any:
        return self._values(self._columns.key, self._forms[0])

    def _make_value(self) -> Any:
        return self._values(self._columns.value, self._forms[1])

    def _values(self, spans: Any, form: str | None) -> Any:
        if self._kept is not None:  # views cannot be filtered: choose before
            spans = Spans(spans.start[self._kept], spans.length[self._kept])
        return values_array(self._group.data, spans, form)

    def _make_headers(self) -> Any:
        columns = self._columns
        keys = values_array(self._group.data, columns.header_key, "text")
        form, data = self._forms[1], self._group.data
        if form is None:
            values = bytes_array(data, columns.header_value, pa.binary())
        else:
            values = values_array(data, columns.header_value, form)
        offsets = np.concatenate(([0], np.cumsum(columns.header_count))).astype(np.int32)
        pairs = pa.StructArray.from_arrays([keys, values], ["key", "value"])
        array = pa.ListArray.from_arrays(numbers_array(offsets), pairs)
        return array if self._kept is None else array.filter(numbers_array(self._kept))

    def _make_key_bytes(self) -> Any:
        length = self._row(self._columns.key.length)
        return self._small(length, np.int32, length < 0)

    def _make_value_bytes(self) -> Any:
        length = self._row(self._columns.value.length)
        return self._small(length, np.int32, length < 0)

    def _make_producer_id(self) -> Any:
        ids = self._of_batch("producer_id")
        return self._nullable(ids, ids == -1)

    def _make_producer_epoch(self) -> Any:
        none = self._of_batch("producer_id") == -1
        return self._small(self._of_batch("producer_epoch"), np.int16, none)

    def _make_sequence(self) -> Any:
        base = self._of_batch("base_sequence")
        sequence = base + self._row(self._columns.offset_delta)
        sequence = np.where(sequence > MAX_SEQUENCE, sequence - MAX_SEQUENCE - 1, sequence)
        return self._small(sequence, np.int32, base == NO_SEQUENCE)

    def _make_transactional(self) -> Any:
        return numbers_array((self._of_batch("attributes") & TRANSACTIONAL).astype(np.bool_))

    def _make_control(self) -> Any:
        return pa.nulls(len(self._batch), pa.string())  # control records go the other way

    def _make_codec(self) -> Any:
        return pa.DictionaryArray.from_arrays(
            numbers_array((self._of_batch("attributes") & 7).astype(np.int32)), strings_array(CODEC_NAMES)
        )

    def _make_magic(self) -> Any:
        return numbers_array(np.full(len(self._batch), 2, np.int8))

    def _make_leader_epoch(self) -> Any:
        epochs = self._of_batch("leader_epoch")
        return self._small(epochs, np.int32, epochs < 0)

    def _make_crc_ok(self) -> Any:
        return numbers_array(np.ones(len(self._batch), np.bool_))

    def _make_acquired(self) -> Any:
        return pa.nulls(len(self._batch), pa.bool_())  # records of ShareFetch go the other way

    def _make_delivery_count(self) -> Any:
        return pa.nulls(len(self._batch), pa.int16())

    def _make_decoded(self) -> Any:
        return pa.nulls(len(self._batch), pa.string())
