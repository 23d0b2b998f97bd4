//! The tables `topic_partitions` and `batches`: columns by their names in
//! `kdissect.engine.tables.exchange_tables`.

use pyo3::prelude::*;

use super::asked::Turn;
use super::{day, micros, Named, Order};
use crate::codecs::NAMES;
use crate::exchange::Frame;
use crate::places::NUMBER_MASK;
use crate::records::batch::{Batch, CONTROL, CURRENT_MAGIC, DELETE_HORIZON, TRANSACTIONAL};
use crate::records::column::{Blobs, Flags, Numbers, Spelled};

/// `model.record_batch`: NO_TIMESTAMP, NO_PRODUCER_ID and NO_SEQUENCE are all this.
const NONE: i64 = -1;
const MAX_SEQUENCE: i64 = i32::MAX as i64;

/// Common values of one exchange's rows.
pub struct Shared<'a, 'py> {
    pub turn: &'a Turn<'a, 'py>,
    pub frame: &'a Frame<'py>,
    pub direction: &'a str,
    pub file: &'a str,
    pub order: Order<'a>,
}

/// Common values of one records field's rows.
pub struct Section<'a> {
    pub topic: Option<&'a [u8]>,
    pub topic_id: Option<&'a [u8]>,
    pub partition: Option<i32>,
    /// Index among the records fields of the exchange.
    pub number: i64,
    /// The name of the partition's error code.
    pub error: Option<&'a [u8]>,
}

#[derive(Default)]
struct Head {
    rows: usize,
    capture_set: Spelled,
    connection: Spelled,
    exchange: Numbers<8>,
    direction: Spelled,
    client: Spelled,
    broker: Spelled,
    client_id: Spelled,
    file: Spelled,
    packet: Numbers<8>,
    time: Numbers<8>,
    time_ns: Numbers<8>,
    day: Numbers<4>,
    topic: Spelled,
    topic_id: Spelled,
    partition: Numbers<4>,
    section: Numbers<4>,
    event_order: Blobs,
}

impl Head {
    /// Common values of one exchange's rows. Each row has its section in addition.
    fn push(&mut self, shared: &Shared<'_, '_>, count: u32) {
        // Hot: an exchange may have hundreds of rows.
        let Shared { turn, frame, direction, file, order } = shared;
        let connection = &turn.connection;
        self.capture_set.push(Some(connection.capture_set.as_bytes()), count);
        self.connection.push(Some(connection.id.as_bytes()), count);
        self.exchange.push(Some(turn.ordinal), count);
        self.direction.push(Some(direction.as_bytes()), count);
        self.client.push(Some(connection.client.as_bytes()), count);
        self.broker.push(Some(connection.broker.as_bytes()), count);
        self.client_id.push(turn.client_id.as_ref().map(|id| id.as_bytes()), count);
        self.file.push(Some(file.as_bytes()), count);
        self.packet.push(Some(frame.first_ref & NUMBER_MASK), count);
        self.time.push(Some(micros(frame.time_ns)), count);
        self.time_ns.push(Some(frame.time_ns), count);
        self.day.push(Some(day(frame.time_ns)), count);
        (0..count).for_each(|_| self.event_order.push(Some(order)));
        self.rows += count as usize;
    }

    fn push_section(&mut self, section: &Section<'_>, count: u32) {
        self.topic.push(section.topic, count);
        self.topic_id.push(section.topic_id, count);
        self.partition.push(section.partition.map(i64::from), count);
        self.section.push(Some(section.number), count);
    }

    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Named<'py>>> {
        self.rows = 0;
        let columns = [
            ("capture_set", self.capture_set.take(py)?),
            ("connection", self.connection.take(py)?),
            ("exchange", self.exchange.take(py)),
            ("direction", self.direction.take(py)?),
            ("client", self.client.take(py)?),
            ("broker", self.broker.take(py)?),
            ("client_id", self.client_id.take(py)?),
            ("file", self.file.take(py)?),
            ("packet", self.packet.take(py)),
            ("time", self.time.take(py)),
            ("time_ns", self.time_ns.take(py)),
            ("day", self.day.take(py)),
            ("topic", self.topic.take(py)?),
            ("topic_id", self.topic_id.take(py)?),
            ("partition", self.partition.take(py)),
            ("section", self.section.take(py)),
            ("event_order", self.event_order.take(py)),
        ];
        Ok(columns.map(|(name, buffers)| (name.to_owned(), buffers)).into())
    }
}

#[derive(Default)]
pub struct PartitionTable {
    head: Head,
    /// Number of rows of the current exchange.
    waiting: u32,
    error: Spelled,
    batches: Numbers<4>,
    records: Numbers<8>,
    bytes: Numbers<8>,
    first_offset: Numbers<8>,
    last_offset: Numbers<8>,
}

impl PartitionTable {
    pub fn rows(&self) -> usize {
        self.head.rows
    }

    /// The exchange of the last rows is over.
    pub fn end(&mut self, shared: &Shared<'_, '_>) {
        self.head.push(shared, std::mem::take(&mut self.waiting));
    }

    /// A row for a field of this size. It is complete when its exchange is over.
    pub fn push(&mut self, section: &Section<'_>, batches: &[Batch], bytes: usize) {
        self.waiting += 1;
        self.head.push_section(section, 1);
        self.error.push(section.error, 1);
        self.batches.push(Some(batches.len() as i64), 1);
        self.records.push(Some(batches.iter().map(|batch| i64::from(batch.count)).sum()), 1);
        self.bytes.push(Some(bytes as i64), 1);
        self.first_offset.push(batches.first().map(|batch| batch.base_offset), 1);
        self.last_offset.push(batches.last().map(last_offset), 1);
    }

    pub fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Named<'py>>> {
        let mut columns = self.head.take(py)?;
        let own = [
            ("error", self.error.take(py)?),
            ("batches", self.batches.take(py)),
            ("records", self.records.take(py)),
            ("bytes", self.bytes.take(py)),
            ("first_offset", self.first_offset.take(py)),
            ("last_offset", self.last_offset.take(py)),
        ];
        columns.extend(own.map(|(name, buffers)| (name.to_owned(), buffers)));
        Ok(columns)
    }
}

/// Those of magic 2 without faults.
#[derive(Default)]
pub struct BatchTable {
    head: Head,
    bytes: Numbers<8>,
    batch: Numbers<4>,
    base_offset: Numbers<8>,
    last_offset: Numbers<8>,
    count: Numbers<4>,
    magic: Numbers<1>,
    codec: Spelled,
    timestamp_type: Spelled,
    base_timestamp: Numbers<8>,
    base_timestamp_ms: Numbers<8>,
    max_timestamp: Numbers<8>,
    max_timestamp_ms: Numbers<8>,
    delete_horizon: Numbers<8>,
    delete_horizon_ms: Numbers<8>,
    producer_id: Numbers<8>,
    producer_epoch: Numbers<2>,
    base_sequence: Numbers<4>,
    last_sequence: Numbers<4>,
    leader_epoch: Numbers<4>,
    transactional: Flags,
    control: Flags,
    crc: Numbers<8>,
    crc_ok: Flags,
}

impl BatchTable {
    pub fn rows(&self) -> usize {
        self.head.rows
    }

    /// A row of an exchange.
    pub fn push(&mut self, shared: &Shared<'_, '_>, section: &Section<'_>, (index, batch): (usize, &Batch)) {
        self.head.push(shared, 1);
        self.head.push_section(section, 1);
        let kind: &[u8] = if batch.is_log_append_time() { b"log_append_time" } else { b"create_time" };
        let time = |value: i64| (value != NONE).then_some(value);
        let has_producer = batch.producer_id != NONE;
        let has_horizon = batch.attributes & DELETE_HORIZON != 0;
        let has_sequence = i64::from(batch.base_sequence) != NONE;
        self.bytes.push(Some((batch.end - batch.start) as i64), 1);
        self.batch.push(Some(index as i64), 1);
        self.base_offset.push(Some(batch.base_offset), 1);
        self.last_offset.push(Some(last_offset(batch)), 1);
        self.count.push(Some(batch.count.into()), 1);
        self.magic.push(Some(CURRENT_MAGIC.into()), 1);
        self.codec.push(NAMES.get(batch.codec() as usize).map(|name| name.as_bytes()), 1);
        self.timestamp_type.push(Some(kind), 1);
        let (base, max) = (time(batch.base_timestamp), time(batch.max_timestamp));
        let horizon = has_horizon.then_some(batch.base_timestamp);
        self.base_timestamp.push(base.and_then(micros_of_millis), 1);
        self.base_timestamp_ms.push(base, 1);
        self.max_timestamp.push(max.and_then(micros_of_millis), 1);
        self.max_timestamp_ms.push(max, 1);
        self.delete_horizon.push(horizon.and_then(micros_of_millis), 1);
        self.delete_horizon_ms.push(horizon, 1);
        self.producer_id.push(has_producer.then_some(batch.producer_id), 1);
        self.producer_epoch.push(has_producer.then_some(batch.producer_epoch.into()), 1);
        self.base_sequence.push(has_sequence.then_some(batch.base_sequence.into()), 1);
        self.last_sequence.push(if has_sequence { last_sequence(batch) } else { None }, 1);
        self.leader_epoch.push(Some(batch.leader_epoch.into()), 1);
        self.transactional.push(batch.attributes & TRANSACTIONAL != 0, 1);
        self.control.push(batch.attributes & CONTROL != 0, 1);
        self.crc.push(Some(batch.crc.into()), 1);
        self.crc_ok.push(true, 1);
    }

    pub fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Named<'py>>> {
        let mut columns = self.head.take(py)?;
        let own = [
            ("bytes", self.bytes.take(py)),
            ("batch", self.batch.take(py)),
            ("base_offset", self.base_offset.take(py)),
            ("last_offset", self.last_offset.take(py)),
            ("count", self.count.take(py)),
            ("magic", self.magic.take(py)),
            ("codec", self.codec.take(py)?),
            ("timestamp_type", self.timestamp_type.take(py)?),
            ("base_timestamp", self.base_timestamp.take(py)),
            ("base_timestamp_ms", self.base_timestamp_ms.take(py)),
            ("max_timestamp", self.max_timestamp.take(py)),
            ("max_timestamp_ms", self.max_timestamp_ms.take(py)),
            ("delete_horizon", self.delete_horizon.take(py)),
            ("delete_horizon_ms", self.delete_horizon_ms.take(py)),
            ("producer_id", self.producer_id.take(py)),
            ("producer_epoch", self.producer_epoch.take(py)),
            ("base_sequence", self.base_sequence.take(py)),
            ("last_sequence", self.last_sequence.take(py)),
            ("leader_epoch", self.leader_epoch.take(py)),
            ("transactional", self.transactional.take(py)),
            ("control", self.control.take(py)),
            ("crc", self.crc.take(py)),
            ("crc_ok", self.crc_ok.take(py)),
        ];
        columns.extend(own.map(|(name, buffers)| (name.to_owned(), buffers)));
        Ok(columns)
    }
}

/// None for what is no date: producers may write anything.
fn micros_of_millis(time_ms: i64) -> Option<i64> {
    time_ms.checked_mul(1000).filter(|time_us| *time_us != i64::MIN)
}

/// Whether all numbers of a batch's row fit their columns, and its codec is one that there is.
pub fn has_row(batch: &Batch) -> bool {
    (batch.codec() as usize) < NAMES.len() && last_sequence(batch).is_some()
}

/// Offset of the last record that it ever had. Beyond 64 bits it wraps.
fn last_offset(batch: &Batch) -> i64 {
    batch.base_offset.wrapping_add(batch.last_offset_delta.into())
}

/// Sequence numbers wrap to 0 behind the highest. None for one below 32 bits.
fn last_sequence(batch: &Batch) -> Option<i64> {
    let last = i64::from(batch.base_sequence) + i64::from(batch.last_offset_delta);
    let last = if last > MAX_SEQUENCE { last - MAX_SEQUENCE - 1 } else { last };
    i32::try_from(last).is_ok().then_some(last)
}
