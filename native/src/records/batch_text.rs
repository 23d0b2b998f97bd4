//! The batches of a records field as JSON: what `kdissect.engine.records.nested_records` makes of them, where nothing is odd.

use crc32c::crc32c;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::codecs::NAMES;
use crate::json_out::number;
use crate::records::record_text::{records, Base};
use crate::wire::Wire;

/// Of baseOffset and batchLength, which batchLength does not count (spec/001 "5.3.1 Record Batch").
const OVERHEAD: usize = 12;
/// The CRC covers everything from here on (same place).
const ATTRIBUTES_AT: usize = 21;
const CURRENT_MAGIC: u8 = 2;
/// Bits of the attributes (same place); others make a batch one for Python.
const CODEC: i16 = 7;
const LOG_APPEND_TIME: i16 = 8;
const TRANSACTIONAL: i16 = 16;

/// What batches need of Python: codecs, limits, the names of Kafka's own topics.
#[pyclass(frozen, module = "kdissect._native")]
pub struct BatchText {
    inflate: Py<PyAny>,
    own_topics: Vec<Vec<u8>>,
    most_bytes: usize,
    most_records: i32,
}

#[pymethods]
impl BatchText {
    /// `inflate(codec, bytes)` gives bytes, None for what is left to others.
    #[new]
    fn new(inflate: Py<PyAny>, own_topics: Vec<Vec<u8>>, most_bytes: usize, most_records: i32) -> Self {
        BatchText { inflate, own_topics, most_bytes, most_records }
    }
}

impl BatchText {
    /// Whether the records of this topic are Kafka's own.
    pub fn is_own(&self, topic: &[u8]) -> bool {
        self.own_topics.iter().any(|own| own == topic)
    }

    /// Write the batches in `data` as a list; gives false, and leaves anything behind, where one is not plain.
    pub fn batches(&self, py: Python<'_>, out: &mut Vec<u8>, data: &[u8]) -> PyResult<bool> {
        let mut left = data;
        out.push(b'[');
        while !left.is_empty() {
            let Some((batch, rest)) = Batch::split(left, self.most_records) else { return Ok(false) };
            if left.len() < data.len() {
                out.push(b',');
            }
            if !self.batch(py, out, &batch)? {
                return Ok(false);
            }
            left = rest;
        }
        out.push(b']');
        Ok(true)
    }

    fn batch(&self, py: Python<'_>, out: &mut Vec<u8>, batch: &Batch<'_>) -> PyResult<bool> {
        if crc32c(batch.covered) != batch.crc {
            return Ok(false);
        }
        batch.write_header(out);
        let is_written = match batch.codec() {
            0 if batch.content.len() > self.most_bytes => None,
            0 => records(out, batch.content, &batch.base),
            _ if batch.content.is_empty() && batch.base.count == 0 => records(out, b"", &batch.base),
            codec => {
                let inflated = self.inflate.call1(py, (codec, PyBytes::new(py, batch.content)))?;
                let inflated: Option<Bound<'_, PyBytes>> = inflated.extract(py)?;
                inflated.and_then(|inflated| records(out, inflated.as_bytes(), &batch.base))
            }
        };
        out.push(b'}');
        Ok(is_written.is_some())
    }
}

/// A batch of magic 2 whose attributes and lengths are those of a plain one.
struct Batch<'a> {
    size: usize,
    leader_epoch: i32,
    crc: u32,
    attributes: i16,
    last_offset_delta: i32,
    max_time_ms: i64,
    producer: (i64, i16, i32), // id, epoch, sequence
    base: Base,
    covered: &'a [u8],
    content: &'a [u8],
}

impl<'a> Batch<'a> {
    /// The first batch (spec/001 "5.3.1 Record Batch"), and the bytes behind it.
    fn split(data: &'a [u8], most_records: i32) -> Option<(Self, &'a [u8])> {
        let mut wire = Wire { data, at: 0 };
        let offset = i64::from_be_bytes(wire.fixed()?);
        let length = usize::try_from(i32::from_be_bytes(wire.fixed()?)).ok()?;
        let size = length.checked_add(OVERHEAD)?;
        let (whole, rest) = data.split_at_checked(size)?;
        let leader_epoch = i32::from_be_bytes(wire.fixed()?);
        let magic = wire.byte()?;
        let crc = u32::from_be_bytes(wire.fixed()?);
        let attributes = i16::from_be_bytes(wire.fixed()?);
        let last_offset_delta = i32::from_be_bytes(wire.fixed()?);
        let time_ms = i64::from_be_bytes(wire.fixed()?);
        let max_time_ms = i64::from_be_bytes(wire.fixed()?);
        let id = i64::from_be_bytes(wire.fixed()?);
        let producer = (id, i16::from_be_bytes(wire.fixed()?), i32::from_be_bytes(wire.fixed()?));
        let count = i32::from_be_bytes(wire.fixed()?);
        let is_known = attributes & !(CODEC | LOG_APPEND_TIME | TRANSACTIONAL) == 0;
        if magic != CURRENT_MAGIC || !is_known || count > most_records {
            return None;
        }
        NAMES.get(usize::try_from(attributes & CODEC).ok()?)?;
        let append_time_ms = (attributes & LOG_APPEND_TIME != 0).then_some(max_time_ms);
        let base = Base { offset, time_ms, append_time_ms, count };
        let (covered, content) = (whole.get(ATTRIBUTES_AT..)?, whole.get(wire.at..)?);
        #[rustfmt::skip]
        let batch = Batch {
            size, leader_epoch, crc, attributes, last_offset_delta, max_time_ms, producer, base, covered, content,
        };
        Some((batch, rest))
    }

    fn codec(&self) -> usize {
        usize::from(self.attributes.unsigned_abs() & CODEC.unsigned_abs())
    }

    /// All up to the list of records.
    fn write_header(&self, out: &mut Vec<u8>) {
        let mut say = |text: &str, value: i64| {
            out.extend_from_slice(text.as_bytes());
            number(out, value);
        };
        say("{\"base_offset\":", self.base.offset);
        say(",\"bytes\":", self.size as i64);
        say(",\"magic\":2,\"crc\":", self.crc.into());
        self.write_kind(out);
        let mut say = |text: &str, value: i64| {
            out.extend_from_slice(text.as_bytes());
            number(out, value);
        };
        say(",\"last_offset_delta\":", self.last_offset_delta.into());
        say(",\"base_timestamp\":", self.base.time_ms);
        say(",\"max_timestamp\":", self.max_time_ms);
        say(",\"producer_id\":", self.producer.0);
        say(",\"producer_epoch\":", self.producer.1.into());
        say(",\"base_sequence\":", self.producer.2.into());
        say(",\"record_count\":", self.base.count.into());
        out.extend_from_slice(b",\"records\":");
    }

    /// What the attributes say, and the leader's epoch between.
    fn write_kind(&self, out: &mut Vec<u8>) {
        let mut say = |text: &str| out.extend_from_slice(text.as_bytes());
        say(",\"crc_ok\":true,\"codec\":\"");
        say(NAMES.get(self.codec()).copied().unwrap_or_default());
        let has = |bit: i16| self.attributes & bit != 0;
        say(if has(LOG_APPEND_TIME) {
            "\",\"timestamp_type\":\"log_append_time\""
        } else {
            "\",\"timestamp_type\":\"create_time\""
        });
        say(",\"partition_leader_epoch\":");
        number(out, self.leader_epoch.into());
        let transactional = if has(TRANSACTIONAL) { "true" } else { "false" };
        out.extend_from_slice(b",\"transactional\":");
        out.extend_from_slice(transactional.as_bytes());
        out.extend_from_slice(b",\"control\":false");
    }
}
