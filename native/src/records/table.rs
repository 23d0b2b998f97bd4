//! Rows of records as columns: the values from `kdissect.engine.records.record_rows`, in Arrow's
//! buffers.

use pyo3::prelude::*;

use super::batch::{Batch, NONE, TRANSACTIONAL};
use super::column::{Blobs, Buffers, Flags, Lists, Numbers, Repeated, Spelled, Values};
use super::field::{GROUP_OUTPUT, MOST_RECORDS};
use super::form::Form;
use super::record_reader::{Header, Place, Record, Records};
use super::row_facts::Shared;
use super::rows::Rows;
use super::schema_values::Decoded;
use crate::json_out::uuid_text;

/// Numbers whose width is that of their column, by the names of `kdissect.engine.records.record_fields.RECORD_FIELDS`.
#[pyclass(module = "kdissect._native")]
#[derive(Default)]
pub struct RecordColumns {
    rows: usize,
    // Values from exchange, frame and field.
    connection: Repeated,
    exchange: Numbers<8>,
    direction: Repeated,
    client: Repeated,
    broker: Repeated,
    client_id: Repeated,
    principal: Repeated,
    software: Repeated,
    file: Repeated,
    packet: Numbers<8>,
    time_ns: Numbers<8>,
    topic: Repeated,
    topic_id: Repeated,
    partition: Numbers<4>,
    // Values from the batch.
    batch: Numbers<4>,
    timestamp_type: Repeated,
    producer_id: Numbers<8>,
    producer_epoch: Numbers<2>,
    transactional: Flags,
    codec: Repeated,
    leader_epoch: Numbers<4>,
    // The records.
    record: Numbers<4>,
    offset: Numbers<8>,
    raw_offset: Numbers<8>,
    timestamp_ms: Numbers<8>,
    key: Blobs,
    value: Values,
    key_bytes: Numbers<4>,
    value_bytes: Numbers<4>,
    sequence: Numbers<4>,
    headers: Headers,
    /// Only if there are schemas: of the value, of the key, and what they hold.
    schemas: Option<Box<Schemas>>,
    // How they are written.
    key_form: Form,
    value_form: Form,
    room: Vec<u8>,
}

#[derive(Default)]
struct Headers {
    count: usize,
    lists: Lists,
    keys: Blobs,
    values: Blobs,
}

#[derive(Default)]
struct Schemas {
    parts: [SchemaColumns; 2],
    decoded: Blobs,
}

#[derive(Default)]
struct SchemaColumns {
    wire_format: Repeated,
    schema_id: Numbers<8>,
    schema_guid: Spelled,
    message_indexes: Spelled,
    schema: Spelled,
}

/// A column with its name.
pub type Named<'py> = (&'static str, Buffers<'py>);

#[pymethods]
impl RecordColumns {
    /// The forms of keys and values are names of `Form`.
    #[new]
    fn new(key_form: Option<&str>, value_form: Option<&str>, with_schemas: bool) -> PyResult<Self> {
        let (key_form, value_form) = (Form::of(key_form)?, Form::of(value_form)?);
        let schemas = with_schemas.then(Box::default);
        Ok(RecordColumns { key_form, value_form, schemas, ..RecordColumns::default() })
    }

    /// Rows in the buffer.
    #[getter]
    fn rows(&self) -> usize {
        self.rows
    }

    /// All columns except those that Python derives from them, and the numbers of rows and headers.
    /// The buffer is then empty.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<(Vec<Named<'py>>, usize, usize)> {
        let mut columns = vec![
            ("connection", self.connection.take(py)),
            ("exchange", self.exchange.take(py)),
            ("direction", self.direction.take(py)),
            ("client", self.client.take(py)),
            ("broker", self.broker.take(py)),
            ("client_id", self.client_id.take(py)),
            ("principal", self.principal.take(py)),
            ("software", self.software.take(py)),
            ("file", self.file.take(py)),
            ("packet", self.packet.take(py)),
            ("time_ns", self.time_ns.take(py)),
            ("topic", self.topic.take(py)),
            ("topic_id", self.topic_id.take(py)),
            ("partition", self.partition.take(py)),
            ("batch", self.batch.take(py)),
            ("timestamp_type", self.timestamp_type.take(py)),
            ("producer_id", self.producer_id.take(py)),
            ("producer_epoch", self.producer_epoch.take(py)),
            ("transactional", self.transactional.take(py)),
            ("codec", self.codec.take(py)),
            ("leader_epoch", self.leader_epoch.take(py)),
            ("record", self.record.take(py)),
            ("offset", self.offset.take(py)),
            ("raw_offset", self.raw_offset.take(py)),
            ("timestamp_ms", self.timestamp_ms.take(py)),
            ("key", self.key.take(py)),
            ("value", self.value.take(py)?),
            ("key_bytes", self.key_bytes.take(py)),
            ("value_bytes", self.value_bytes.take(py)),
            ("sequence", self.sequence.take(py)),
            ("headers", self.headers.lists.take(py)),
            ("headers.key", self.headers.keys.take(py)),
            ("headers.value", self.headers.values.take(py)),
        ];
        if let Some(schemas) = &mut self.schemas {
            schemas.take(py, &mut columns)?;
        }
        Ok((columns, std::mem::take(&mut self.rows), std::mem::take(&mut self.headers.count)))
    }
}

impl Rows for RecordColumns {
    fn is_full(&self) -> bool {
        let size =
            self.key.size() + self.value.size() + self.headers.keys.size() + self.headers.values.size();
        let size = size + self.schemas.as_ref().map_or(0, |schemas| schemas.decoded.size());
        size > GROUP_OUTPUT || self.rows as i64 > MOST_RECORDS
    }

    fn field(&mut self, shared: &Shared<'_>, count: u32) {
        let of = shared.connection;
        let text = |text: &'_ str, column: &mut Repeated| column.push(Some(text.as_bytes()), count);
        text(&of.id, &mut self.connection);
        text(&of.client, &mut self.client);
        text(&of.broker, &mut self.broker);
        self.principal.push(of.principal.as_deref().map(str::as_bytes), count);
        self.software.push(of.software.as_deref().map(str::as_bytes), count);
        text(shared.direction, &mut self.direction);
        text(shared.file, &mut self.file);
        self.client_id.push(shared.client_id.map(str::as_bytes), count);
        self.exchange.push(Some(shared.ordinal), count);
        self.packet.push(Some(shared.packet), count);
        self.time_ns.push(Some(shared.time_ns), count);
        self.topic.push(shared.topic.map(str::as_bytes), count);
        self.partition.push(shared.partition.map(i64::from), count);
        self.room.clear();
        if let Some(id) = &shared.topic_id {
            uuid_text(&mut self.room, id);
        }
        self.topic_id.push(shared.topic_id.map(|_| &*self.room), count);
    }

    fn batch(
        &mut self,
        py: Python<'_>,
        shared: &Shared<'_>,
        (index, batch): (u32, &Batch),
        found: &Records,
        data: &[u8],
        decoded: Decoded<'_>,
    ) -> PyResult<()> {
        self.of_batch(index, batch, found.records.len() as u32);
        let mut headers = found.headers.as_slice();
        let bytes = |place: Place| place.and_then(|(start, end)| data.get(start..end));
        for (place, record) in (0..).zip(&found.records) {
            self.record.push(Some(place), 1);
            self.of_record(shared, batch, record);
            let (key_form, value_form, room) = (self.key_form, self.value_form, &mut self.room);
            self.key.push(bytes(record.key).map(|key| key_form.of_bytes(key, room)));
            self.value.push(py, bytes(record.value).map(|value| value_form.of_bytes(value, room)))?;
            let (own, others) = headers.split_at_checked(record.headers).unwrap_or_default();
            headers = others;
            self.headers.row(data, own, value_form, room);
            if let Some(schemas) = &mut self.schemas {
                schemas.row(&decoded, place as usize, &mut self.room);
            }
        }
        self.rows += found.records.len();
        Ok(())
    }
}

impl RecordColumns {
    fn of_batch(&mut self, index: u32, batch: &Batch, count: u32) {
        let producer = batch.producer();
        self.batch.push(Some(i64::from(index)), count);
        self.timestamp_type.push(Some(batch.timestamp_type().as_bytes()), count);
        self.producer_id.push(producer, count);
        self.producer_epoch.push(producer.map(|_| i64::from(batch.producer_epoch)), count);
        self.transactional.push(batch.attributes & TRANSACTIONAL != 0, count);
        self.codec.push(Some(batch.codec_name().as_bytes()), count);
        self.leader_epoch.push(batch.epoch(), count);
    }

    fn of_record(&mut self, shared: &Shared<'_>, batch: &Batch, record: &Record) {
        let (offset, time) = batch.place(record).unzip();
        let length = |place: Option<(usize, usize)>| place.map(|(start, end)| (end - start) as i64);
        self.offset.push(shared.log_offset(batch, offset), 1);
        self.raw_offset.push(offset, 1);
        self.timestamp_ms.push(time.filter(|&time| time != NONE), 1);
        self.key_bytes.push(length(record.key), 1);
        self.value_bytes.push(length(record.value), 1);
        self.sequence.push(batch.sequence(record), 1);
    }
}

impl Headers {
    /// The headers of one more row.
    fn row(&mut self, data: &[u8], headers: &[Header], form: Form, room: &mut Vec<u8>) {
        for &(key, value) in headers {
            self.keys.push(data.get(key.0..key.1));
            let value = value.and_then(|(start, end)| data.get(start..end));
            self.values.push(value.map(|value| form.of_bytes(value, room)));
        }
        self.count += headers.len();
        self.lists.push(self.count);
    }
}

impl Schemas {
    fn row(&mut self, decoded: &Decoded<'_>, record: usize, room: &mut Vec<u8>) {
        for (columns, is_key) in self.parts.iter_mut().zip([false, true]) {
            let facts = decoded.facts(record, is_key);
            columns.wire_format.push(facts.and_then(|of| of.wire_format.as_deref()).map(str::as_bytes), 1);
            columns.schema_id.push(facts.and_then(|of| of.schema_id), 1);
            columns.schema_guid.push(facts.and_then(|of| of.schema_guid.as_deref()).map(str::as_bytes), 1);
            columns
                .message_indexes
                .push(facts.and_then(|of| of.message_indexes.as_deref()).map(str::as_bytes), 1);
            columns.schema.push(facts.and_then(|of| of.schema.as_deref()).map(str::as_bytes), 1);
        }
        room.clear();
        let is_decoded = decoded.both(record, room);
        self.decoded.push(is_decoded.then_some(room));
    }

    fn take<'py>(&mut self, py: Python<'py>, columns: &mut Vec<Named<'py>>) -> PyResult<()> {
        let [value, key] = &mut self.parts;
        columns.extend([
            ("key_wire_format", key.wire_format.take(py)),
            ("key_schema_id", key.schema_id.take(py)),
            ("key_schema_guid", key.schema_guid.take(py)?),
            ("key_message_indexes", key.message_indexes.take(py)?),
            ("key_schema", key.schema.take(py)?),
            ("value_wire_format", value.wire_format.take(py)),
            ("value_schema_id", value.schema_id.take(py)),
            ("value_schema_guid", value.schema_guid.take(py)?),
            ("value_message_indexes", value.message_indexes.take(py)?),
            ("value_schema", value.schema.take(py)?),
            ("decoded", self.decoded.take(py)),
        ]);
        Ok(())
    }
}
