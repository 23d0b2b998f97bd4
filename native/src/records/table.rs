//! Rows of records as columns: native counterpart of `kdissect.engine.record_tables._Rows`.

use pyo3::prelude::*;

use super::batch::{Batch, TRANSACTIONAL};
use super::column::{Blobs, Buffers, Flags, Lists, Numbers, Repeated, Values};
use super::reader::{Header, Place, Record, Records};
use crate::codecs::NAMES;

/// `model.record_batch`: NO_TIMESTAMP, NO_PRODUCER_ID and NO_SEQUENCE are all this.
const NONE: i64 = -1;
const MAX_SEQUENCE: i64 = i32::MAX as i64;

/// Numbers whose width is that of their column, by the names of `kdissect.engine.record_fields.RECORD_FIELDS`.
#[derive(Default)]
pub struct Table {
    pub rows: usize,
    // What exchange, frame and field decide.
    pub connection: Repeated,
    pub exchange: Numbers<8>,
    pub direction: Repeated,
    pub client: Repeated,
    pub broker: Repeated,
    pub client_id: Repeated,
    pub file: Repeated,
    pub packet: Numbers<8>,
    pub time_ns: Numbers<8>,
    pub topic: Repeated,
    pub topic_id: Repeated,
    pub partition: Numbers<4>,
    // What the batch decides.
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
    timestamp_ms: Numbers<8>,
    key: Blobs,
    value: Values,
    key_bytes: Numbers<4>,
    value_bytes: Numbers<4>,
    sequence: Numbers<4>,
    headers: Headers,
}

#[derive(Default)]
struct Headers {
    count: usize,
    lists: Lists,
    keys: Blobs,
    values: Blobs,
}

/// A column with its name.
pub type Named<'py> = (&'static str, Buffers<'py>);

impl Table {
    /// Bytes of keys, values and headers.
    pub fn size(&self) -> usize {
        self.key.size() + self.value.size() + self.headers.keys.size() + self.headers.values.size()
    }

    /// The records of a batch, number `index` of its field, whose places are in `data`.
    pub fn batch(
        &mut self,
        py: Python<'_>,
        index: u32,
        batch: &Batch,
        found: &Records,
        data: &[u8],
    ) -> PyResult<()> {
        self.of_batch(index, batch, found.records.len() as u32);
        let mut headers = found.headers.as_slice();
        let bytes = |place: Place| place.and_then(|(start, end)| data.get(start..end));
        for (place, record) in (0..).zip(&found.records) {
            self.record.push(Some(place), 1);
            self.of_record(batch, record);
            self.key.push(bytes(record.key));
            self.value.push(py, bytes(record.value))?;
            let (own, others) = headers.split_at_checked(record.headers).unwrap_or_default();
            headers = others;
            self.headers.row(data, own);
        }
        self.rows += found.records.len();
        Ok(())
    }

    fn of_batch(&mut self, index: u32, batch: &Batch, count: u32) {
        let kind: &[u8] = if batch.is_log_append_time() { b"log_append_time" } else { b"create_time" };
        let producer = (batch.producer_id != NONE).then_some(batch.producer_id);
        let epoch = i64::from(batch.leader_epoch);
        self.batch.push(Some(i64::from(index)), count);
        self.timestamp_type.push(Some(kind), count);
        self.producer_id.push(producer, count);
        self.producer_epoch.push(producer.map(|_| i64::from(batch.producer_epoch)), count);
        self.transactional.push(batch.attributes & TRANSACTIONAL != 0, count);
        self.codec.push(NAMES.get(batch.codec() as usize).map(|name| name.as_bytes()), count);
        self.leader_epoch.push((epoch >= 0).then_some(epoch), count);
    }

    fn of_record(&mut self, batch: &Batch, record: &Record) {
        let time = match batch.is_log_append_time() {
            true => batch.max_timestamp,
            false => batch.base_timestamp.wrapping_add(record.timestamp_delta),
        };
        let base = i64::from(batch.base_sequence);
        let sequence = base + record.offset_delta;
        let sequence = if sequence > MAX_SEQUENCE { sequence - MAX_SEQUENCE - 1 } else { sequence };
        let length = |place: Option<(usize, usize)>| place.map(|(start, end)| (end - start) as i64);
        self.offset.push(Some(batch.base_offset.wrapping_add(record.offset_delta)), 1);
        self.timestamp_ms.push((time != NONE).then_some(time), 1);
        self.key_bytes.push(length(record.key), 1);
        self.value_bytes.push(length(record.value), 1);
        self.sequence.push((base != NONE).then_some(sequence), 1);
    }

    /// All columns but those that others are made of, number of rows and of headers; there are none then.
    pub fn take<'py>(&mut self, py: Python<'py>) -> PyResult<(Vec<Named<'py>>, usize, usize)> {
        let columns = vec![
            ("connection", self.connection.take(py)),
            ("exchange", self.exchange.take(py)),
            ("direction", self.direction.take(py)),
            ("client", self.client.take(py)),
            ("broker", self.broker.take(py)),
            ("client_id", self.client_id.take(py)),
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
        Ok((columns, std::mem::take(&mut self.rows), std::mem::take(&mut self.headers.count)))
    }
}

impl Headers {
    /// The headers of one more row.
    fn row(&mut self, data: &[u8], headers: &[Header]) {
        for &(key, value) in headers {
            self.keys.push(data.get(key.0..key.1));
            self.values.push(value.and_then(|(start, end)| data.get(start..end)));
        }
        self.count += headers.len();
        self.lists.push(self.count);
    }
}
