//! One records field decoded, if all of it fits.

use crc32c::crc32c;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::batch::{Batch, ATTRIBUTES_AT, CONTROL};
use super::content::{Content, Contents};
use super::record_reader::{Record, Records};
use crate::codecs::NAMES;

/// Maximum decompressed size of a field. Larger ones are read record by record, streaming.
pub const GROUP_OUTPUT: usize = 48 << 20;
/// Maximum number of records, which take 100 bytes each here. A field with more is streamed, too.
pub const MOST_RECORDS: i64 = 1 << 20;

/// The batches of a field, decoded.
pub struct Field {
    /// `(data, start, end, may_be_cut) -> bool`: whether the bytes after the batches are not a
    /// fault.
    rest_fits: Py<PyAny>,
    pub contents: Contents,
    pub batches: Vec<Batch>,
    /// Where their records stand.
    places: Vec<Content>,
    /// For at least that number of batches: it reuses the memory of earlier batches.
    records: Vec<Records>,
}

impl Field {
    pub fn new(rest_fits: Py<PyAny>, contents: Contents) -> Self {
        Field { rest_fits, contents, batches: Vec::new(), places: Vec::new(), records: Vec::new() }
    }

    /// Read `data[start..end]`; whether everything fits.
    pub fn read(
        &mut self,
        frame: &Bound<'_, PyBytes>,
        (start, end): (usize, usize),
        may_be_cut: bool,
    ) -> PyResult<bool> {
        let (py, data) = (frame.py(), frame.as_bytes());
        self.batches.clear();
        let (mut at, mut total) = (start, 0);
        while let Some(batch) = Batch::at(data, at, end) {
            at = batch.end;
            total += i64::from(batch.count);
            self.batches.push(batch);
        }
        let is_plain = |batch| is_plain(data, batch) && !self.contents.is_dense(batch);
        if total > MOST_RECORDS || !self.batches.iter().all(is_plain) {
            return Ok(false);
        }
        let rest_fits = |at| self.rest_fits.bind(py).call1((frame, at, end, may_be_cut))?.extract();
        if at < end && !rest_fits(at)? {
            return Ok(false);
        }
        Ok(self.decompress(py, data)? && self.decode(py, data).is_some())
    }

    fn decompress(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<bool> {
        self.places.clear();
        let mut total = 0;
        for batch in &self.batches {
            let Some(content) = self.contents.of(py, data, batch)? else { return Ok(false) };
            total += content.bytes(py, data).len();
            if total > GROUP_OUTPUT {
                return Ok(false);
            }
            self.places.push(content);
        }
        Ok(true)
    }

    fn decode(&mut self, py: Python<'_>, data: &[u8]) -> Option<()> {
        self.records.resize_with(self.records.len().max(self.batches.len()), Records::default);
        for ((batch, place), records) in self.batches.iter().zip(&self.places).zip(&mut self.records) {
            records.clear();
            records.read(place.bytes(py, data), batch.count)?;
            let is_narrow = |record: &Record| batch.place(record).is_some();
            records.records.iter().all(is_narrow).then_some(())?;
        }
        Some(())
    }

    /// Each batch with the bytes that its records stand in, and their places there.
    pub fn decoded<'a>(
        &'a self,
        py: Python<'a>,
        data: &'a [u8],
    ) -> impl Iterator<Item = (&'a Batch, &'a [u8], &'a Records)> {
        let contents = self.places.iter().map(move |place| place.bytes(py, data));
        self.batches
            .iter()
            .zip(contents)
            .zip(&self.records)
            .map(|((batch, data), records)| (batch, data, records))
    }

    /// How many records there are.
    pub fn count(&self) -> u32 {
        self.records.iter().take(self.batches.len()).map(|records| records.records.len() as u32).sum()
    }
}

/// Whether a batch is neither control records nor of a codec that there is not, and its checksum right.
fn is_plain(data: &[u8], batch: &Batch) -> bool {
    let is_known = (batch.codec() as usize) < NAMES.len() && batch.attributes & CONTROL == 0;
    let covered = data.get(batch.start + ATTRIBUTES_AT..batch.end).unwrap_or_default();
    is_known && crc32c(covered) == batch.crc
}
