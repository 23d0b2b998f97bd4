//! Rows of records as columns: twin of `kdissect.engine.record_tables._Rows`.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::batch::{Batch, TRANSACTIONAL};
use super::column::{Blobs, Buffers, Flags, Lists, Numbers, Places, Repeated};
use super::reader::{Record, Records};

/// `model.record_batch`: NO_TIMESTAMP, NO_PRODUCER_ID and NO_SEQUENCE are all this.
const NONE: i64 = -1;
const MAX_SEQUENCE: i64 = i32::MAX as i64;
/// `model.record_batch.CODEC_NAMES`.
pub const CODECS: [&[u8]; 5] = [b"none", b"gzip", b"snappy", b"lz4", b"zstd"];

/// Numbers whose width is that of their column, by the names of `kdissect.engine.record_fields.RECORD_FIELDS`.
pub struct Table {
    pub rows: usize,
    /// Bytes that keys and values stand in.
    contents: Vec<Py<PyBytes>>,
    // What exchange, frame and field decide.
    pub connection: Repeated,
    pub exchange: Numbers,
    pub direction: Repeated,
    pub client: Repeated,
    pub broker: Repeated,
    pub client_id: Repeated,
    pub file: Repeated,
    pub packet: Numbers,
    pub time_ns: Numbers,
    pub topic: Repeated,
    pub topic_id: Repeated,
    pub partition: Numbers,
    // What the batch decides.
    batch: Numbers,
    timestamp_type: Repeated,
    producer_id: Numbers,
    producer_epoch: Numbers,
    transactional: Flags,
    codec: Repeated,
    leader_epoch: Numbers,
    // The records.
    record: Numbers,
    offset: Numbers,
    timestamp_ms: Numbers,
    key: Places,
    value: Places,
    key_bytes: Numbers,
    value_bytes: Numbers,
    sequence: Numbers,
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
    pub fn new() -> Self {
        let (short, int, long) = (|| Numbers::new(2), || Numbers::new(4), || Numbers::new(8));
        Table {
            rows: 0,
            contents: Vec::new(),
            connection: Repeated::new(),
            exchange: long(),
            direction: Repeated::new(),
            client: Repeated::new(),
            broker: Repeated::new(),
            client_id: Repeated::new(),
            file: Repeated::new(),
            packet: long(),
            time_ns: long(),
            topic: Repeated::new(),
            topic_id: Repeated::new(),
            partition: int(),
            batch: int(),
            timestamp_type: Repeated::new(),
            producer_id: long(),
            producer_epoch: short(),
            transactional: Flags::default(),
            codec: Repeated::new(),
            leader_epoch: int(),
            record: int(),
            offset: long(),
            timestamp_ms: long(),
            key: Places::default(),
            value: Places::default(),
            key_bytes: int(),
            value_bytes: int(),
            sequence: int(),
            headers: Headers::default(),
        }
    }

    /// Bytes of keys, values and headers.
    pub fn size(&self) -> usize {
        self.key.size() + self.value.size() + self.headers.keys.size() + self.headers.values.size()
    }

    /// The records of a batch, number `index` of its field, whose places are in `content` from `before` on.
    pub fn batch(
        &mut self,
        index: u32,
        batch: &Batch,
        found: &Records,
        content: &Bound<'_, PyBytes>,
        before: usize,
    ) {
        let number = self.content(content);
        self.of_batch(index, batch, found.records.len() as u32);
        let data = content.as_bytes().get(before..).unwrap_or_default();
        let mut headers = found.headers.as_slice();
        for (place, record) in (0..).zip(&found.records) {
            self.record.push(Some(place), 1);
            self.of_record(batch, record);
            let shifted =
                |place: Option<(usize, usize)>| place.map(|(start, end)| (before + start, before + end));
            self.key.push(number, shifted(record.key));
            self.value.push(number, shifted(record.value));
            let (own, others) = headers.split_at_checked(record.headers).unwrap_or_default();
            headers = others;
            self.headers.row(data, own);
        }
        self.rows += found.records.len();
    }

    /// The number of bytes that records stand in.
    fn content(&mut self, content: &Bound<'_, PyBytes>) -> u32 {
        if !self.contents.last().is_some_and(|last| last.is(content)) {
            self.contents.push(content.clone().unbind());
        }
        self.contents.len() as u32 - 1
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
        self.codec.push(CODECS.get(batch.codec() as usize).copied(), count);
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

    /// All columns but those that others are made of.
    pub fn columns<'py>(&self, py: Python<'py>) -> PyResult<Vec<Named<'py>>> {
        Ok(vec![
            ("connection", self.connection.buffers(py)),
            ("exchange", self.exchange.buffers(py)),
            ("direction", self.direction.buffers(py)),
            ("client", self.client.buffers(py)),
            ("broker", self.broker.buffers(py)),
            ("client_id", self.client_id.buffers(py)),
            ("file", self.file.buffers(py)),
            ("packet", self.packet.buffers(py)),
            ("time_ns", self.time_ns.buffers(py)),
            ("topic", self.topic.buffers(py)),
            ("topic_id", self.topic_id.buffers(py)),
            ("partition", self.partition.buffers(py)),
            ("batch", self.batch.buffers(py)),
            ("timestamp_type", self.timestamp_type.buffers(py)),
            ("producer_id", self.producer_id.buffers(py)),
            ("producer_epoch", self.producer_epoch.buffers(py)),
            ("transactional", self.transactional.buffers(py)),
            ("codec", self.codec.buffers(py)),
            ("leader_epoch", self.leader_epoch.buffers(py)),
            ("record", self.record.buffers(py)),
            ("offset", self.offset.buffers(py)),
            ("timestamp_ms", self.timestamp_ms.buffers(py)),
            ("key", self.key.buffers(py, &self.contents)?),
            ("value", self.value.buffers(py, &self.contents)?),
            ("key_bytes", self.key_bytes.buffers(py)),
            ("value_bytes", self.value_bytes.buffers(py)),
            ("sequence", self.sequence.buffers(py)),
            ("headers", self.headers.lists.buffers(py)),
            ("headers.key", self.headers.keys.buffers(py)),
            ("headers.value", self.headers.values.buffers(py)),
        ])
    }

    /// How many headers all rows have.
    pub fn headers(&self) -> usize {
        self.headers.count
    }
}

impl Headers {
    /// The headers of one more row.
    fn row(&mut self, data: &[u8], headers: &[super::reader::Header]) {
        for &(key, value) in headers {
            self.keys.push(data.get(key.0..key.1));
            self.values.push(value.and_then(|(start, end)| data.get(start..end)));
        }
        self.count += headers.len();
        self.lists.push(self.count);
    }
}
