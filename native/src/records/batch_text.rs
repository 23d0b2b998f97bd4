//! The batches of a records field as JSON: what `kdissect.engine.records.nested_records` makes of them, where all are canonical.

use crc32c::crc32c;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::codecs::NAMES;
use crate::json_out::number;
use crate::records::batch::{
    batches, Batch, ATTRIBUTES_AT, CODEC_MASK, HEADER, LOG_APPEND_TIME, TRANSACTIONAL,
};
use crate::records::record_text::records;

/// Python's parts for batches: codecs, limits, the names of Kafka's own topics.
#[pyclass(frozen, module = "kdissect._native")]
pub struct BatchText {
    inflate: Py<PyAny>,
    own_topics: Vec<Vec<u8>>,
    most_bytes: usize,
    most_records: i32,
}

#[pymethods]
impl BatchText {
    /// `inflate(codec, bytes)` returns bytes, or None if Python must decompress them.
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

    /// Write the batches in `data` as a list; returns false, with undefined output, if one is not
    /// canonical.
    pub fn batches(&self, py: Python<'_>, out: &mut Vec<u8>, data: &[u8]) -> PyResult<bool> {
        let Some(found) = batches(data, 0..data.len()) else { return Ok(false) };
        out.push(b'[');
        for batch in &found {
            if batch.start > 0 {
                out.push(b',');
            }
            if !self.batch(py, out, data, batch)? {
                return Ok(false);
            }
        }
        out.push(b']');
        Ok(true)
    }

    fn batch(&self, py: Python<'_>, out: &mut Vec<u8>, data: &[u8], batch: &Batch) -> PyResult<bool> {
        let is_known = batch.attributes & !(CODEC_MASK | LOG_APPEND_TIME | TRANSACTIONAL) == 0;
        let part = |at: usize| data.get(batch.start + at..batch.end).unwrap_or_default();
        let (codec, content) = (usize::from(batch.codec().unsigned_abs()), part(HEADER));
        if !is_known || codec >= NAMES.len() || batch.count > self.most_records {
            return Ok(false);
        }
        if crc32c(part(ATTRIBUTES_AT)) != batch.crc {
            return Ok(false);
        }
        write_header(out, batch);
        let is_written = match codec {
            0 if content.len() > self.most_bytes => None,
            0 => records(out, content, batch),
            _ if content.is_empty() && batch.count == 0 => records(out, b"", batch),
            codec => {
                let inflated = self.inflate.call1(py, (codec, PyBytes::new(py, content)))?;
                let inflated: Option<Bound<'_, PyBytes>> = inflated.extract(py)?;
                inflated.and_then(|inflated| records(out, inflated.as_bytes(), batch))
            }
        };
        out.push(b'}');
        Ok(is_written.is_some())
    }
}

/// All up to the list of records.
fn write_header(out: &mut Vec<u8>, batch: &Batch) {
    let start = [
        ("{\"base_offset\":", batch.base_offset),
        (",\"bytes\":", (batch.end - batch.start) as i64),
        (",\"magic\":2,\"crc\":", batch.crc.into()),
    ];
    numbers(out, &start);
    let is_transactional = if batch.attributes & TRANSACTIONAL != 0 { "true" } else { "false" };
    for text in [
        ",\"crc_ok\":true,\"codec\":\"",
        batch.codec_name(),
        "\",\"timestamp_type\":\"",
        batch.timestamp_type(),
        "\",\"partition_leader_epoch\":",
    ] {
        out.extend_from_slice(text.as_bytes());
    }
    number(out, batch.leader_epoch.into());
    out.extend_from_slice(b",\"transactional\":");
    out.extend_from_slice(is_transactional.as_bytes());
    let rest = [
        (",\"control\":false,\"last_offset_delta\":", batch.last_offset_delta.into()),
        (",\"base_timestamp\":", batch.base_timestamp),
        (",\"max_timestamp\":", batch.max_timestamp),
        (",\"producer_id\":", batch.producer_id),
        (",\"producer_epoch\":", batch.producer_epoch.into()),
        (",\"base_sequence\":", batch.base_sequence.into()),
        (",\"record_count\":", batch.count.into()),
    ];
    numbers(out, &rest);
    out.extend_from_slice(b",\"records\":");
}

/// Numbers, each after its label.
fn numbers(out: &mut Vec<u8>, all: &[(&str, i64)]) {
    for (label, value) in all {
        out.extend_from_slice(label.as_bytes());
        number(out, *value);
    }
}
